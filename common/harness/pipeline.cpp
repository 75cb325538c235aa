#include "common/harness/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "common/harness/stamps.h"
#include "common/harness/watch.h"

namespace gen5::harness {
namespace {

using Numbered = Pipeline::Numbered;
using Operation = Watched::Operation;

uint32_t number_of(size_t block, const PipelineShape& shape) {
  return uint32_t(shape.blocks_of_a_tile ? block % shape.blocks_of_a_tile : block);
}

/// Operations of one kind, `size` in a row of each CTA to a group.
std::vector<std::vector<std::vector<const Operation*>>> groups(const Watched& watched, const std::string& kind,
                                                               uint32_t size) {
  std::vector<std::vector<std::vector<const Operation*>>> out(watched.ctas.size());
  for (const Operation& o : watched.operations) {
    if (o.kind != kind) continue;
    auto& of_cta = out.at(o.cta);
    if (of_cta.empty() || of_cta.back().size() == size) of_cta.emplace_back();
    of_cta.back().push_back(&o);
  }
  return out;
}

void add_loads(Pipeline& p, const Watched& watched, const PipelineShape& shape) {
  for (const auto& of_cta : groups(watched, shape.load, shape.loads_of_a_block))
    for (size_t i = 0; i < of_cta.size(); ++i) {
      uint64_t landed = 0;
      for (const Operation* o : of_cta[i]) landed = std::max(landed, o->end);
      p.loads.push_back({number_of(i, shape), of_cta[i].front()->issued, landed});
    }
}

/// Threads copy from when the MMAs before are complete until they issue the next ones.
void add_copies(Pipeline& p, const Watched& watched, const PipelineShape& shape) {
  const auto commits = groups(watched, "tcgen05.commit", 1);
  const auto work = groups(watched, shape.work, shape.work_of_a_block);
  for (size_t cta = 0; cta < work.size(); ++cta)
    for (size_t i = 0; i < work[cta].size(); ++i)
      p.loads.push_back({number_of(i, shape), i ? commits[cta].at(i - 1).front()->end : watched.ctas[cta].begin,
                         work[cta][i].front()->issued});
}

/// A tile is stored by several warps alike: the first one of a CTA that reads Tensor Memory stands for them.
void add_outputs(Pipeline& p, const Watched& watched, const PipelineShape& shape) {
  struct Epilogue {
    int warp;
    uint32_t reads = 0;
  };
  std::map<uint32_t, Epilogue> by_cta;
  std::map<uint32_t, Numbered> open;
  for (const Operation& o : watched.operations) {
    const bool read = o.kind == "tcgen05.ld";
    if (!read && (o.kind != "cp.async.bulk.tensor store" || !by_cta.count(o.cta))) continue;
    Epilogue& e = by_cta.try_emplace(o.cta, Epilogue{o.warp}).first->second;
    if (o.warp != e.warp) continue;
    if (read && e.reads % shape.reads_of_a_tile == 0) {
      if (e.reads) p.outputs.push_back(open[o.cta]);
      open[o.cta] = {e.reads / shape.reads_of_a_tile, o.issued, o.end};
    }
    e.reads += read;
    open[o.cta].end = std::max(open[o.cta].end, read ? o.end : o.issued);
  }
  for (const auto& [cta, tile] : open) p.outputs.push_back(tile);
}

/// The stores of a warp alone, from the request until the bytes are written.
void add_stores(Pipeline& p, const Watched& watched, const PipelineShape& shape) {
  std::map<std::pair<uint32_t, int>, std::vector<Numbered>> tiles;
  std::map<std::pair<uint32_t, int>, uint32_t> count;
  for (const Operation& o : watched.operations) {
    if (o.kind != "cp.async.bulk.tensor store") continue;
    auto& mine = tiles[{o.cta, o.warp}];
    const uint32_t n = count[{o.cta, o.warp}]++;
    if (n % shape.stores_of_a_tile == 0) mine.push_back({n / shape.stores_of_a_tile, o.issued, o.end});
    mine.back().end = std::max(mine.back().end, o.end);
  }
  for (const auto& [warp, all] : tiles) p.outputs.insert(p.outputs.end(), all.begin(), all.end());
}

void add_work(Pipeline& p, const Watched& watched, const PipelineShape& shape) {
  for (const auto& of_cta : groups(watched, shape.work, shape.work_of_a_block))
    for (size_t i = 0; i < of_cta.size(); ++i)
      p.work.push_back(
          {number_of(i, shape), of_cta[i].front()->begin, of_cta[i].back()->begin + of_cta[i].back()->busy});
}

void add_threads_work(Pipeline& p, const Watched& watched, const PipelineShape& shape) {
  for (uint32_t cta = 0; cta < watched.ctas.size(); ++cta) {
    const auto mine = [&](const std::vector<Watched::Signal>& all) {
      std::vector<uint64_t> times;
      for (const Watched::Signal& s : all)
        if (s.cta == cta && s.warp == shape.worker) times.push_back(s.at);
      return times;
    };
    const std::vector<uint64_t> begins = mine(watched.waited), ends = mine(watched.arrived);
    for (size_t i = 0; i < begins.size(); ++i) {
      // The last arrival before the next block begins.
      uint64_t end = begins[i];
      for (const uint64_t t : ends)
        if (t >= begins[i] && (i + 1 == begins.size() || t <= begins[i + 1])) end = std::max(end, t);
      p.work.push_back({number_of(i, shape), begins[i], end});
    }
  }
}

/// One CTA's stamps.
struct CtaStamps {
  const uint64_t* words;
  std::optional<uint64_t> at(Moment moment, size_t i) const {
    if (i >= kStampsOfAMoment) return std::nullopt;
    const uint64_t t = words[1 + size_t(moment) * kStampsOfAMoment + i];
    return t ? std::optional(t) : std::nullopt;
  }
};

void add_stamps(Pipeline& p, const CtaStamps& cta, const PipelineShape& shape) {
  uint64_t before = 0;
  for (size_t i = 0; const auto landed = cta.at(Moment::landed, i); ++i) {
    const uint32_t number = number_of(i, shape);
    p.loads.push_back({number, cta.at(Moment::asked, i).value_or(*landed), *landed});
    // Its end was seen by who waited for it; else by the thread that used its stage again; of the last blocks of a
    // kernel only the tile's end is known, so that one follows the issue of the next.
    const size_t tile = shape.blocks_of_a_tile ? i / shape.blocks_of_a_tile : 0;
    auto end = cta.at(Moment::done, i);
    if (!end) end = cta.at(Moment::asked, i + shape.stages);
    if (!end && shape.blocks_of_a_tile && (i + 1) % shape.blocks_of_a_tile) end = cta.at(Moment::landed, i + 1);
    if (!end) end = cta.at(Moment::ready, tile);
    const uint64_t begin = std::max(before, *landed);
    p.work.push_back({number, begin, std::max(begin, end.value_or(begin))});
    before = p.work.back().end;
  }
  for (size_t i = 0; const auto ready = cta.at(Moment::ready, i); ++i)
    p.outputs.push_back({uint32_t(i), *ready, std::max(*ready, cta.at(Moment::stored, i).value_or(*ready))});
}

}  // namespace

Pipeline pipeline_of(const Watched& watched, const PipelineShape& shape) {
  Pipeline p;
  if (shape.loads_of_a_block)
    add_loads(p, watched, shape);
  else
    add_copies(p, watched, shape);
  if (shape.worker < 0)
    add_work(p, watched, shape);
  else
    add_threads_work(p, watched, shape);
  if (shape.stores_of_a_tile)
    add_stores(p, watched, shape);
  else
    add_outputs(p, watched, shape);
  return p;
}

Pipeline pipeline_of(const std::vector<uint64_t>& stamps, const PipelineShape& shape) {
  Pipeline p;
  p.stamped = true;
  for (size_t at = 0; at + kStampsOfACta <= stamps.size(); at += kStampsOfACta)
    if (stamps[at] && stamps[at] == stamps[0]) add_stamps(p, {&stamps[at]}, shape);
  return p;
}

Picture picture_of(const Pipeline& pipeline, const std::string& title, const PipelineNames& names) {
  Picture picture{title, {}};
  const auto lane = [&](const std::string& name, const std::vector<Numbered>& from, bool moments) {
    if (name.empty()) return;
    Lane l{name, {}};
    for (const Numbered& n : from) l.spans.push_back({n.begin, moments ? n.begin : n.end, digit(n.number)});
    picture.lanes.push_back(std::move(l));
  };
  lane(names.asks, pipeline.loads, true);
  lane(names.loads, pipeline.loads, false);
  lane(names.work, pipeline.work, false);
  lane(names.outputs, pipeline.outputs, false);
  return picture;
}

std::string legend(const Pipeline& pipeline, const PipelineNames& names, const std::string& blocks) {
  std::string text = fmt::format(
      "How to read it: time runs to the right, in SM cycles, on one SM. A digit names one of the {} by the last "
      "digit of its number.",
      blocks);
  if (!names.asks.empty()) text += fmt::format(" {}: the moment in which it is asked for.", names.asks);
  if (!names.loads.empty())
    text += fmt::format(" {}: it is on its way{}; several at a time stand in several rows.", names.loads,
                        pipeline.stamped ? ", or lies there until somebody has seen that it does" : "");
  if (!names.work.empty()) text += fmt::format(" {}: busy with it.", names.work);
  if (!names.outputs.empty()) text += fmt::format(" {}: stores the tile of that number.", names.outputs);
  if (pipeline.stamped)
    text += " These times are stamps of the kernel's own threads: what nobody waits for is drawn up to the next stamp.";
  return text;
}

}  // namespace gen5::harness
