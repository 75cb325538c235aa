#include "common/harness/mistake.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace gen5::harness {
namespace {

const std::regex& first_line() {
  static const std::regex r("^(?:tinygpu )?(error|warning|note)\\[([a-z0-9-]+)\\]", std::regex::multiline);
  return r;
}

}  // namespace

bool has(const std::vector<std::string>& list, const std::string& item) {
  return std::ranges::find(list, item) != list.end();
}

std::vector<std::string> codes_in(const std::string& text, bool notes) {
  std::vector<std::string> out;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), first_line()); it != std::sregex_iterator(); ++it)
    if ((notes || (*it)[1] != "note") && !has(out, (*it)[2])) out.push_back((*it)[2]);
  return out;
}

std::string diagnosis_of(const std::string& text, const std::string& code) {
  for (auto it = std::sregex_iterator(text.begin(), text.end(), first_line()); it != std::sregex_iterator(); ++it) {
    if ((*it)[2] != code) continue;
    const auto next = std::next(it);
    const size_t from = size_t(it->position()),
                 to = next == std::sregex_iterator() ? text.size() : size_t(next->position());
    return text.substr(from, to - from);
  }
  return {};
}

std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(", ", at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return out;
}

std::vector<std::string> codes_promised(const std::string& says) {
  std::vector<std::string> out;
  for (const std::string& promise : listed(says))
    for (size_t at = 0; at < promise.size();) {
      const size_t end = std::min(promise.find('|', at), promise.size());
      out.push_back(promise.substr(at, end - at));
      at = end + 1;
    }
  return out;
}

std::string broken_promise(const Mistake& mistake, const std::vector<Outcome>& outcomes) {
  const bool numbers = mistake.says == kWrongNumbers, not_yet = mistake.says == kNotYet;
  const std::vector<std::string> promised = numbers || not_yet ? std::vector<std::string>{} : listed(mistake.says);
  const std::vector<std::string> silent = listed(mistake.silent);
  for (const Outcome& o : outcomes) {
    if (has(silent, o.order)) {
      if (o.codes.empty()) continue;
      return fmt::format("{}: {} was said, and silence was promised", o.order, o.codes.front());
    }
    for (const std::string& code : promised)
      if (std::ranges::none_of(codes_promised(code), [&](const std::string& one) { return has(o.codes, one); }))
        return fmt::format("{}: {} was promised, and nobody said it", o.order, code);
    if (promised.empty() && !o.codes.empty())
      return fmt::format("{}: {} was said, and nobody promised it", o.order, o.codes.front());
    if (o.codes.empty() && !o.stopped.empty()) return fmt::format("{}: stopped without a diagnosis", o.order);
    if (numbers && o.numbers_right) return fmt::format("{}: the numbers are right", o.order);
    if (numbers && o.difference.empty()) return fmt::format("{}: no wrong number is shown", o.order);
  }
  return {};
}

std::string not_fixed(const std::vector<Outcome>& outcomes) {
  for (const Outcome& o : outcomes) {
    if (!o.stopped.empty()) return fmt::format("{}: {}", o.order, o.stopped);
    if (!o.codes.empty()) return fmt::format("{}: {} was said", o.order, o.codes.front());
    if (!o.numbers_right) return fmt::format("{}: the numbers are wrong", o.order);
  }
  return {};
}

}  // namespace gen5::harness
