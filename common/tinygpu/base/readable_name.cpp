#include "common/tinygpu/base/readable_name.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace tinygpu {
namespace {

/// Longest name shown whole: C++ templates make names of thousands of letters.
constexpr size_t kLongestName = 120, kHead = 80;

std::atomic<bool> full_names = false;

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

/// Template arguments without namespaces and without the types of numbers.
std::string short_arguments(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t word = i;
    while (word < text.size() && (std::isalnum(uint8_t(text[word])) || text[word] == '_')) ++word;
    if (text.substr(word).starts_with("::")) {
      i = word + 2;
    } else if (text.substr(i).starts_with("(bool)")) {
      out += text.substr(i).starts_with("(bool)1") ? "true" : "false";
      i += 7;
    } else if (text[i] == '(' && text.find(')', i) != text.npos) {
      i = text.find(')', i) + 1;
    } else {
      word = std::max(word, i + 1);
      out += text.substr(i, word - i);
      i = word;
    }
  }
  return out;
}

}  // namespace

std::string full_name(const std::string& name) { return demangled(name); }

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
  constexpr size_t kLongestArguments = 32, kLongestLabel = 80;
  std::string text = demangled(name);
  if (full_names) return text;
  constexpr std::string_view kAnonymous = "(anonymous namespace)::", kVoid = "void ";
  for (size_t at; (at = text.find(kAnonymous)) != text.npos;) text.erase(at, kAnonymous.size());
  if (text.starts_with(kVoid)) text.erase(0, kVoid.size());
  const size_t end = text.find_first_of("<( ");
  std::string label = text.substr(0, end);
  label.erase(0, label.rfind(':') + 1);
  if (label.size() > kLongestLabel) label = label.substr(0, kLongestLabel) + "…";
  if (end == text.npos || text[end] != '<') return label;
  size_t close = end;
  for (int depth = 0; close < text.size(); ++close)
    if ((depth += (text[close] == '<') - (text[close] == '>')) == 0) break;
  if (close == text.size()) return label + "<…>";
  const std::string arguments = short_arguments(std::string_view(text).substr(end + 1, close - end - 1));
  return label + (arguments.size() > kLongestArguments ? "<…>" : "<" + arguments + ">");
}

std::string launch_label(const std::string& launch, const std::string& kernel) {
  const std::string label = kernel_label(kernel);
  if (launch.empty()) return label;
  return launch + ": " + (full_names ? label : label.substr(0, label.find('<')));
}

void show_full_names(bool full) { full_names = full; }

}  // namespace tinygpu
