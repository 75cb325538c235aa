// Texts for the parser's tests.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/ptx/parser.h"

namespace tinygpu::ptx {

/// A module for `target` with a kernel `k` that holds `body`; the registers and variables of data/README.md are
/// declared. `body` begins in line kBodyLine.
std::string kernel_text(std::string_view body, std::string_view target = "sm_100a", std::string_view version = "9.0");
inline constexpr uint32_t kBodyLine = 8;

/// The messages that the kernel draws; none if it is legal.
std::vector<ParseMessage> messages_of(std::string_view body, std::string_view target = "sm_100a",
                                      std::string_view version = "9.0");
/// The first message's text, or "" if the kernel is legal.
std::string first_message(std::string_view body, std::string_view target = "sm_100a", std::string_view version = "9.0");

/// The only instruction of a kernel.
Instruction parse_instruction(std::string_view text);

/// A compressed file of data/, whole or by lines.
std::string read_data(const std::string& name);
std::vector<std::string> read_lines(const std::string& name);

}  // namespace tinygpu::ptx
