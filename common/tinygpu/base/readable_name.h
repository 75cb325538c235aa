// Kernels' names for people.
#pragma once
#include <string>

namespace tinygpu {

/// A kernel's name as its source has it, if it is a mangled C++ name; long ones without their middle.
std::string readable_name(const std::string& name);

/// The name of a function alone, without its type, arguments and template arguments: "cute::copy".
std::string short_name(const std::string& name);

/// A kernel's name where there is little room, mangled or readable: "persistent<2, true>", "gemm<…>" where that is
/// long.
std::string kernel_label(const std::string& name);

}  // namespace tinygpu
