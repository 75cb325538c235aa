// An opcode's spelling, cut into family and modifiers (opcode.h says how).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/ptx/module.h"

namespace tinygpu::ptx {

struct Spelling {
  std::string text;  // as written, without white space
  std::string name;  // the opcode's; of an unknown one the first word
  Opcode opcode = Opcode::unknown;
  std::vector<std::string> mods;
  std::vector<Type> types;
  std::vector<uint32_t> columns;  // where each modifier stands, counted from the opcode; empty if white space is inside
};

Spelling cut_spelling(std::string_view written);

}  // namespace tinygpu::ptx
