#include "common/tinygpu/cuda/debug_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "common/tinygpu/api/options.h"
#include "common/tinygpu/cuda/process.h"
#include "common/tinygpu/diagnosis/render.h"

namespace tinygpu::cuda {
namespace {

/// As a shell reads it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "-_./=:,+@%";
  const auto plain = [&](unsigned char c) {
    return std::isalnum(c) || c >= 0x80 || kPlain.find(char(c)) != kPlain.npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

std::string debug_command(const Diagnosis& d, const std::string& folder) {
  if (d.where.ptx_line <= 0 || !variable("GEN5_DEBUG_SOCKET").empty()) return {};
  std::string out = fmt::format("gen5 debug --diagnosis={}:{}", d.code, d.where.ptx_line);
  for (const api::Option& o : api::option_table()) {
    if (!o.of_debug) continue;
    const std::string value(variable(o.variable));
    if (value.empty() || (!o.values && value == "0")) continue;
    out += fmt::format(" {}", o.flag);
    if (o.values) out += " " + quoted(value);
  }
  std::vector<std::string> command = arguments();
  if (!command.empty() && command[0].starts_with('/')) {
    const std::string from_here = diagnosis::path_from(folder, command[0]);
    command[0] = from_here.find('/') == from_here.npos ? "./" + from_here : from_here;
  }
  for (const std::string& a : command) out += " " + quoted(a);
  return out;
}

}  // namespace tinygpu::cuda
