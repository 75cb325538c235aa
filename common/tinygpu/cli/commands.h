// The subcommands of `gen5`. Each adds its options to the application; its callback returns through CLI::RuntimeError.
#pragma once
#include <CLI/CLI.hpp>

namespace tinygpu::cli {

/// `gen5 run [OPTIONS] PROGRAM ARGS…`: any CUDA 13 program on the machine model.
void add_run(CLI::App& app);

/// `gen5 check [OPTIONS] PROGRAM ARGS…`: the same under several orders of completion, one summary, one exit code.
void add_check(CLI::App& app);

/// `gen5 machine [NAME]`: a profile's numbers with their sources.
void add_machine(CLI::App& app);

/// `gen5 isa [FAMILY]`: the table of instruction forms, and which of them execute.
void add_isa(CLI::App& app);

/// `gen5 explain 'INSTRUCTION'`: how an instruction reads, or what is wrong with it.
void add_explain(CLI::App& app);

}  // namespace tinygpu::cli
