#include "common/tinygpu/base/readable_name.h"

#include <cxxabi.h>

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

}  // namespace

std::string readable_name(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  std::string out = status == 0 && text ? text.get() : name;
  if (status != 0 && name.rfind("_Z", 0) == 0)
    if (const std::string short_name = leading_name(name); !short_name.empty()) out = short_name;
  if (out.size() > kLongestName) out = out.substr(0, kHead) + " … " + out.substr(out.size() - (kLongestName - kHead));
  return out;
}

}  // namespace tinygpu
