// An opcode's spelling, cut into family and modifiers (opcodes.h says how).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/ptx/module.h"

namespace tinygpu::ptx {

struct Spelling {
  std::string text;  // as written, without white space
  std::string opcode;
  std::vector<std::string> mods;
  std::vector<Type> types;
  std::vector<uint32_t> columns;  // where each modifier stands, counted from the opcode; empty if white space is inside
  bool known = false;             // the family is in opcodes.h
};

Spelling cut_spelling(std::string_view written);

/// True for the families of video instructions (PTX ISA 9.7.18): their operands may be parts of registers.
inline bool is_video(std::string_view family) { return family.starts_with('v') && !family.starts_with("vote"); }

/// True if `opcode` is in opcodes.h.
bool is_known_opcode(std::string_view opcode);

}  // namespace tinygpu::ptx
