// Kernels of a few legal instructions whose registers hold what an input says. An input reads:
//
//   list, settings (bytes), number of instructions; per instruction its number (16 bits) and guard (a byte);
//   then per register that they name, in order: how its value comes about (see `form_value` in form_program.cpp), that
//   value's bytes, and the distance between two lanes' values (a byte)
//
// An input that ends early leaves the rest at values that suit the register's part in these instructions.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/tinygpu/program/program.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/machine.h"

namespace gen5::fuzz {

/// Instructions for one machine, with what goes before and after them.
struct FormList {
  std::string machine = "b200", target = "sm_100a";
  std::vector<std::string> instructions = {};
  std::string before = {}, after = {};
};

/// The list of instructions that the assembler accepts (tests/ptx/data) and a sample of every form of the table, for
/// sm_100a. Those that name symbols of the list's own module are left out.
std::vector<std::string> blackwell_instructions();
/// A sample of every form that sm_90a has.
std::vector<std::string> hopper_instructions();
/// wgmma with A from shared memory and from registers: types and a few N.
std::vector<std::string> wgmma_instructions();

class FormPrograms {
 public:
  explicit FormPrograms(std::vector<FormList> lists);

  /// Builds the kernel that the input asks for and launches it. `object` (128 bytes, a tensor map or nothing) is its
  /// parameter and the first bytes of its data.
  void run(Input& input, const std::vector<uint8_t>& object);

 private:
  struct Kernel {
    std::unique_ptr<tinygpu::Program> program;
    const tinygpu::Function* function = nullptr;  // null: the instructions do not go together
    std::vector<std::string> registers;
  };
  const Kernel& kernel(size_t list, const std::vector<std::string>& body);

  std::vector<FormList> lists_;
  std::vector<tinygpu::MachineSpec> machines_;
  std::map<std::string, Kernel> kernels_;
};

}  // namespace gen5::fuzz
