// PTX modules that describe variables of their source (nvcc -G): the program leaves each as a file beside the
// debugger's socket.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tinygpu::debug {

/// The text of a module that is about to be parsed. One without such a description is not kept.
void keep_module(const std::string& socket, std::string_view ptx);

/// Files that have been kept so far.
std::vector<std::string> kept_modules(const std::string& socket);

}  // namespace tinygpu::debug
