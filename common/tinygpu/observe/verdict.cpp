#include "common/tinygpu/observe/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "common/tinygpu/observe/profile.h"

namespace tinygpu::observe {
namespace {

/// A unit that works so large a share of the time sets the pace.
constexpr double kSaturated = 0.75;
/// A cause of waiting stands out if it has at least this share of the time, and so many times that of the next one.
constexpr double kLeast = 0.25, kApart = 1.25;
/// Tensor cores that worked less than this share of the time are no limit: something kept them waiting.
constexpr double kBusy = 0.5;
/// A chip is half empty where fewer of its SMs had a CTA.
constexpr double kFilled = 0.5;
/// So many of the passes are conflicts where they are named as the cause of a busy shared memory.
constexpr double kConflicts = 0.25;

double fraction(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

struct Candidate {
  std::string limit, why, advice;
  double share = 0;
  std::optional<IdleCause> cause = {};
};

/// Units whose work is counted, by the share of the time in which they worked.
std::vector<Candidate> units(const KernelProfile& k) {
  std::vector<Candidate> out;
  const double cycles = double(k.cycles), sm_cycles = double(k.sm_cycles);
  const auto add = [&](const char* limit, double part, const std::string& why, const char* advice) {
    out.push_back({limit, why, advice, part});
  };
  if (k.tensor_core.all) {
    const double busy = fraction(double(k.tensor_core.busy), double(k.tensor_core.all));
    add("tensor cores", busy, fmt::format("The tensor cores worked {} of the time.", percent(busy)),
        "A kernel at this pace needs fewer or cheaper operations: a narrower type, wider tiles, or a pair of CTAs.");
  }
  const double l2 = fraction(double(k.memory.l2_bytes), cycles * k.l2_peak);
  add("L2", l2, fmt::format("L2 moved {} of the bytes that it can move in this time.", percent(l2)),
      "Move fewer bytes through L2: larger tiles, multicast, or data that stays in shared memory.");
  const double device = fraction(double(k.memory.device_bytes), cycles * k.device_peak);
  add("device memory", device,
      fmt::format("Device memory gave {} of the bytes that it can give in this time.", percent(device)),
      "Read fewer bytes from device memory: an order of tiles that finds them in L2, a narrower type, fused kernels.");
  const double tma = fraction(double(k.tma_busy), sm_cycles);
  add("TMA", tma, fmt::format("The TMA units worked {} of the time.", percent(tma)),
      "Give TMA larger boxes whose rows fill 128 bytes, or multicast what several CTAs read.");
  const double passes = fraction(double(k.memory.passes), sm_cycles);
  const double conflicts = fraction(double(k.memory.conflicts()), double(k.memory.passes));
  add("shared memory", passes,
      fmt::format("The banks of shared memory worked {} of the time, {} of it for bank conflicts.", percent(passes),
                  percent(conflicts)),
      conflicts >= kConflicts ? "Remove the bank conflicts: swizzle or pad the layout in shared memory."
                              : "Access shared memory less: keep values in registers, or use wider accesses.");
  const double issue = fraction(double(k.instructions), 4 * sm_cycles);
  add("instruction issue", issue, fmt::format("The issue ports worked {} of the time.", percent(issue)),
      "Execute fewer instructions: unroll, move invariants out of the loop, use vector and packed forms.");
  return out;
}

const char* advice_for(IdleCause cause) {
  switch (cause) {
    case IdleCause::loads:
      return "Have more bytes on their way: more stages in the ring, or a producer warp that starts the loads earlier.";
    case IdleCause::threads:
      return "Threads keep the tensor core waiting: give their work to more warps, or do it for the next tile "
             "meanwhile.";
    case IdleCause::mmas:
      return "Issue the next MMAs before the last ones are complete: commit to an mbarrier and wait for it later.";
    case IdleCause::instructions:
      return "Execute fewer instructions between MMAs: let TMA copy, one elected thread issue, and make descriptors "
             "before the loop.";
    case IdleCause::epilogue:
      return "Let MMAs of the next tile run while the epilogue reads this one: a second accumulator, a persistent CTA.";
    case IdleCause::set_up:
      return "Set up once: a persistent CTA that takes tile after tile, barriers and Tensor Memory made while loads "
             "run.";
    case IdleCause::no_cta:
      return "Give every SM work until the end: another tile size, a split along K, a grid of whole waves. A short "
             "kernel spends this time on its launch: give it more work.";
  }
  return "";
}

std::string words_for(IdleCause cause, double part) {
  const std::string p = percent(part);
  switch (cause) {
    case IdleCause::loads: return fmt::format("The tensor cores waited {} of the time for loads.", p);
    case IdleCause::threads: return fmt::format("The tensor cores waited {} of the time for other threads.", p);
    case IdleCause::mmas:
      return fmt::format("The tensor cores got no new MMA in {} of the time because a warp waited for earlier ones.",
                         p);
    case IdleCause::instructions:
      return fmt::format("The tensor cores waited {} of the time for the instructions that issue MMAs.", p);
    case IdleCause::epilogue: return fmt::format("The tensor cores waited {} of the time for the epilogue.", p);
    case IdleCause::set_up: return fmt::format("The tensor cores waited {} of the time for CTAs that set up.", p);
    case IdleCause::no_cta: return fmt::format("The tensor cores had no CTA on their SM in {} of the time.", p);
  }
  return {};
}

/// Why tensor cores were idle.
std::vector<Candidate> idle(const KernelProfile& k) {
  std::vector<Candidate> out;
  for (const auto& [cause, cycles] : k.tensor_core.idle) {
    const double part = fraction(double(cycles), double(k.tensor_core.all));
    out.push_back({name_of(cause), words_for(cause, part), advice_for(cause), part, cause});
  }
  return out;
}

const char* advice_for_wait(const std::string& what) {
  if (what.starts_with("mbarrier "))
    return "What ends this wait comes late: start it earlier, or have more of it under way.";
  if (what.starts_with("barrier "))
    return "Warps wait for the slowest one: share the work out evenly, or use fewer barriers.";
  return "";
}

/// What warps did with their time, where no tensor core was fed.
std::vector<Candidate> warps_did(const KernelProfile& k) {
  uint64_t warps = 0, lived = 0;
  IssueCost cost;
  std::map<std::string, uint64_t> waits;
  for (const auto& [name, role] : k.roles) {
    warps += role.warps;
    lived += role.lived;
    cost.add(role);
    for (const auto& [wait, cycles] : role.waits) waits[wait.what] += cycles;
  }
  // Where CTAs followed each other on an SM, they had it for the sum of their lives.
  const double there =
      k.resident == 1 && warps
          ? std::min(1.0, fraction(double(lived) * double(k.ctas), double(warps) * double(k.sm_cycles)))
          : 1;
  std::vector<Candidate> out = {{name_of(IdleCause::no_cta),
                                 fmt::format("SMs had no CTA in {} of the time.", percent(1 - there)),
                                 advice_for(IdleCause::no_cta), 1 - there}};
  const auto add = [&](const std::string& limit, uint64_t cycles, const std::string& did, const std::string& advice) {
    const double part = fraction(double(cycles), double(lived));
    out.push_back({limit, fmt::format("Warps {} in {} of their time.", did, percent(part)), advice, part * there});
  };
  add("late operands", cost.operands, "waited for operands, such as the results of loads,",
      "Have more loads on their way: unroll, load earlier, run more warps on an SM, or let cp.async or TMA load.");
  add("the issue port", cost.port, "waited for the issue port", "Execute fewer instructions, or spread warps evenly.");
  add("instructions", cost.issued, "issued instructions",
      "Execute fewer instructions on the longest path, or spread the work over more warps.");
  for (const auto& [what, cycles] : waits) add(what, cycles, "waited for " + what, advice_for_wait(what));
  return out;
}

/// The line with the most of `cost` becomes the verdict's; how much that is.
template <class Cost>
uint64_t choose_line(const KernelProfile& k, Verdict& v, Cost cost) {
  uint64_t most = 0;
  for (const auto& [place, line] : k.lines)
    if (const uint64_t c = cost(line); c > most) {
      most = c;
      v.place = place;
    }
  return most;
}

/// The line at which warps spent the most cycles so.
template <class Cost>
void put_cycles(const KernelProfile& k, Verdict& v, const char* did, Cost cost) {
  uint64_t all = 0;
  for (const auto& [place, line] : k.lines) all += line.issued + line.waited();
  if (const uint64_t most = choose_line(k, v, cost))
    v.at_place =
        fmt::format("Warps {} there in {} of all their cycles.", did, percent(fraction(double(most), double(all))));
}

/// The line that takes the most of something that is no time.
template <class Cost>
void put_most(const KernelProfile& k, Verdict& v, const char* what, Cost cost) {
  if (choose_line(k, v, cost)) v.at_place = fmt::format("This line {}.", what);
}

/// Where the warps that feed tensor cores waited for the cause.
void put_wait(const KernelProfile& k, Verdict& v, IdleCause cause) {
  const auto found = k.tensor_core.waits.find(cause);
  if (found == k.tensor_core.waits.end()) return;
  uint64_t all = 0;
  const std::pair<const WaitPlace, uint64_t>* most = nullptr;
  for (const auto& wait : found->second) {
    all += wait.second;
    if (!most || wait.second > most->second) most = &wait;
  }
  v.place = most->first.place;
  v.at_place = fmt::format("The warps that issue MMAs wait there for {}, {} of their waits of this kind.",
                           most->first.what, percent(fraction(double(most->second), double(all))));
}

void put_place(const KernelProfile& k, Verdict& v, const Candidate& c) {
  if (c.cause == IdleCause::instructions) {
    put_cycles(k, v, "issued or waited for operands", [](const LineCost& l) { return l.issued + l.operands + l.port; });
  } else if (c.cause) {
    put_wait(k, v, *c.cause);
  } else if (c.limit == "shared memory") {
    put_most(k, v, "takes the most passes of the banks", [](const LineCost& l) { return l.memory.passes; });
  } else if (c.limit == "L2") {
    put_most(k, v, "moves the most bytes to and from L2", [](const LineCost& l) { return l.memory.l2_bytes; });
  } else if (c.limit == "device memory") {
    put_most(k, v, "reads the most bytes from device memory", [](const LineCost& l) { return l.memory.device_bytes; });
  } else if (c.limit == "late operands") {
    put_cycles(k, v, "waited for operands", [](const LineCost& l) { return l.operands; });
  } else if (c.limit == "the issue port" || c.limit == "instruction issue" || c.limit == "instructions") {
    put_cycles(k, v, "issued", [](const LineCost& l) { return l.issued; });
  } else if (c.limit != "tensor cores" && c.limit != "TMA" && c.limit != name_of(IdleCause::no_cta)) {
    put_cycles(k, v, "waited", [&](const LineCost& l) {
      const auto wait = l.waits.find(c.limit);
      return wait == l.waits.end() ? 0 : wait->second;
    });
  }
}

}  // namespace

Verdict verdict_of(const KernelProfile& k) {
  Verdict v;
  if (!k.cycles || !k.sm_cycles) {
    v.why = "No launch of this kernel has come to its end, so there is no verdict.";
    return v;
  }
  if (k.chip_sms && k.sms < kFilled * k.chip_sms)
    v.beside = fmt::format("Only {} of {} SMs had a CTA: a grid of more CTAs would use the others.", k.sms, k.chip_sms);
  std::vector<Candidate> saturated = units(k);
  const auto by_share = [](const Candidate& a, const Candidate& b) { return a.share > b.share; };
  std::ranges::stable_sort(saturated, by_share);
  std::vector<Candidate> causes = k.tensor_core.all ? idle(k) : warps_did(k);
  const auto busy = std::ranges::find(saturated, "tensor cores", &Candidate::limit);
  if (busy != saturated.end() && busy->share >= kBusy) causes.push_back(*busy);
  std::ranges::stable_sort(causes, by_share);

  const bool unit = saturated[0].share >= kSaturated;
  const Candidate& first = unit ? saturated[0] : causes[0];
  v.clear = unit || (first.share >= kLeast && (causes.size() == 1 || first.share >= kApart * causes[1].share));
  v.limit = first.limit;
  v.why = first.why;
  if (!v.clear && causes.size() > 1) {
    v.limit += ", " + causes[1].limit;
    v.why += " " + causes[1].why + " No cause stands out.";
  }
  v.advice = first.advice;
  put_place(k, v, first);
  return v;
}

std::string Verdict::render(const std::string& indent) const {
  const auto line = [&](const char* name, const std::string& text) {
    return text.empty() ? std::string() : fmt::format("{}{:<11} {}\n", indent, name, text);
  };
  std::string out = line(clear ? "limited by" : "unclear", limit.empty() ? why : limit + ". " + why);
  if (!place.empty()) out += line("line", place + ". " + at_place);
  return out + line("try", advice) + line("beside", beside);
}

nlohmann::ordered_json Verdict::json() const {
  return {{"clear", clear},       {"limit", limit},   {"why", why},      {"at", place},
          {"at_place", at_place}, {"advice", advice}, {"beside", beside}};
}

}  // namespace tinygpu::observe
