// The instructions that the chapters teach, in words: what they do, who executes them, and what waits for what.
#pragma once
#include <string_view>

#include "common/tinygpu/ptx/opcode.h"

namespace tinygpu::cli {

/// What the PTX ISA 9.1 says in the section of the same name, in fewer words.
struct InstructionWords {
  ptx::Opcode opcode;
  std::string_view does;
  std::string_view executed;  // by how many threads, and how often
  std::string_view waits;     // what it waits for, and how one knows that it is complete
  std::string_view wrapper;   // in common/ptx; empty: there is none
  std::string_view chapter;   // that teaches it
  std::string_view example;   // one instruction, a form that this machine executes
};

/// Null: not one of them.
const InstructionWords* words_of(ptx::Opcode opcode);
void print_words(const InstructionWords& words);

}  // namespace tinygpu::cli
