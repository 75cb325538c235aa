// What a line of CUDA initialises, read from its text.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tinygpu {

/// Of `mbarrier_init(shared_address(&shared.full[i]), 1);` it is `shared.full[i]`, of `full[i].init(1)` `full[i]`: the
/// object of the first call whose name has "init" in it, without casts and calls around it. Empty: the text has no such
/// call, it is inline assembly, or the object is no short expression.
std::string initialised_object(std::string_view text);

/// The name between the only pair of square brackets of `object`, a view into it: `i` of "shared.full[i]". Nothing
/// where there is no pair, or another, or something else than a name in it.
std::optional<std::string_view> only_index(std::string_view object);

/// Whether the first clause of a `for` in `text` sets `index` to a plain 0: "for (int i = 0;".
bool counts_from_zero(std::string_view text, std::string_view index);

}  // namespace tinygpu
