// The subcommands of `gen5`. Each adds its options to the application; its callback returns through CLI::RuntimeError.
#pragma once
#include <CLI/CLI.hpp>

namespace tinygpu::cli {

/// `gen5 run [OPTIONS] PROGRAM ARGS…`: any CUDA 13 program on the machine model.
void add_run(CLI::App& app);

/// `gen5 check [OPTIONS] PROGRAM ARGS…`: the same under several orders of completion, one summary, one exit code.
void add_check(CLI::App& app);

/// `gen5 debug [OPTIONS] PROGRAM ARGS…`: step by step, forward and back; at a prompt, or for an editor.
void add_debug(CLI::App& app);

/// `gen5 machine [NAME]`: a profile's numbers with their sources; with --doubt, which of them a program's cycles hang
/// on.
void add_machine(CLI::App& app);

/// `gen5 isa [FAMILY]`: the table of instruction forms, and which of them execute.
void add_isa(CLI::App& app);

/// `gen5 explain 'INSTRUCTION'`: how an instruction reads, or what is wrong with it.
void add_explain(CLI::App& app);

/// `gen5 search gemm …`: the best kernels for a product.
void add_search(CLI::App& app);

}  // namespace tinygpu::cli
