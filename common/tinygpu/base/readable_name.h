// Kernels' names for people.
#pragma once
#include <string>

namespace tinygpu {

/// A kernel's name as its source has it, if it is a mangled C++ name.
std::string full_name(const std::string& name);

/// The same; long ones without their middle.
std::string readable_name(const std::string& name);

/// The name of a function alone, without its type, arguments and template arguments: "cute::copy".
std::string short_name(const std::string& name);

/// A kernel's name in a diagnosis, a profile or a timeline, mangled or readable: "persistent<2, true>", "gemm<…>" where
/// that is long. The full name where full names are shown.
std::string kernel_label(const std::string& name);

/// The same of a launch that the program has given a name, which comes instead of the arguments: "step 6: persistent".
std::string launch_label(const std::string& launch, const std::string& kernel);

/// Whether labels are full names: an option of a process. From any thread.
void show_full_names(bool full);

}  // namespace tinygpu
