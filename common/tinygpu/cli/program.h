// Starting a CUDA program on tinygpu: what `gen5 run` and `gen5 check` have in common.
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tinygpu::cli {

/// The machine, and what it is strict about.
struct MachineOptions {
  std::string machine, tmem_checks, clock;
  std::optional<int> threads;
  std::optional<uint64_t> max_cycles;
};

/// Of a number as it was typed: what is wrong with it, or nothing. CLI11 takes -1 for the largest there is.
std::string not_negative(const std::string& value);

void add_machine_options(CLI::App& command, MachineOptions& options);

void set_environment(const char* name, const std::string& value);

/// Sets this process's environment so that `command` will run on tinygpu. Where it cannot, says why and throws
/// CLI::RuntimeError.
void prepare(const std::vector<std::string>& command, const MachineOptions& options);

/// Becomes the program; returns only where that fails, having said so: the exit code of a shell then.
int become(const std::vector<std::string>& command);

}  // namespace tinygpu::cli
