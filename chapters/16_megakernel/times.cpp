#include "chapters/16_megakernel/times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "common/harness/table.h"

namespace megakernel {
namespace {

using gen5::harness::Device;
using gen5::harness::Lane;
using gen5::harness::Picture;
using gen5::harness::Span;
using gen5::harness::with_commas;

char letter_of(Op op, bool critical) {
  constexpr char kLetters[kOps + 1] = "?naqogd", kCapitals[kOps + 1] = "?NAQOGD";
  return (critical ? kCapitals : kLetters)[uint32_t(op)];
}

unsigned long long origin_of(const std::vector<Ran>& ran) {
  return std::min_element(ran.begin(), ran.end(), [](const Ran& a, const Ran& b) { return a.loads < b.loads; })->loads;
}

/// The task before each on its CTA; its own number where there is none.
std::vector<uint32_t> neighbours(const std::vector<Ran>& ran) {
  std::vector<uint32_t> by_time(ran.size()), last(ran.size());
  for (uint32_t t = 0; t < ran.size(); ++t) by_time[t] = t;
  std::sort(by_time.begin(), by_time.end(), [&](uint32_t a, uint32_t b) { return ran[a].end < ran[b].end; });
  std::map<uint32_t, uint32_t> of_cta;
  for (const uint32_t t : by_time) {
    const auto [at, fresh] = of_cta.emplace(ran[t].cta, t);
    last[t] = fresh ? t : at->second;
    at->second = t;
  }
  return last;
}

}  // namespace

CriticalPath critical_path(const Plan& plan, const std::vector<Ran>& ran, const Device& device) {
  const std::vector<uint32_t> neighbour = neighbours(ran);
  const unsigned long long origin = origin_of(ran);
  const auto cycles = [&](unsigned long long from, unsigned long long to) {
    return to > from ? device.cycles(double(to - from) / 1000) : 0;
  };
  CriticalPath p;
  auto at = uint32_t(
      std::max_element(ran.begin(), ran.end(), [](const Ran& a, const Ran& b) { return a.end < b.end; }) - ran.begin());
  p.all = cycles(origin, ran[at].end);
  for (;;) {
    p.tasks.push_back(at);
    const Ran& r = ran[at];
    const auto& before = plan.before[at];
    // Whom it waited for: the CTA's task before, or the last of those that make its inputs. A task that takes these
    // page by page begins before all are there.
    const uint32_t previous = neighbour[at];
    unsigned long long there = r.inputs;
    for (const uint32_t maker : before) there = std::max(there, ran[maker].end);
    const bool queued = previous != at && ran[previous].end > there;
    const unsigned long long begin = queued ? ran[previous].end : there;
    const unsigned long long summed = std::max(begin, r.summed);
    if (r.summed) {
      p.pages += cycles(begin, summed);
      p.sums += cycles(summed, r.end);
    } else {
      p.sums += cycles(begin, r.end);
    }
    if (queued) {
      at = previous;
      continue;
    }
    if (before.empty()) {
      p.begin = cycles(origin, r.inputs);
      break;
    }
    const uint32_t maker = *std::max_element(before.begin(), before.end(),
                                             [&](uint32_t a, uint32_t b) { return ran[a].end < ran[b].end; });
    p.hand_over += cycles(ran[maker].end, there);
    ++p.hops;
    at = maker;
  }
  std::reverse(p.tasks.begin(), p.tasks.end());
  return p;
}

std::string CriticalPath::sentence() const {
  const auto share = [&](double part) { return 100 * part / all; };
  return fmt::format(
      "of {} cycles {:.0f} % are hand-over from a task to one that waits for it ({} times, {} cycles each), {:.0f} % "
      "pages that are waited for and multiplied, {:.0f} % sums, stores and norms, {:.0f} % the beginning.",
      with_commas(uint64_t(all)), share(hand_over), hops, with_commas(uint64_t(hops ? hand_over / hops : 0)),
      share(pages), share(sums), share(begin));
}

std::string CriticalPath::limit() const {
  const double most = std::max({hand_over, pages, sums});
  return most == hand_over ? "hand-over" : most == pages ? "pages" : "sums";
}

gen5::harness::Table phases(const Plan& plan, const std::vector<Ran>& ran, const CriticalPath& path,
                            const Device& device) {
  struct Mean {
    double sum = 0;
    uint32_t count = 0;
    void add(unsigned long long from, unsigned long long to) {
      sum += to > from ? double(to - from) : 0;
      ++count;
    }
  };
  enum { hand_over, first, products, store, raise, parts };
  std::map<Op, std::array<Mean, parts>> of_op;
  std::map<Op, uint32_t> tasks;
  for (size_t i = 0; i < path.tasks.size(); ++i) {
    const Ran& r = ran[path.tasks[i]];
    const Op op = plan.tasks[path.tasks[i]].op;
    auto& mean = of_op[op];
    ++tasks[op];
    // Behind the task before it on its CTA, or handed over by one that it needed.
    const unsigned long long before = i ? ran[path.tasks[i - 1]].end : r.inputs;
    if (before <= r.inputs) mean[hand_over].add(before, r.inputs);
    const unsigned long long begin = std::max(before, r.inputs);
    if (r.first) mean[first].add(begin, r.first);
    if (r.summed) mean[products].add(std::max(begin, r.first), r.summed);
    mean[store].add(r.summed ? r.summed : begin, r.stored);
    mean[raise].add(r.stored, r.end);
  }
  gen5::harness::Table t({"on the critical path", "tasks", "handed over", "hand-over", "to first page",
                          "to last product", "to stored", "to raised"});
  constexpr const char* kNames[kOps] = {"", "norm", "attend", "qkv", "out", "gate_up", "down"};
  for (const auto& [op, mean] : of_op) {
    std::vector<std::string> row{kNames[uint32_t(op)], std::to_string(tasks[op]),
                                 std::to_string(mean[hand_over].count)};
    for (const Mean& m : mean)
      row.push_back(m.count ? with_commas(uint64_t(device.cycles(m.sum / m.count / 1000))) : "-");
    t.row(row);
  }
  return t;
}

double busy_share(const std::vector<Ran>& ran, uint32_t sms) {
  const unsigned long long origin = origin_of(ran);
  std::map<uint32_t, std::vector<std::pair<unsigned long long, unsigned long long>>> of_sm;
  unsigned long long end = origin, busy = 0;
  for (const Ran& r : ran) {
    of_sm[r.sm].push_back({r.inputs, r.end});
    end = std::max(end, r.end);
  }
  for (auto& [sm, spans] : of_sm) {
    std::sort(spans.begin(), spans.end());
    unsigned long long at = origin;
    for (const auto& [from, to] : spans) {
      if (to > std::max(at, from)) busy += to - std::max(at, from);
      at = std::max(at, to);
    }
  }
  return double(busy) / (double(end - origin) * sms);
}

Picture picture_of(const std::string& title, const Plan& plan, const std::vector<Ran>& ran, const CriticalPath& path,
                   const Device& device, uint32_t lanes) {
  Picture p{title, {}};
  const unsigned long long origin = origin_of(ran);
  const auto at = [&](unsigned long long t) {
    return t > origin ? uint64_t(device.cycles(double(t - origin) / 1000)) : 0;
  };
  std::vector<bool> critical(ran.size());
  for (const uint32_t t : path.tasks) critical[t] = true;
  // SMs that have a part of the critical path, and others from end to end of the chip.
  std::set<uint32_t> wanted, all;
  for (const uint32_t t : path.tasks)
    if (wanted.size() < lanes) wanted.insert(ran[t].sm);
  for (const Ran& r : ran) all.insert(r.sm);
  const std::vector<uint32_t> sms(all.begin(), all.end());
  for (size_t i = 0; i < lanes && wanted.size() < lanes; ++i) wanted.insert(sms[i * (sms.size() - 1) / lanes]);
  const std::vector<uint32_t> neighbour = neighbours(ran);
  for (const uint32_t sm : wanted) {
    Lane lane{fmt::format("SM {}", sm), {}};
    for (uint32_t t = 0; t < ran.size(); ++t) {
      if (ran[t].sm != sm) continue;
      const unsigned long long free = neighbour[t] == t ? 0 : ran[neighbour[t]].end;
      const uint64_t from = std::max(at(ran[t].loads), at(free)), begin = std::max(at(ran[t].inputs), at(free));
      if (begin > from) lane.spans.push_back({from, begin, '.'});
      lane.spans.push_back({begin, std::max(begin, at(ran[t].end)), letter_of(plan.tasks[t].op, critical[t])});
    }
    p.lanes.push_back(lane);
  }
  return p;
}

uint32_t loaded_early(const Schedule& dealt, const std::vector<Ran>& ran) {
  uint32_t early = 0;
  for (size_t c = 0; c + 1 < dealt.first.size(); ++c)
    for (uint32_t i = dealt.first[c]; i + 1 < dealt.first[c + 1]; ++i) {
      const Task &task = dealt.tasks[i], &next = dealt.tasks[i + 1];
      early += task.quiet && ran[next.number].loads < ran[task.number].end;
    }
  return early;
}

}  // namespace megakernel
