// Bugs that really happened, as the files of wild/ and wild_second/ hold them.
//
// A file begins with comments: the report's address; what went wrong; `kernel:` with words among threads=N, ctas=N,
// clusters=N, tensor, hopper, map (%m is that of 64 rows of 16 f16), bare (no cluster barrier at the beginning);
// `says:` the rule that names the bug; `check:` and `run:` whether gen5 check and a plain run say so at the right line
// (yes, no). Then comes the body of a Kernel (kernel.h). Lines that end in //- are the bug's alone, those that end in
// //+ the twin's, and //! marks where it should be told (//-! is both). "WAIT guard offset parity" is a loop over
// try_wait.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tests/check/kernel.h"

namespace tinygpu::test {

struct WildCase {
  std::string name, report, says;
  bool check = false, run = false;
  Kernel bug, twin;
  std::vector<std::string> lines;  // where it should be told, as PTX
};

WildCase read_wild_case(const std::filesystem::path& path);
/// Of both folders, by name of file.
std::vector<std::filesystem::path> wild_files();
/// An instruction's text without its guard.
std::string without_guard(const std::string& line);

}  // namespace tinygpu::test
