// The debugger at a terminal: a prompt with history and completion, or commands from a file or a pipe.
#pragma once
#include <string>
#include <vector>

#include "common/tinygpu/debug/commands.h"

namespace tinygpu::debug {

/// Runs `first`, then what is typed, until `quit` or the end of the input (`batch`: only `first`). The exit code: that
/// of the program if it has ended, 0 if it has not, 2 if one of the commands of `first` was wrong.
int prompt(Debugger& debugger, const std::vector<std::string>& first, bool batch);

}  // namespace tinygpu::debug
