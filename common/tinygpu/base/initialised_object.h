// What a line of CUDA initialises, read from its text.
#pragma once
#include <string>
#include <string_view>

namespace tinygpu {

/// Of `mbarrier_init(shared_address(&shared.full[i]), 1);` it is `shared.full[i]`, of `full[i].init(1)` `full[i]`: the
/// object of the first call whose name has "init" in it, without casts and calls around it. Empty: the text has no such
/// call, it is inline assembly, or the object is no short expression.
std::string initialised_object(std::string_view text);

}  // namespace tinygpu
