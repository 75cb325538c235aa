// What takes text from a command line or a file: `gen5 explain`, `gen5 isa FAMILY`, `gen5 machine`'s arguments, and
// machine profiles. The first byte says which; arguments are separated by line ends.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/timing/profile.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

using namespace tinygpu;

namespace {

/// The command line `gen5 NAME ARGS…`; its errors are answers.
void command(void (*add)(CLI::App&), const char* name, const std::string& text) {
  CLI::App app;
  add(app);
  std::vector<std::string> arguments = CLI::detail::split(text, '\n');
  if (arguments.empty()) arguments.push_back("");
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  arguments.push_back(name);
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& e) {
    std::ostringstream out, err;
    app.exit(e, out, err);
  }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // What the commands print is not looked at.
  return std::freopen("/dev/null", "w", stdout) ? 0 : 1;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gen5::fuzz::Input in(data, size);
  switch (in.byte() % 3) {
    case 0: command(cli::add_explain, "explain", in.rest()); break;
    case 1:
      if (!in.empty()) command(cli::add_isa, "isa", in.rest());
      break;
    default: try { parse_profile(in.rest(), "profile.json");
      } catch (const ProfileError&) {
      }
  }
  return 0;
}
