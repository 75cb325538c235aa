// gen5 machine NAME --doubt PROGRAM ARGS…: which estimates of a profile a program's cycles hang on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tinygpu::cli {

/// Runs the program with the profile's estimates at both ends of their spreads, `jobs` runs at once, and prints which
/// of them change its cycles. Throws ProfileError, and CLI::RuntimeError behind a message.
void doubt(const std::string& machine, const std::vector<std::string>& command, uint32_t jobs);

}  // namespace tinygpu::cli
