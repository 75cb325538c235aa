#include "common/tinygpu/observe/report/timeline_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_map>

namespace tinygpu::observe {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(Track::Kind kind) {
  using Kind = Track::Kind;
  switch (kind) {
    case Kind::kernel: return "kernel";
    case Kind::tma: return "tma";
    case Kind::tensor_core: return "tensor_core";
    case Kind::commit: return "commit";
    case Kind::tmem: return "tmem";
    case Kind::other: return "other";
    case Kind::warp: return "warp";
    case Kind::mbarrier: return "mbarrier";
  }
  return "";
}

/// Rows from top to bottom: an SM's warps, then its units, then the phases of its mbarriers.
auto order_of(const Track& track, uint32_t row) {
  return std::tuple(track.sm, track.kind != Track::Kind::warp, track.kind, track.slot, track.index, row);
}

/// Different texts, each with a number.
class Words {
 public:
  int64_t number(const std::string& word) {
    const auto [it, added] = numbers_.try_emplace(word, int64_t(words_.size()));
    if (added) words_.push_back(word);
    return it->second;
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::unordered_map<std::string, int64_t> numbers_;
  std::vector<std::string> words_;
};

Json column(const std::vector<int64_t>& values) {
  if (!values.empty() && std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; }))
    return values[0];
  return values;
}

struct Row {
  const Track* track;
  uint32_t row;
  std::vector<size_t> spans;  // places in the timeline's
};

/// Spans that begin earlier are shown: all of them, or as many as there may be.
uint64_t shown_until(const KernelTimeline& t, uint64_t most) {
  if (t.spans.size() <= most) return ~0ull;
  std::vector<uint64_t> begins;
  for (const Span& s : t.spans) begins.push_back(s.begin);
  std::nth_element(begins.begin(), begins.begin() + int64_t(most), begins.end());
  return begins[most];
}

}  // namespace

Json timeline_json(const KernelTimeline& t, uint64_t most) {
  const uint64_t until = shown_until(t, most);
  uint64_t left_out = t.left_out;
  std::vector<Row> rows;
  std::map<std::pair<Track, uint32_t>, size_t> row_numbers;
  for (size_t i = 0; i < t.spans.size(); ++i) {
    const Span& s = t.spans[i];
    if (s.begin >= until) {
      ++left_out;
      continue;
    }
    const auto [it, added] = row_numbers.try_emplace({s.track, s.row}, rows.size());
    if (added) rows.push_back({&s.track, s.row, {}});
    rows[it->second].spans.push_back(i);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return order_of(*a.track, a.row) < order_of(*b.track, b.row); });

  Words names, threads;
  // Looking an instruction up takes longer than comparing its address.
  std::unordered_map<const void*, int64_t> place_numbers;
  Json places = Json::array(), rows_json = Json::array();
  std::vector<int64_t> numbers(t.spans.size(), -1);  // of the page's spans
  int64_t count = 0;
  for (const Row& r : rows) {
    std::vector<int64_t> begin, length, name, place, thread, bytes, queued;
    uint64_t before = t.begin;
    for (const size_t i : r.spans) {
      const Span& s = t.spans[i];
      numbers[i] = count++;
      // What was there before the launch counts from its begin on.
      const uint64_t start = std::max(s.begin, before);
      begin.push_back(int64_t(start - before));
      before = start;
      length.push_back(int64_t(std::max(s.end, start) - start));
      name.push_back(names.number(s.name));
      bytes.push_back(int64_t(s.bytes));
      queued.push_back(s.operation ? int64_t(start) - int64_t(s.issued) : -1);
      if (!s.who.launch) {
        place.push_back(-1);
        thread.push_back(-1);
        continue;
      }
      const Where where = s.who.where();
      const auto [it, added] = place_numbers.try_emplace(s.who.op, int64_t(places.size()));
      if (added) places.push_back({{"at", place_of(where)}, {"ptx", where.ptx_text}});
      place.push_back(it->second);
      thread.push_back(threads.number(thread_of(where, s.who.lane)));
    }
    const std::string text = name_of(*r.track, t.roles, t.mbarriers);
    rows_json.push_back({{"sm", r.track->sm},
                         {"kind", name_of(r.track->kind)},
                         {"name", text + (r.row ? " (" + std::to_string(r.row + 1) + ")" : "")},
                         {"slot", r.track->slot},
                         {"row", r.row},
                         {"count", r.spans.size()},
                         {"begin", column(begin)},
                         {"length", column(length)},
                         {"word", column(name)},
                         {"place", column(place)},
                         {"thread", column(thread)},
                         {"bytes", column(bytes)},
                         {"queued", column(queued)}});
  }
  std::vector<int64_t> from, to;
  for (const auto& arrow : t.arrows)
    if (numbers[arrow.from] >= 0 && numbers[arrow.to] >= 0) {
      from.push_back(numbers[arrow.from]);
      to.push_back(numbers[arrow.to]);
    }
  Json stays = Json::array();
  for (const auto& s : t.stays)
    stays.push_back({s.sm, s.slot, s.cta.id.x, s.cta.id.y, s.cta.id.z, s.begin - t.begin, s.end - t.begin});
  Json out = {{"cycles", t.end - t.begin}, {"left_out", left_out}};
  if (until != ~0ull) out["shown_until"] = until - t.begin;
  out.update({{"words", names.words()},
              {"threads", threads.words()},
              {"places", std::move(places)},
              {"rows", std::move(rows_json)},
              {"arrows", {{"from", from}, {"to", to}}},
              {"ctas", std::move(stays)}});
  return out;
}

}  // namespace tinygpu::observe
