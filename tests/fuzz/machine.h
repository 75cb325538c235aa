// A machine small enough to be made anew for every input, and launches on it.
#pragma once
#include <string>

#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/program/program.h"
#include "common/tinygpu/ptx/parser.h"

namespace gen5::fuzz {

/// The profile with four SMs and 16 MiB.
tinygpu::MachineSpec small_machine(const std::string& profile);

/// One thread, little patience, diagnoses written out and dropped.
void set_options(tinygpu::RunOptions& options);

/// Launches as the API does: not at all when no SM can hold a CTA. A fault is an answer like any other; what else is
/// thrown leaves.
void launch(tinygpu::Gpu& gpu, const tinygpu::LaunchConfig& config);

/// Where a module's variables lie: as much as the machine has, like the store behind the API.
struct Store : tinygpu::VariableStore {
  explicit Store(tinygpu::GlobalMemory& m) : memory(m) {}
  uint64_t allocate(const std::string& name, uint64_t size, uint32_t align, bool managed, bool constant) override;
  void write(uint64_t address, const void* bytes, size_t size) override;
  tinygpu::GlobalMemory& memory;
};

/// Launches `f` with the block that it asks for, or a small one, one cluster, and every parameter a pointer to the same
/// buffer, or the low bytes of one.
void launch_entry(tinygpu::Gpu& gpu, tinygpu::Program& program, const tinygpu::Function& f);

}  // namespace gen5::fuzz
