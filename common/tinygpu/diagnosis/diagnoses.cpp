#include "common/tinygpu/diagnosis/diagnoses.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "common/tinygpu/base/edit_distance.h"
#include "common/tinygpu/diagnosis/codes_api.h"
#include "common/tinygpu/diagnosis/codes_control.h"
#include "common/tinygpu/diagnosis/codes_copies.h"
#include "common/tinygpu/diagnosis/codes_mbarrier.h"
#include "common/tinygpu/diagnosis/codes_memory.h"
#include "common/tinygpu/diagnosis/codes_mma.h"
#include "common/tinygpu/diagnosis/codes_tensor_memory.h"

namespace tinygpu::diagnosis {
namespace {

constexpr Subject kSubjects[] = {{"Memory", kMemoryCodes},
                                 {"Threads, warps and CTAs", kControlCodes},
                                 {"mbarriers", kMbarrierCodes},
                                 {"Asynchronous copies", kCopyCodes},
                                 {"Tensor Memory", kTensorMemoryCodes},
                                 {"Matrix instructions", kMmaCodes},
                                 {"The CUDA API and tinygpu itself", kApiCodes}};

constexpr size_t count_codes() {
  size_t n = 0;
  for (const Subject& s : kSubjects) n += s.codes.size();
  return n;
}

constexpr auto sorted_codes() {
  std::array<CodeInfo, count_codes()> all{};
  auto to = all.begin();
  for (const Subject& s : kSubjects) to = std::copy(s.codes.begin(), s.codes.end(), to);
  std::sort(all.begin(), all.end(), [](const CodeInfo& a, const CodeInfo& b) { return a.code < b.code; });
  return all;
}

constexpr std::array kCodes = sorted_codes();

static_assert(std::adjacent_find(kCodes.begin(), kCodes.end(),
                                 [](const CodeInfo& a, const CodeInfo& b) { return a.code == b.code; }) == kCodes.end(),
              "a code stands twice in the table");
static_assert(std::none_of(kCodes.begin(), kCodes.end(),
                           [](const CodeInfo& c) {
                             return c.severities.none() || c.what.empty() || c.rule.text.empty() || c.fix.text.empty();
                           }),
              "an entry of the table has no severity, sentence, rule or fix");

// What is known about hardware is printed; where no hardware is concerned nothing is.
static_assert(std::none_of(kCodes.begin(), kCodes.end(),
                           [](const CodeInfo& c) {
                             const auto& [basis, text] = c.hardware;
                             return basis == none ? !text.empty() : basis > unknown && text.empty();
                           }),
              "what hardware does and what that rests on do not fit");

}  // namespace

std::span<const Subject> subjects() { return kSubjects; }

std::span<const CodeInfo> all_codes() { return kCodes; }

const CodeInfo* find_code(std::string_view code) {
  const auto it = std::lower_bound(kCodes.begin(), kCodes.end(), code,
                                   [](const CodeInfo& c, std::string_view s) { return c.code < s; });
  return it != kCodes.end() && it->code == code ? &*it : nullptr;
}

std::vector<std::string_view> nearest_codes(std::string_view word, size_t most) {
  // Beyond the longest code's length further letters tell nothing.
  word = word.substr(0, 64);
  std::vector<std::pair<size_t, std::string_view>> near;
  for (const CodeInfo& c : kCodes) near.emplace_back(edit_distance(word, c.code), c.code);
  std::sort(near.begin(), near.end());
  std::vector<std::string_view> out;
  for (size_t i = 0; i < std::min(most, near.size()); ++i) out.push_back(near[i].second);
  return out;
}

std::string_view words(Basis basis) {
  switch (basis) {
    case Basis::none: return "";
    case Basis::unknown: return "not known";
    case Basis::inferred: return "inferred";
    case Basis::documented: return "documented";
    case Basis::published: return "published by others";
    case Basis::generated: return "in the code that ptxas emits";
    case Basis::measured: return "measured on an H200";
  }
  return "";
}

std::string words(Severities severities) {
  std::string out;
  for (const auto& [severity, word] :
       {std::pair{Severity::error, "error"}, {Severity::warning, "warning"}, {Severity::note, "note"}})
    if (severities.has(severity)) out += (out.empty() ? "" : " or ") + std::string(word);
  return out;
}

std::string severity_words(const CodeInfo& c) {
  return words(c.severities) + (c.severities.strict() ? "; always an error with --tmem-checks strict" : "");
}

std::string hardware_words(const CodeInfo& c) {
  const std::string text(c.hardware.text);
  if (c.hardware.basis == none) return {};
  if (c.hardware.basis == unknown) return "What it does is not known." + (text.empty() ? "" : " " + text);
  return text + " (" + std::string(words(c.hardware.basis)) + ")";
}

}  // namespace tinygpu::diagnosis
