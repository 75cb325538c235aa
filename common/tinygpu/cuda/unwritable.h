// Text and files for the user that the system refuses to take: a full disk, a closed stream.
#pragma once
#include <string>

namespace tinygpu::cuda {

/// To stderr. Throws nothing: if stderr refuses it, there is no other way to say so.
void print_error(const std::string& text);

/// Says that a file that was asked for cannot be written; the process ends with exit code 1 where it would with 0.
void say_unwritable(const std::string& file);

}  // namespace tinygpu::cuda
