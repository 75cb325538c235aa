// Starting a CUDA program on tinygpu: what `gen5 run` and `gen5 check` have in common.
#pragma once
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace tinygpu::cli {

/// What the command line set, by environment variable.
using Settings = std::map<std::string, std::string>;

/// Adds the flags of the table of options (api/options.h): all, or those that gen5 check or gen5 debug has, too.
enum class Flags : uint8_t { of_run, of_check, of_debug };
void add_options(CLI::App& command, Settings& settings, Flags which);

/// Everything from the program's name on belongs to the program, whatever it looks like.
void take_program(CLI::App& command);
/// That program and its arguments; throws CLI::ParseError if there is none, or an option that `command` does not have.
std::vector<std::string> program_of(const CLI::App& command);

void set_environment(const std::string& name, const std::string& value);

/// Kernels are named in what this process prints as in what the program prints: short, or in full.
void choose_names(const Settings& settings);

/// Sets this process's environment so that `command` will run on tinygpu. Where it cannot, says why and throws
/// CLI::RuntimeError.
void prepare(const std::vector<std::string>& command, const Settings& settings);

/// Becomes the program; returns only where that fails, having said so: the exit code of a shell then.
int become(const std::vector<std::string>& command);

}  // namespace tinygpu::cli
