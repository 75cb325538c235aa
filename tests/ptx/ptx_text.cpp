#include "ptx_text.h"

#include <fmt/format.h>

#include <sstream>

#include "tests/support/zstd_file.h"

namespace tinygpu::ptx {

std::string kernel_text(std::string_view body, std::string_view target, std::string_view version) {
  return fmt::format(
      ".version {}\n.target {}\n.address_size 64\n"
      ".global .align 64 .b8 tmapp[128]; .global .align 64 .b8 gmem[128];\n"
      ".entry k(.param .align 64 .b8 kparam[128]) {{ .shared .align 1024 .b8 smem[1024];\n"
      ".reg .b32 %r<340>; .reg .b64 %rd<32>; .reg .pred %p<16>; .reg .b16 %h<32>; .reg .b16 %rs<16>;\n"
      ".reg .f32 %f<16>; .reg .f64 %fd<16>; .reg .b128 %q<8>; .reg .b8 %b<8>; .reg .u32 %u<4>;\n"
      "{}\nL: ret;\n}}\n",
      version, target, body);
}

std::vector<ParseMessage> messages_of(std::string_view body, std::string_view target, std::string_view version) {
  try {
    parse(kernel_text(body, target, version));
  } catch (const ParseError& e) {
    return e.messages;
  }
  return {};
}

std::string first_message(std::string_view body, std::string_view target, std::string_view version) {
  const std::vector<ParseMessage> m = messages_of(body, target, version);
  return m.empty() ? std::string() : m[0].text;
}

Instruction parse_instruction(std::string_view text) {
  Module m = parse(kernel_text(text));
  return m.functions.at(0)->body.at(0);
}

std::string read_data(const std::string& name) {
  return gen5::test::read_packed(std::string(PTX_TEST_DATA) + "/" + name);
}

std::vector<std::string> read_lines(const std::string& name) {
  std::istringstream in(read_data(name));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace tinygpu::ptx
