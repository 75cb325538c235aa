// The subcommands of `gen5`. Each adds its options to the application; its callback returns through CLI::RuntimeError.
#pragma once
#include <CLI/CLI.hpp>

namespace tinygpu::cli {

/// `gen5 run [OPTIONS] PROGRAM ARGS…`: any CUDA 13 program on the machine model.
void add_run(CLI::App& app);

/// `gen5 machine [NAME]`: a profile's numbers with their sources.
void add_machine(CLI::App& app);

}  // namespace tinygpu::cli
