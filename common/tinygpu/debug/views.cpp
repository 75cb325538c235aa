#include "common/tinygpu/debug/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/tinygpu/api/machine.h"
#include "common/tinygpu/base/hex.h"
#include "common/tinygpu/debug/fragments.h"
#include "common/tinygpu/debug/registers.h"
#include "common/tinygpu/debug/variable_bytes.h"
#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/chip/wait_graph.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu::debug {
namespace {

Json json_of(const Dim3& d) { return {d.x, d.y, d.z}; }

Json error(const std::string& sentence) { return {{"error", sentence}}; }

WarpName name_of(const Warp& w) { return {w.cta().key.grid, w.cta().key.id, w.index()}; }

}  // namespace

Json json_of(const Where& w) {
  Json out = {{"kernel", w.kernel}, {"ptx_line", w.ptx_line}, {"ptx", w.ptx_text}};
  if (w.cta[0] >= 0) out["cta"] = {w.cta[0], w.cta[1], w.cta[2]};
  if (w.warp >= 0) out["warp"] = w.warp;
  if (w.cycle >= 0) out["cycle"] = w.cycle;
  if (!w.operation.empty()) out["operation"] = w.operation;
  out["file"] = w.inlined.empty() ? w.cuda_file : w.inlined.front().file;
  out["line"] = w.inlined.empty() ? w.cuda_line : w.inlined.front().line;
  for (size_t k = 0; k < w.inlined.size(); ++k) {
    const bool last = k + 1 == w.inlined.size();
    out["callers"].push_back({{"function", w.inlined[k].function},
                              {"file", last ? w.cuda_file : w.inlined[k + 1].file},
                              {"line", last ? w.cuda_line : w.inlined[k + 1].line}});
  }
  return out;
}

const Warp* Views::find(const WarpName& name) const {
  for (const Launch* launch : alive_.launches)
    for (const auto& partition : launch->partitions())
      for (const auto& cluster : partition->clusters)
        for (const auto& cta : cluster->ctas)
          if (cta->key == CtaKey{name.grid, name.cta} && name.warp < cta->warps.size() &&
              !cta->warps[name.warp]->done())
            return cta->warps[name.warp].get();
  return nullptr;
}

const Group* Views::group_of(const Warp& w, int lane) {
  const Group* first = nullptr;
  for (const Group& g : w.groups()) {
    if (!g.mask || !g.function) continue;
    if (lane >= 0 && g.mask >> lane & 1) return &g;
    if (!first) first = &g;
  }
  return first;
}

Json Views::focus(const Warp& w, const Group& g) {
  Json out = {{"name", name_of(w)}, {"lanes", g.mask}, {"sm", w.sm().index}, {"depth", g.stack.size()}};
  if (g.function && g.pc < g.function->ops.size()) {
    Where where = w.where_of(g.function->ops[g.pc], *g.function);
    where.cycle = int64_t(w.time() - w.partition().launch.start_time);
    out["place"] = debug::json_of(where);
    const SourceLines::Op& at = lines_.of(w.partition().launch, *g.function)[g.pc];
    out["own"] = {at.own.file, at.own.line};
    out["inlined"] = at.callers.size();
  }
  if (g.state == Group::State::blocked) out["waits_for"] = api::text_of(g.reason);
  return out;
}

Json Views::view(const Json& request, const Warp* w, int lane) {
  const std::string name = request.value("view", "");
  if (name == "warps") return warps(request);
  if (name == "why") return why();
  if (!w)
    return error(alive_.launches.empty() ? "no grid is on the chip here"
                                         : "the warp in focus has ended: choose another with `warp` or `cta`");
  const Group* g = group_of(*w, lane);
  if (!g) return error("this warp has no lanes left");
  if (name == "where") return frames(*w, *g);
  if (name == "registers") return registers(request, *w, *g);
  if (name == "variables") return variable_bytes(request, *w, *g);
  if (name == "barriers") return barriers(*w);
  if (name == "inflight") return in_flight(*w);
  if (name == "tmem") return tensor_memory(request, *w);
  if (name == "shared") return shared(request, *w);
  if (name == "tile")
    return request.value("tile", "") == "fragment" ? fragment(request, *w, *g) : tile(request, *w, alive_.boxes);
  if (name == "global") return global(request, *w);
  return error(fmt::format("there is no view {}", name));
}

Json Views::frames(const Warp& w, const Group& g) {
  Json out = {{"focus", focus(w, g)}, {"frames", Json::array()}};
  const auto add = [&](size_t call, const Function& f, uint32_t pc) {
    if (pc >= f.ops.size()) return;
    Json place = debug::json_of(w.where_of(f.ops[pc], f));
    Json frame = {{"function", place.contains("callers") ? place["callers"][0]["function"] : Json(f.name)},
                  {"call", call},
                  {"in", f.name},
                  {"file", place["file"]},
                  {"line", place["line"]},
                  {"ptx_line", place["ptx_line"]},
                  {"ptx", place["ptx"]}};
    out["frames"].push_back(frame);
    const Json callers = place.value("callers", Json::array());
    for (size_t k = 0; k < callers.size(); ++k)
      out["frames"].push_back({{"function", k + 1 < callers.size() ? callers[k + 1]["function"] : Json(f.name)},
                               {"call", call},
                               {"in", f.name},
                               {"file", callers[k]["file"]},
                               {"line", callers[k]["line"]},
                               {"ptx_line", place["ptx_line"]},
                               {"ptx", place["ptx"]},
                               {"inlined", true}});
  };
  for (size_t call = 0; call <= g.stack.size(); ++call) {
    const CallPlace at = *call_of(g, call);
    add(call, *at.function, at.pc);
  }
  return out;
}

Json Views::warps(const Json& request) {
  const size_t first = request.value("first", size_t(0)), most = request.value("most", size_t(64));
  Json list = Json::array();
  size_t count = 0;
  for (const Launch* launch : alive_.launches)
    for (const auto& partition : launch->partitions())
      for (const auto& cluster : partition->clusters)
        for (const auto& cta : cluster->ctas) {
          if (cta->exited || (request.contains("cta") && request["cta"] != json_of(cta->key.id))) continue;
          for (const auto& warp : cta->warps) {
            if (warp->done()) continue;
            if (count++ < first || list.size() >= most) continue;
            for (const Group& g : warp->groups())
              if (g.mask && g.function) list.push_back(focus(*warp, g));
          }
        }
  return {{"warps", list}, {"count", count}};
}

Json Views::registers(const Json& request, const Warp& w, const Group& g) const {
  const std::string wanted = request.value("name", "");
  const auto at = call_of(g, request.value("call", size_t(0)));
  if (!at) return error("there is no such call");
  const Registers registers(w, *at);
  Json list = Json::array();
  for (const RegisterPlace& p : at->function->registers) {
    const ptx::Register& r = registers.declared(p);
    if ((wanted.empty() || r.name == wanted) && registers.holds(p))
      list.push_back({{"name", r.name},
                      {"type", std::string(ptx::name_of(r.type))},
                      {"lanes", g.mask},
                      {"values", registers.values(p)}});
  }
  if (!wanted.empty() && list.empty()) return error(registers.missing(wanted));
  return {{"registers", list}};
}

Json Views::barriers(const Warp& w) const {
  Json list = Json::array();
  for (const auto& cta : w.cluster().ctas) {
    std::map<uint32_t, MBarrier> sorted(cta->mbarriers.all().begin(), cta->mbarriers.all().end());
    for (const auto& [offset, b] : sorted)
      list.push_back({{"cta", json_of(cta->key.id)},
                      {"offset", offset},
                      {"name", mbarrier_expression(*cta, offset)},
                      {"phase", b.phase},
                      {"parity", b.phase & 1},
                      {"pending", b.pending},
                      {"expected", b.expected},
                      {"bytes", b.tx}});
    for (uint32_t k = 0; k < 16; ++k)
      if (cta->barriers[k].arrived)
        list.push_back({{"cta", json_of(cta->key.id)},
                        {"barrier", k},
                        {"arrived", cta->barriers[k].arrived},
                        {"expected", cta->barriers[k].expected}});
  }
  return {{"barriers", list}};
}

Json Views::in_flight(const Warp& w) const {
  Json list = Json::array();
  const Launch& launch = w.partition().launch;
  for (const auto& [key, o] : alive_.operations) {
    if (key.first != &launch) continue;
    const auto cycle = [&](uint64_t time) { return int64_t(time) - int64_t(launch.start_time); };
    Json entry = {{"kind", tinygpu::name_of(o->kind)},
                  {"by", debug::json_of(o->who.where())},
                  {"sm", o->sm},
                  {"bytes", o->bytes},
                  {"issued", cycle(o->issued)}};
    if (o->begin) entry["begins"] = cycle(o->begin);
    if (o->end) entry["done"] = cycle(o->end);
    for (const auto& use : o->shared_uses)
      for (const auto& r : use.ranges) {
        Json range = {{"cta", json_of(use.cta->key.id)}, {"begin", r.offset}, {"end", r.offset + r.bytes}};
        if (use.signalled)
          range["signals"] = {{"cta", json_of(use.signalled->key.id)},
                              {"offset", use.signal},
                              {"name", mbarrier_expression(*use.signalled, use.signal)}};
        entry[use.writes ? "writes_shared" : "reads_shared"].push_back(range);
      }
    for (const auto& use : o->cells)
      entry[use.writes ? "writes_tmem" : "reads_tmem"].push_back({{"lane", use.cells.lane},
                                                                  {"lanes", use.cells.lanes},
                                                                  {"column", use.cells.column},
                                                                  {"columns", use.cells.columns},
                                                                  {"what", use.what}});
    list.push_back(entry);
  }
  return {{"operations", list}};
}

Json Views::tensor_memory(const Json& request, const Warp& w) const {
  const TensorMemory* cells = w.sm().extensions.find<TensorMemory>();
  if (!cells) return error("no kernel has used this SM's Tensor Memory");
  Json allocations = Json::array();
  for (uint32_t c = 0; c < kTmemColumns;) {
    const Cta* owner = cells->owner(c);
    uint32_t end = c + kTmemUnit;
    while (end < kTmemColumns && cells->owner(end) == owner) end += kTmemUnit;
    if (owner) allocations.push_back({{"cta", json_of(owner->key.id)}, {"first", c}, {"columns", end - c}});
    c = end;
  }
  Json out = {{"sm", w.sm().index}, {"allocations", allocations}};
  if (request.value("map", false))
    for (uint32_t c = 0; c < kTmemColumns; ++c) {
      Json counts = Json::array();
      for (uint32_t p = 0; p < kTmemLanes / 32; ++p) counts.push_back(std::popcount(cells->written(c, p)));
      out["map"].push_back(counts);
    }
  if (!request.contains("column")) return out;
  const TmemRect r{request.value("lane", 0u), request.value("lanes", 8u), request.value("column", 0u),
                   request.value("columns", 8u)};
  if (r.lane >= kTmemLanes || !r.lanes || r.lanes > kTmemLanes - r.lane || r.column >= kTmemColumns || !r.columns ||
      r.columns > kTmemColumns - r.column)
    return error("Tensor Memory has lanes 0 to 127 and columns 0 to 511");
  for (uint32_t i = 0; i < r.lanes; ++i) {
    Json row = Json::array();
    for (uint32_t k = 0; k < r.columns; ++k) {
      const uint32_t lane = r.lane + i, column = r.column + k;
      const bool written = cells->written(column, lane / 32) >> (lane % 32) & 1;
      row.push_back(written ? Json(cells->cell(lane, column)) : Json(nullptr));
    }
    out["rows"].push_back(row);
  }
  out["lane"] = r.lane;
  out["column"] = r.column;
  return out;
}

Json Views::shared(const Json& request, const Warp& w) const {
  Cta* cta = &w.cta();
  if (request.contains("rank")) cta = w.cluster().cta(request["rank"]);
  if (!cta) return error("the cluster has no CTA of that rank");
  const uint64_t begin = request.value("begin", uint64_t(kSharedBase));
  if (begin >= cta->shared.size())
    return error(fmt::format("shared memory of this CTA is {} bytes: offsets from {:#x} to {:#x}",
                             cta->shared.size() - kSharedBase, kSharedBase, cta->shared.size()));
  const uint64_t size = std::min<uint64_t>(request.value("bytes", uint64_t(128)), cta->shared.size() - begin);
  return {{"begin", begin}, {"bytes", hex(cta->shared.data() + begin, size)}, {"cta", json_of(cta->key.id)}};
}

Json Views::global(const Json& request, const Warp& w) const {
  const uint64_t begin = request.value("begin", uint64_t(0)),
                 size = std::min<uint64_t>(request.value("bytes", uint64_t(128)), 1 << 20);
  const uint8_t* bytes = w.gpu().memory.translate(begin, size);
  if (!bytes) return error(fmt::format("no allocation has all of the {} bytes at {:#x}", size, begin));
  return {{"begin", begin}, {"bytes", hex(bytes, size)}};
}

Json Views::why() const {
  const WaitGraph graph({alive_.launches.begin(), alive_.launches.end()});
  Json list = Json::array();
  for (const LabelledPlace& p : graph.places(16))
    list.push_back({{"place", debug::json_of(p.where)}, {"waits", p.label}});
  return {{"waits", list}};
}

}  // namespace tinygpu::debug
