#include "common/tinygpu/base/initialised_object.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace tinygpu {
namespace {

constexpr size_t kLongest = 60;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)); }

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
  return s;
}

/// The place of the bracket that ends what the one at `open` begins.
std::optional<size_t> end_of(std::string_view s, size_t open) {
  int depth = 0;
  for (size_t i = open; i < s.size(); ++i) {
    if (s[i] == '(' || s[i] == '[') ++depth;
    if ((s[i] == ')' || s[i] == ']') && --depth == 0) return i;
  }
  return {};
}

/// Up to the first comma that stands in no brackets.
std::string_view first_argument(std::string_view s) {
  int depth = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '(' || s[i] == '[' || s[i] == '<') ++depth;
    if (s[i] == ')' || s[i] == ']' || (s[i] == '>' && (i == 0 || s[i - 1] != '-'))) --depth;
    if (s[i] == ',' && depth == 0) return s.substr(0, i);
  }
  return s;
}

/// Where the brackets of a call's arguments begin behind the name that ends at `at`; template arguments may stand
/// between.
std::optional<size_t> call_behind(std::string_view s, size_t at) {
  if (at < s.size() && s[at] == '<') {
    int depth = 0;
    while (at < s.size()) {
      if (s[at] == '<') ++depth;
      if (s[at++] == '>' && --depth == 0) break;
    }
  }
  while (at < s.size() && is_space(s[at])) ++at;
  return at < s.size() && s[at] == '(' ? std::optional(at) : std::nullopt;
}

/// Without casts, addresses and calls of one argument around it.
std::string_view bare(std::string_view s) {
  for (std::string_view before; before != s;) {
    before = s = trimmed(s);
    while (!s.empty() && (s.front() == '&' || s.front() == '*')) s.remove_prefix(1);
    s = trimmed(s);
    if (s.empty()) break;
    if (s.front() == '(') {
      const auto end = end_of(s, 0);
      if (!end) return {};
      s = *end + 1 == s.size() ? s.substr(1, *end - 1) : s.substr(*end + 1);  // parentheses, or a cast
      continue;
    }
    size_t name = 0;
    while (name < s.size() && (in_name(s[name]) || s[name] == ':')) ++name;
    if (name == 0) continue;
    const auto open = call_behind(s, name);
    if (open && end_of(s, *open) == s.size() - 1) s = first_argument(s.substr(*open + 1, s.size() - *open - 2));
  }
  return s;
}

/// `shared.full[i]` of "…; shared.full[i]." or "…->": what a member's name stands behind.
std::string_view receiver(std::string_view before) {
  before.remove_suffix(before.ends_with('.') ? 1 : 2);
  size_t begin = before.size();
  while (begin > 0) {
    const char c = before[begin - 1];
    if (c == ']') {
      int depth = 0;
      do {
        --begin;
        if (before[begin] == ']') ++depth;
        if (before[begin] == '[') --depth;
      } while (begin > 0 && depth);
    } else if (in_name(c) || c == '.') {
      --begin;
    } else if (c == '>' && begin > 1 && before[begin - 2] == '-') {
      begin -= 2;
    } else {
      break;
    }
  }
  return before.substr(begin);
}

bool is_expression(std::string_view s) {
  if (s.empty() || s.size() > kLongest || s == "this") return false;
  // Two words with a space between are a declaration.
  for (size_t i = 1; i + 1 < s.size(); ++i)
    if (is_space(s[i]) && in_name(s[i - 1])) {
      const size_t next = s.find_first_not_of(" \t\n", i);
      if (next != s.npos && in_name(s[next])) return false;
    }
  return std::ranges::all_of(s,
                             [](char c) {
                               return in_name(c) || is_space(c) ||
                                      std::string_view(".[]->+*:()").find(c) != std::string_view::npos;
                             }) &&
         !std::isdigit(static_cast<unsigned char>(s.front()));
}

}  // namespace

std::string initialised_object(std::string_view text) {
  if (text.find("asm") != text.npos) return {};
  for (size_t at = 0; at < text.size();) {
    if (!in_name(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && in_name(text[at])) ++at;
    std::string name(text.substr(begin, at - begin));
    std::ranges::transform(name, name.begin(),
                           [](char c) { return char(std::tolower(static_cast<unsigned char>(c))); });
    const auto open = call_behind(text, at);
    if (!open || name.find("init") == name.npos) continue;
    const auto end = end_of(text, *open);
    if (!end) return {};
    const std::string_view before = text.substr(0, begin);
    const bool member = before.ends_with('.') || before.ends_with("->");
    const std::string_view object =
        member ? receiver(before) : bare(first_argument(text.substr(*open + 1, *end - *open - 1)));
    return is_expression(object) ? std::string(object) : std::string();
  }
  return {};
}

std::optional<std::string_view> only_index(std::string_view object) {
  const size_t open = object.find('['), close = object.find(']');
  if (open == object.npos || close == object.npos || close < open + 2 || object.rfind('[') != open ||
      object.rfind(']') != close)
    return {};
  const std::string_view name = object.substr(open + 1, close - open - 1);
  if (!std::ranges::all_of(name, in_name) || std::isdigit(static_cast<unsigned char>(name.front()))) return {};
  return name;
}

bool counts_from_zero(std::string_view text, std::string_view index) {
  for (size_t at = 0; (at = text.find("for", at)) != text.npos; at += 3) {
    const std::string_view loop = trimmed(text.substr(at + 3));
    if (!loop.starts_with('(')) continue;
    const std::string_view clause = loop.substr(0, loop.find(';'));
    for (size_t name = 0; (name = clause.find(index, name)) != clause.npos; name += index.size()) {
      std::string_view rest = trimmed(clause.substr(name + index.size()));
      if (in_name(clause[name - 1]) || !rest.starts_with('=')) continue;
      rest = trimmed(rest.substr(1));
      if (rest.starts_with('0') && (rest.size() == 1 || !in_name(rest[1]))) return true;
    }
  }
  return false;
}

}  // namespace tinygpu
