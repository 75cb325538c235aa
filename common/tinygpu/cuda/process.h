// What the process was started with.
#pragma once
#include <string>
#include <string_view>

namespace tinygpu::cuda {

/// An environment variable; empty where it is not set.
std::string_view variable(const char* name);

/// The command line, the program without its folders.
std::string command_line();

}  // namespace tinygpu::cuda
