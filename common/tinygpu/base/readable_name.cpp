#include "common/tinygpu/base/readable_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <regex>
#include <string_view>

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

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;  // the C++ library takes "g" for a type
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (status == 0 && text) return text.get();
  const std::string leading = leading_name(name);
  return leading.empty() ? name : leading;
}

}  // namespace

std::string readable_name(const std::string& name) {
  std::string out = demangled(name);
  if (out.size() > kLongestName) out = out.substr(0, kHead) + " … " + out.substr(out.size() - (kLongestName - kHead));
  return out;
}

std::string short_name(const std::string& name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::", kOperator = "operator";
  const std::string full = demangled(name);
  const std::string_view text = full;
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!depth && text.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (!depth && text.substr(i).starts_with(kOperator)) {  // its own name may have brackets
      const size_t end = std::min(text.find('(', i + kOperator.size() + 1), text.size());
      return out + std::string(text.substr(i, end - i));
    } else if (text[i] == '<') {
      ++depth;
    } else if (text[i] == '>') {
      --depth;
    } else if (!depth && text[i] == '(') {
      break;
    } else if (!depth && text[i] == ' ') {
      out.clear();  // that was its type
    } else if (!depth) {
      out += text[i];
    }
  }
  return out;
}

std::string kernel_label(const std::string& name) {
  constexpr size_t kLongestArguments = 32;
  std::string text = demangled(name);
  for (const std::string_view drop : {"(anonymous namespace)::", "void "})
    for (size_t at; (at = text.find(drop)) != text.npos;) text.erase(at, drop.size());
  const size_t end = text.find_first_of("<( ");
  std::string label = text.substr(0, end);
  label.erase(0, label.rfind(':') + 1);
  if (end == text.npos || text[end] != '<') return label;
  size_t close = end;
  for (int depth = 0; close < text.size(); ++close)
    if ((depth += (text[close] == '<') - (text[close] == '>')) == 0) break;
  if (close == text.size()) return label + "<…>";
  std::string arguments = text.substr(end + 1, close - end - 1);
  const std::pair<const char*, const char*> shorter[] = {
      {R"((\w+::)+)", ""}, {R"(\(bool\)1)", "true"}, {R"(\(bool\)0)", "false"}, {R"(\([a-z_ ]+\)(?=-?\d))", ""}};
  for (const auto& [what, by] : shorter) arguments = std::regex_replace(arguments, std::regex(what), by);
  return label + (arguments.size() > kLongestArguments ? "<…>" : "<" + arguments + ">");
}

}  // namespace tinygpu
