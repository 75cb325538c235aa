#include "common/tinygpu/observe/report/align_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tinygpu::observe {
namespace {

using Json = nlohmann::ordered_json;

struct Text {
  int number;
  std::string words;  // without the white space around
};

std::vector<Text> texts_of(const Json& file) {
  std::vector<Text> out;
  for (const Json& line : file.at("lines")) {
    std::string words = line.at(1).get<std::string>();
    words.erase(0, words.find_first_not_of(" \t"));
    words.erase(words.find_last_not_of(" \t\r") + 1);
    out.push_back({line.at(0).get<int>(), std::move(words)});
  }
  return out;
}

/// Places of a longest common subsequence, in order; empty lines and lone brackets anchor nothing.
std::vector<std::pair<size_t, size_t>> common_lines(const std::vector<Text>& a, const std::vector<Text>& b) {
  const size_t n = a.size(), m = b.size(), width = m + 1;
  const auto equal = [&](size_t i, size_t j) { return a[i].words.size() > 1 && a[i].words == b[j].words; };
  std::vector<uint32_t> longest((n + 1) * width);
  for (size_t i = n; i-- > 0;)
    for (size_t j = m; j-- > 0;)
      longest[i * width + j] = equal(i, j) ? 1 + longest[(i + 1) * width + j + 1]
                                           : std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
  std::vector<std::pair<size_t, size_t>> out;
  for (size_t i = 0, j = 0; i < n && j < m;) {
    if (equal(i, j))
      out.emplace_back(i++, j++);
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1])
      ++i;
    else
      ++j;
  }
  return out;
}

std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Partners among files.
std::vector<std::pair<const Json*, const Json*>> partners(const Json& before, const Json& after) {
  std::vector<std::pair<const Json*, const Json*>> out;
  std::vector<const Json*> left, right;
  for (const Json& f : after) right.push_back(&f);
  for (const Json& f : before) {
    const auto name = base_of(f.at("file").get<std::string>());
    const auto same =
        std::ranges::find_if(right, [&](const Json* o) { return base_of(o->at("file").get<std::string>()) == name; });
    if (same == right.end()) {
      left.push_back(&f);
      continue;
    }
    out.emplace_back(&f, *same);
    right.erase(same);
  }
  if (left.size() == 1 && right.size() == 1) out.emplace_back(left[0], right[0]);
  return out;
}

}  // namespace

std::map<SourceLine, SourceLine> align_lines(const Json& before, const Json& after) {
  std::map<SourceLine, SourceLine> out;
  for (const auto& [one, other] : partners(before, after)) {
    const std::vector<Text> a = texts_of(*one), b = texts_of(*other);
    const std::string from = one->at("file"), to = other->at("file");
    auto pairs = common_lines(a, b);
    pairs.emplace_back(a.size(), b.size());
    size_t i = 0, j = 0;
    for (const auto& [next_i, next_j] : pairs) {
      if (next_i - i == next_j - j)
        for (; i < next_i; ++i, ++j) out[{from, a[i].number}] = {to, b[j].number};
      if (next_i < a.size()) out[{from, a[next_i].number}] = {to, b[next_j].number};
      i = next_i + 1;
      j = next_j + 1;
    }
  }
  return out;
}

}  // namespace tinygpu::observe
