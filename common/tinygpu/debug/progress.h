// How far a program has come, in a page that it shares with the debugger: what is left of a program that crashes.
#pragma once
#include <cstdint>
#include <string>

namespace tinygpu::debug {

struct Progress {
  uint64_t position = 0;
  uint64_t recorded = 0;  // of the last hit of a run that does not stop at hits; 0: none

  /// Of the debugger whose socket is at this path: the file lies beside it. `make`: it is new. Null where that fails.
  static Progress* at(const std::string& socket, bool make);
  static std::string file_of(const std::string& socket) { return socket + ".progress"; }
};

}  // namespace tinygpu::debug
