// PTX of a program as files: to be looked at, changed and run again without its compiler (GEN5_DUMP_PTX,
// GEN5_REPLACE_PTX); and what a compiler kept beside its machine code (GEN5_KEPT_PTX).
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace tinygpu::cuda {

/// Writes the text into the folder, under a name that depends on the text alone, and returns that name. Says on stderr
/// where it cannot.
std::string dump_ptx(std::string_view text, const std::string& folder);

/// A module's text is about to be parsed. It is dumped into the folder `dump_to`; the file of that name in the folder
/// `replace_from` takes its place, if there is one, which stderr is told. Empty names: no folder.
void exchange_ptx(std::string& text, const std::string& dump_to, const std::string& replace_from);

/// Of a compiler that gives machine code alone, but can be told to keep what it makes, as CuTe DSL can: the PTX that
/// lies beside this very cubin (NAME.cubin, NAME.ptx) in the folder GEN5_KEPT_PTX.
std::optional<std::string> kept_ptx(std::string_view cubin);

}  // namespace tinygpu::cuda
