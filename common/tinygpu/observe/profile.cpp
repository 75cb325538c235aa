#include "common/tinygpu/observe/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/chip/launch_activity.h"
#include "common/tinygpu/observe/verdict.h"

namespace tinygpu::observe {
namespace {

constexpr size_t kLinesShown = 16, kWaitsShown = 5;

nlohmann::ordered_json json_of(const MemoryCost& m) {
  nlohmann::ordered_json j = {
      {"shared_bytes", m.shared_bytes}, {"l2_bytes", m.l2_bytes}, {"device_bytes", m.device_bytes}};
  if (m.passes) j.update({{"bank_passes", m.passes}, {"bank_passes_without_conflicts", m.ideal}});
  return j;
}

double share(uint64_t part, uint64_t whole) { return whole ? 100.0 * double(part) / double(whole) : 0; }

template <class Map>
auto by_weight(const Map& m) {
  std::vector<std::pair<typename Map::key_type, uint64_t>> out(m.begin(), m.end());
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return out;
}

}  // namespace

void MemoryCost::add(const MemoryCost& other) {
  shared_bytes += other.shared_bytes;
  l2_bytes += other.l2_bytes;
  device_bytes += other.device_bytes;
  passes += other.passes;
  ideal += other.ideal;
}

void IssueCost::add(const IssueCost& other) {
  issued += other.issued;
  operands += other.operands;
  port += other.port;
}

uint64_t LineCost::waited() const {
  return std::accumulate(waits.begin(), waits.end(), operands + port,
                         [](uint64_t sum, const auto& w) { return sum + w.second; });
}

void RoleCost::add(const RoleCost& other) {
  IssueCost::add(other);
  warps += other.warps;
  lived += other.lived;
  for (const auto& [wait, cycles] : other.waits) waits[wait] += cycles;
}

Profile::Profile() : Profile(std::make_shared<std::vector<KernelProfile>>(), std::make_shared<std::string>()) {}
Profile::Profile(std::shared_ptr<std::vector<KernelProfile>> kernels, std::shared_ptr<std::string> launches_name)
    : Observer(operations | synchronisation | waits | instructions | traffic),
      kernels_(std::move(kernels)),
      launches_name_(std::move(launches_name)) {}
Profile::~Profile() = default;

void Profile::on_launch(const Launch& launch) {
  parts_.clear(launch);
  mbarriers_.clear();
  idle_.on_launch(launch);
}

void Profile::on_cta(const Cta& cta, bool starts, uint64_t time) {
  idle_.on_cta(cta, starts, time);
  Part& part = parts_.of(cta);
  if (starts) {
    CtaCost& c = part.ctas[cta.key];
    c.start = time;
    c.sm = cta.sm.index;
    c.warps.resize(cta.warps.size());
    ++part.started;
    const uint32_t now = ++part.resident[c.sm];
    part.most_resident[c.sm] = std::max(part.most_resident[c.sm], now);
    return;
  }
  --part.resident[cta.sm.index];
  fold(part, part.ctas[cta.key], time, cta.cluster.partition.launch);
  part.ctas.erase(cta.key);
}

void Profile::fold(Part& part, const CtaCost& cta, uint64_t end, const Launch& launch) {
  for (const WarpCost& warp : cta.warps) {
    const std::string name = warp.role.name();
    RoleCost& role = part.roles[name.empty() ? "others" : name];
    ++role.warps;
    role.lived += end - std::min(end, cta.start);
    role.IssueCost::add(warp);
    for (const WaitCost& w : warp.waits)
      role.waits[{w.what, place_of(where_at(launch, *w.function, *w.op))}] += w.cycles;
  }
}

void Profile::on_issue(const AsyncOperation& o) {
  idle_.on_issue(o);
  if (WarpCost* warp = parts_.of(o).warp(o.who.cta, o.who.warp)) warp->role.add(o.kind);
}

void Profile::on_complete(const AsyncOperation& o) {
  idle_.on_complete(o);
  using Kind = AsyncOperation::Kind;
  Part& part = parts_.of(o);
  switch (o.kind) {
    case Kind::mma:
    case Kind::wgmma: part.tensor_core_busy += o.busy; break;
    case Kind::tensor_load:
    case Kind::bulk_load:
      part.tma_busy += o.busy;
      part.copied_in += o.bytes;
      break;
    case Kind::tensor_store:
    case Kind::bulk_store:
      part.tma_busy += o.busy;
      part.copied_out += o.bytes;
      break;
    default: break;
  }
}

void Profile::on_sync(const Sync& s) { idle_.on_sync(s); }

Profile::SiteCost& Profile::Part::site(const Function& function, const Op& op) {
  if (function.index >= functions.size()) functions.resize(function.index + 1);
  FunctionCost& f = functions[function.index];
  if (!f.function) {
    f.function = &function;
    f.sites.resize(function.ops.size());
  }
  SiteCost& site = f.sites[size_t(&op - function.ops.data())];
  site.seen = true;
  return site;
}

Profile::WarpCost* Profile::Part::warp(const CtaKey& cta, int warp) {
  const auto it = ctas.find(cta);
  return it == ctas.end() ? nullptr : &it->second.warps[size_t(warp)];
}

void Profile::on_wait(const Wait& w) {
  idle_.on_wait(w, mbarriers_);
  Part& part = parts_.of(w.warp.cta());
  const BlockReason& reason = w.group.reason;
  const auto add = [&](std::vector<WaitCost>& waits) {
    auto it = std::ranges::find_if(
        waits, [&](const WaitCost& other) { return other.op == &w.op && same_name(other.reason, reason); });
    if (it == waits.end()) it = waits.insert(it, {w.group.function, &w.op, reason, 0, name_of(reason, mbarriers_)});
    it->cycles += w.end - w.begin;
  };
  add(part.site(*w.group.function, w.op).waits);
  if (WarpCost* warp = part.warp(w.warp.cta().key, int(w.warp.index()))) add(warp->waits);
}

void Profile::on_instruction(const Executed& e) {
  Part& part = parts_.of(e.warp.cta());
  SiteCost& site = part.site(e.function, e.op);
  site.executions += !e.again;
  const IssueCost cost{e.done - e.issued, e.operands - e.ready, e.issued - e.operands};
  site.add(cost);
  // The exit of a CTA's last thread comes when the CTA is gone.
  if (WarpCost* warp = part.warp(e.warp.cta().key, int(e.warp.index()))) warp->add(cost);
}

void Profile::on_traffic(const MemoryTraffic& t) {
  parts_.of(t.partition)
      .site(*t.who.function, *t.who.op)
      .memory.add({t.shared_bytes, t.l2_bytes, uint64_t(L2Cache::kLine) * t.missed, t.passes, t.ideal});
}

std::string Profile::new_label(const std::string& kernel) const {
  const std::string label = launch_label(*launches_name_, kernel);
  const auto known = [&](const std::string& l) { return std::ranges::count(*kernels_, l, &KernelProfile::label) > 0; };
  if (!known(label)) return label;
  size_t n = 2;
  while (known(fmt::format("{} ({})", label, n))) ++n;
  return fmt::format("{} ({})", label, n);
}

void Profile::on_end(const Launch& launch, const LaunchStats* stats) {
  const std::string name = readable_name(launch.config.kernel->name);
  auto it = std::find_if(kernels_->begin(), kernels_->end(), [&](const KernelProfile& k) { return k.name == name; });
  if (it == kernels_->end()) {
    it = kernels_->emplace(kernels_->end());
    it->name = name;
    it->label = new_label(launch.config.kernel->name);
  }
  KernelProfile& k = *it;
  ++k.launches;
  uint32_t sms = 0;
  const LaunchConfig& config = launch.config;
  const Occupancy fit =
      occupancy(launch.gpu.spec, *config.kernel, uint32_t(config.block.count()), config.dynamic_shared);
  k.fits = fit.blocks_per_sm;
  k.fits_limit = fit.limit;
  const double at_a_time = double(fit.blocks_per_sm) * launch.gpu.spec.sms;
  if (at_a_time > 0) k.waves = std::max(k.waves, double(config.grid.count()) / at_a_time);
  for (const Part& part : parts_) {
    for (const FunctionCost& f : part.functions)
      for (size_t i = 0; i < f.sites.size(); ++i) {
        const SiteCost& site = f.sites[i];
        if (!site.seen) continue;
        const Where where = where_at(launch, *f.function, f.function->ops[i]);
        LineCost& line = k.lines[place_of(where)];
        line.executions += site.executions;
        line.add(site);
        for (const WaitCost& w : site.waits) line.waits[w.what] += w.cycles;
        line.memory.add(site.memory);
        line.file = where.cuda_file;
        line.line = where.cuda_line ? where.cuda_line : where.ptx_line;
        if (!where.cuda_line) line.ptx = where.ptx_text;
        k.memory.add(site.memory);
      }
    for (const auto& [name, role] : part.roles) k.roles[name].add(role);
    sms += uint32_t(part.most_resident.size());
    for (const auto& [sm, most] : part.most_resident) k.resident = std::max(k.resident, most);
    k.ctas += part.started;
    k.tensor_core_busy += part.tensor_core_busy;
    k.tma_busy += part.tma_busy;
    k.copied_in += part.copied_in;
    k.copied_out += part.copied_out;
  }
  k.sms = std::max(k.sms, sms);
  k.chip_sms = uint32_t(launch.gpu.spec.sms);
  k.l2_peak = launch.gpu.timing.memory.l2_bytes;
  k.device_peak = launch.gpu.timing.memory.dram_bytes;
  if (!stats) return;
  k.cycles += stats->cycles;
  k.instructions += stats->instructions;
  k.sm_cycles += stats->cycles * sms;
  const PowerTiming power(launch.gpu.spec);
  k.cold += power.cold(activity_of(*stats));
  k.sustained += power.sustained(activity_of(*stats));
  if (stats->cycles > k.longest) k.band = error_band_of(*stats, launch.gpu.spec).mean;
  k.longest = std::max(k.longest, stats->cycles);
  k.tensor_core.add(idle_.sum(launch, stats->cycles));
}

std::string KernelProfile::render() const {
  std::string out = fmt::format("profile: {}\n", label);
  out += verdict_of(*this).render("  ");
  out += fmt::format("  {} cycles, {} launch{}, {} CTAs on {} SMs ({} at a time on one), {} warp instructions\n",
                     cycles, launches, launches == 1 ? "" : "es", ctas, sms, resident, instructions);
  out += fmt::format(
      "  tensor core busy {:.1f} %, TMA busy {:.1f} % of the SMs that had a CTA; TMA moved {} bytes in, {} out\n",
      share(tensor_core_busy, sm_cycles), share(tma_busy, sm_cycles), copied_in, copied_out);
  out += fmt::format("  {} CTA{} an SM fit{} ({}), {:.2f} wave{}\n", fits, fits == 1 ? "" : "s", fits == 1 ? "s" : "",
                     fits_limit, waves, waves == 1 ? "" : "s");
  out += fmt::format("  bytes: shared memory {}, L2 {}, device memory {} (lines read that were not in L2)\n",
                     memory.shared_bytes, memory.l2_bytes, memory.device_bytes);
  if (tensor_core.all) {
    out += fmt::format("  tensor cores that got an MMA: busy {:.1f} %", share(tensor_core.busy, tensor_core.all));
    for (const auto& [cause, cycles] : by_weight(tensor_core.idle))
      out += fmt::format(", idle for {} {:.1f} %", name_of(cause), share(cycles, tensor_core.all));
    out += "\n";
  }
  out += "\n  role                        warps   issuing  operands  port   waiting for (share of its warps' time)\n";
  for (const auto& [role, c] : roles) {
    out += fmt::format("  {:<26} {:>6} {:>7.1f} % {:>6.1f} % {:>4.1f} %", role, c.warps, share(c.issued, c.lived),
                       share(c.operands, c.lived), share(c.port, c.lived));
    const auto waits = by_weight(c.waits);
    for (size_t i = 0; i < std::min(waits.size(), kWaitsShown); ++i)
      out += fmt::format("{}{:>5.1f} % {} at {}", i ? "\n" + std::string(61, ' ') : "  ",
                         share(waits[i].second, c.lived), waits[i].first.what, waits[i].first.place);
    out += "\n";
  }
  std::vector<std::pair<std::string, const LineCost*>> order;
  uint64_t all = 0;
  for (const auto& [place, cost] : lines) {
    order.emplace_back(place, &cost);
    all += cost.issued + cost.waited();
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second->issued + a.second->waited() > b.second->issued + b.second->waited();
  });
  out += fmt::format("\n  {:<28} {:>7} {:>13} {:>13} {:>13}  {}\n", "line", "share", "instructions", "issuing",
                     "waiting", "mostly for");
  for (size_t i = 0; i < std::min(order.size(), kLinesShown); ++i) {
    const auto& [place, c] = order[i];
    std::map<std::string, uint64_t> why = c->waits;
    why["operands"] += c->operands;
    why["the issue port"] += c->port;
    const auto worst = by_weight(why).front();
    out += fmt::format("  {:<28} {:>5.1f} % {:>13} {:>13} {:>13}  {}\n", place, share(c->issued + c->waited(), all),
                       c->executions, c->issued, c->waited(), worst.second ? worst.first : "");
  }
  if (order.size() > kLinesShown) out += fmt::format("  … and {} more lines\n", order.size() - kLinesShown);

  std::map<std::string, uint64_t> conflicts;
  for (const auto& [place, c] : lines)
    if (c.memory.conflicts()) conflicts[place] = c.memory.conflicts();
  if (conflicts.empty()) return out;
  out += fmt::format("\n  bank conflicts: {} passes of {}\n  {:<28} {:>13} {:>13} {:>13}\n", memory.conflicts(),
                     memory.passes, "line", "passes", "without", "conflicts");
  const auto worst = by_weight(conflicts);
  for (size_t i = 0; i < std::min(worst.size(), kLinesShown); ++i) {
    const MemoryCost& m = lines.at(worst[i].first).memory;
    out += fmt::format("  {:<28} {:>13} {:>13} {:>13}\n", worst[i].first, m.passes, m.ideal, m.conflicts());
  }
  return out;
}

nlohmann::ordered_json KernelProfile::json() const {
  nlohmann::ordered_json k = {{"kernel", name},
                              {"label", label},
                              {"launches", launches},
                              {"cycles", cycles},
                              {"instructions", instructions},
                              {"ctas", ctas},
                              {"sms", sms},
                              {"ctas_per_sm", resident},
                              {"tensor_core_busy", share(tensor_core_busy, sm_cycles) / 100},
                              {"tma_busy", share(tma_busy, sm_cycles) / 100},
                              {"tma_bytes_in", copied_in},
                              {"tma_bytes_out", copied_out},
                              {"occupancy", {{"ctas_per_sm", fits}, {"limit", fits_limit}}},
                              {"waves", waves},
                              {"seconds", {{"cold", cold.seconds}, {"sustained", sustained.seconds}}},
                              {"joules", {{"cold", cold.joules}, {"sustained", sustained.joules}}},
                              {"band", band},
                              {"memory", json_of(memory)},
                              {"verdict", verdict_of(*this).json()}};
  if (tensor_core.all) {
    k["tensor_core"]["busy"] = share(tensor_core.busy, tensor_core.all) / 100;
    for (const auto& [cause, cycles] : by_weight(tensor_core.idle))
      k["tensor_core"]["idle"].push_back({{"for", name_of(cause)}, {"share", share(cycles, tensor_core.all) / 100}});
  }
  for (const auto& [role, c] : roles) {
    nlohmann::ordered_json r = {{"role", role},        {"warps", c.warps},       {"cycles", c.lived},
                                {"issuing", c.issued}, {"operands", c.operands}, {"port", c.port}};
    for (const auto& [wait, cycles] : by_weight(c.waits))
      r["waits"].push_back({{"for", wait.what}, {"at", wait.place}, {"cycles", cycles}});
    k["roles"].push_back(std::move(r));
  }
  for (const auto& [place, c] : lines) {
    nlohmann::ordered_json l = {{"at", place},
                                {"file", c.file},
                                {"line", c.line},
                                {"ptx", c.ptx},
                                {"instructions", c.executions},
                                {"issuing", c.issued},
                                {"operands", c.operands},
                                {"port", c.port}};
    for (const auto& [what, cycles] : c.waits) l["waits"][what] = cycles;
    const MemoryCost& m = c.memory;
    if (m.shared_bytes || m.l2_bytes || m.device_bytes) l["memory"] = json_of(m);
    k["lines"].push_back(std::move(l));
  }
  return k;
}

}  // namespace tinygpu::observe
