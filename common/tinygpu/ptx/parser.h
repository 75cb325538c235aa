// PTX text → Module. What ptxas 13.0 rejects (13.5 for what PTX 9.1 to 9.3 added), this rejects, with a message that
// says what is legal.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/ptx/module.h"

namespace tinygpu::ptx {

struct ParseMessage {
  Pos pos;
  std::string text;  // one sentence: what is wrong, what is legal
  std::string help;  // what to write instead; may be empty
};

/// Thrown with every error found (at most 20).
class ParseError : public std::runtime_error {
 public:
  ParseError(std::string module, std::vector<ParseMessage> m);
  std::vector<ParseMessage> messages;
};

struct ParseOptions {
  std::string name = "ptx";
  bool check_forms = true;  // false: syntax only
  /// ptxas has taken this text. What no form takes is then a gap of the table: the instruction is kept, with
  /// Instruction::fault, so that the module loads and only its execution stops.
  bool assembled = false;
};

/// Parses one module (PTX up to .version 9.4). Throws ParseError; never crashes on malformed text.
Module parse(std::string_view text, const ParseOptions& options = {});

}  // namespace tinygpu::ptx
