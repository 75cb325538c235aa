#include "common/tinygpu/base/diagnosis.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace tinygpu {
namespace {

/// Longest name shown whole: C++ templates make names of thousands of letters.
constexpr size_t kLongestName = 120, kHead = 80;

/// The function's own name out of a mangled one, `outer::inner`, or nothing. For names that the C++ library cannot
/// demangle: there are some among nvcc's, of templates with packs.
std::string leading_name(const std::string& mangled) {
  size_t at = mangled.rfind("_ZN", 0) == 0 ? 3 : 2;
  std::string out;
  while (at < mangled.size() && mangled[at] >= '0' && mangled[at] <= '9') {
    size_t length = 0;
    for (; at < mangled.size() && mangled[at] >= '0' && mangled[at] <= '9'; ++at)
      length = std::min(length * 10 + size_t(mangled[at] - '0'), mangled.size());
    out += (out.empty() ? "" : "::") + mangled.substr(at, length);
    at += length;
  }
  if (!out.empty() && at < mangled.size() && mangled[at] == 'I') out += "<…>";
  return out;
}

/// A kernel's name as its source has it, if it is a C++ name; long ones without their middle.
std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  std::string out = status == 0 && text ? text.get() : name;
  if (status != 0 && name.rfind("_Z", 0) == 0)
    if (const std::string short_name = leading_name(name); !short_name.empty()) out = short_name;
  if (out.size() > kLongestName) out = out.substr(0, kHead) + " … " + out.substr(out.size() - (kLongestName - kHead));
  return out;
}

}  // namespace

std::string Diagnosis::render() const {
  const char* level = severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
  std::string out = fmt::format("tinygpu {}[{}]: {}\n", level, code, message);
  if (!where.cuda_file.empty()) out += fmt::format("  --> {}:{}\n", where.cuda_file, where.cuda_line);
  if (!where.kernel.empty()) {
    out += fmt::format("   in kernel {}", readable(where.kernel));
    if (where.cta[0] >= 0) out += fmt::format(", CTA ({},{},{})", where.cta[0], where.cta[1], where.cta[2]);
    if (where.warp >= 0) out += fmt::format(", warp {}", where.warp);
    if (where.thread >= 0) out += fmt::format(", thread {}", where.thread);
    out += "\n";
  }
  if (where.ptx_line > 0) out += fmt::format("   ptx line {}: {}\n", where.ptx_line, where.ptx_text);
  if (!help.empty()) out += fmt::format("   help: {}\n", help);
  return out;
}

}  // namespace tinygpu
