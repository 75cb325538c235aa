// What the process was started with.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tinygpu::cuda {

/// An environment variable; empty where it is not set.
std::string_view variable(const char* name);

/// The command line, the program without its folders.
std::string command_line();

/// The command line as it was given.
std::vector<std::string> arguments();

}  // namespace tinygpu::cuda
