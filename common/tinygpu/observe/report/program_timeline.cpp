#include "common/tinygpu/observe/report/program_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace tinygpu::observe {
namespace {

using Json = nlohmann::ordered_json;

// About 40 bytes of the page each.
constexpr size_t kMostSpans = 60'000, kMostArrows = 200'000;

struct OwnSpan {
  std::string name;
  uint64_t begin = 0, end = 0;
  bool critical = false;
  size_t number = 0;  // as the program counts
};

/// Rows of the page, so that no two spans of one overlap.
std::vector<std::vector<OwnSpan>> rows_without_overlap(std::vector<OwnSpan> spans) {
  std::ranges::stable_sort(spans, {}, [](const OwnSpan& s) { return std::pair(s.begin, s.end); });
  std::vector<std::vector<OwnSpan>> rows;
  for (OwnSpan& s : spans) {
    const auto free = std::ranges::find_if(rows, [&](const auto& row) { return row.back().end <= s.begin; });
    (free == rows.end() ? rows.emplace_back() : *free).push_back(std::move(s));
  }
  if (rows.empty()) rows.emplace_back();
  return rows;
}

/// Their part of the page's data. Gives each span's number there.
class Builder {
 public:
  void add_row(const std::string& name, uint32_t row, const std::vector<OwnSpan>& spans) {
    Json begin = Json::array(), length = Json::array(), word = Json::array(), critical = Json::array();
    uint64_t before = 0;
    for (const OwnSpan& s : spans) {
      begin.push_back(s.begin - before);
      length.push_back(s.end - s.begin);
      word.push_back(number_of(s.name));
      critical.push_back(s.critical ? 1 : 0);
      before = s.begin;
      cycles_ = std::max(cycles_, s.end);
      if (numbers_.size() <= s.number) numbers_.resize(s.number + 1);
      numbers_[s.number] = count_++;
    }
    rows_.push_back({{"sm", 0},
                     {"kind", "task"},
                     {"name", row ? fmt::format("{} ({})", name, row + 1) : name},
                     {"slot", 0},
                     {"row", row},
                     {"count", spans.size()},
                     {"begin", std::move(begin)},
                     {"length", std::move(length)},
                     {"word", std::move(word)},
                     {"critical", std::move(critical)},
                     {"place", -1},
                     {"thread", -1},
                     {"bytes", 0},
                     {"queued", -1}});
  }

  Json data(const std::string& title, const Json& arrows) const {
    Json from = Json::array(), to = Json::array();
    for (const Json& a : arrows) {
      from.push_back(numbers_.at(a.at(0).get<size_t>()));
      to.push_back(numbers_.at(a.at(1).get<size_t>()));
    }
    return {{"title", title},
            {"cycles", cycles_},
            {"left_out", 0},
            {"flat", true},
            {"words", words_},
            {"threads", Json::array()},
            {"places", Json::array()},
            {"rows", rows_},
            {"arrows", {{"from", std::move(from)}, {"to", std::move(to)}}},
            {"ctas", Json::array()}};
  }

 private:
  size_t number_of(const std::string& word) {
    const auto [known, fresh] = known_.try_emplace(word, words_.size());
    if (fresh) words_.push_back(word);
    return known->second;
  }

  std::map<std::string, size_t> known_;
  std::vector<std::string> words_;
  std::vector<size_t> numbers_;
  Json rows_ = Json::array();
  size_t count_ = 0;
  uint64_t cycles_ = 0;
};

Json made(const Json& given) {
  Builder builder;
  size_t count = 0;
  for (const Json& row : given.at("rows")) {
    std::vector<OwnSpan> spans;
    for (const Json& s : row.at("spans")) {
      spans.push_back({s.at("name"), s.at("begin"), s.at("end"), s.value("critical", false), count++});
      if (spans.back().end < spans.back().begin)
        throw std::invalid_argument(fmt::format("the span {} ends before it begins", spans.back().name));
    }
    if (count > kMostSpans) throw std::invalid_argument(fmt::format("a page shows at most {} spans", kMostSpans));
    uint32_t number = 0;
    for (const auto& part : rows_without_overlap(std::move(spans))) builder.add_row(row.at("name"), number++, part);
  }
  const Json arrows = given.value("arrows", Json::array());
  if (arrows.size() > kMostArrows)
    throw std::invalid_argument(fmt::format("a page shows at most {} arrows", kMostArrows));
  for (const Json& a : arrows)
    for (const int end : {0, 1})
      if (a.at(size_t(end)).get<size_t>() >= count)
        throw std::invalid_argument(fmt::format("an arrow names span {} of {}", a.at(size_t(end)).dump(), count));
  return builder.data(given.at("title"), arrows);
}

}  // namespace

Json program_timeline(std::string_view text) {
  const Json given = Json::parse(text, nullptr, false);
  if (!given.is_object()) throw std::invalid_argument("write an object with a title, rows and arrows");
  try {
    return made(given);
  } catch (const nlohmann::json::exception& e) {
    throw std::invalid_argument(fmt::format("it lacks a part, or has one of another kind: {}", e.what()));
  }
}

}  // namespace tinygpu::observe
