// This program again, in a process of its own: a kernel that faults or hangs takes no more than that with it.
#pragma once
#include <string>
#include <vector>

namespace gen5::harness {

struct Child {
  int status = -1;     // its exit code; -1: it ended otherwise
  std::string ending;  // then how: a signal, the timeout
  std::string output, errors;
};

/// Runs this program's file with `arguments` and `environment` ("NAME=value", added to this process's), and ends it
/// after `seconds`. Throws std::system_error if it cannot be started.
Child run_again(const std::vector<std::string>& arguments, const std::vector<std::string>& environment, int seconds);

}  // namespace gen5::harness
