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

std::vector<std::string> split(std::string_view text, char at);

/// The state space that modifiers name: "global", "shared" for all of its windows, "param" …; "generic" if none.
std::string_view space_named(const std::vector<std::string>& mods);

}  // namespace tinygpu::ptx
