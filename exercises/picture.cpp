#include "exercises/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "common/harness/timeline.h"

namespace exercise {
namespace {

using gen5::harness::Lane;
using gen5::harness::Watched;

constexpr size_t kLanes = 14, kSpans = 400;  // more than a reader follows
constexpr uint64_t kWindow = 6000;           // cycles

}  // namespace

std::string picture(const Watched& watched) {
  // Lanes in order of CTA and warp; a warp's mbarriers first.
  std::map<std::tuple<uint32_t, int, std::string>, Lane> lanes;
  const auto lane = [&](uint32_t cta, int warp, const std::string& what) -> Lane& {
    Lane& l = lanes[{cta, warp, what}];
    if (l.name.empty())
      l.name = watched.ctas.size() > 1 ? fmt::format("CTA {} warp {}{}", cta, warp, what)
                                       : fmt::format("warp {}{}", warp, what);
    return l;
  };
  const auto moment = [&](const Watched::Signal& s, char mark) {
    lane(s.cta, s.warp, "").spans.push_back({s.at, s.at, mark});
  };
  for (const auto& s : watched.arrived) moment(s, 'a');
  for (const auto& s : watched.waited) moment(s, 'w');
  for (const auto& o : watched.operations) {
    Lane& l = lane(o.cta, o.warp, " " + o.kind);
    l.spans.push_back({o.issued, std::max(o.issued, o.end), gen5::harness::digit(l.spans.size())});
  }
  gen5::harness::Picture all{"What happened, on the SM of the first CTA:", {}};
  for (auto& [key, l] : lanes) {
    if (all.lanes.size() == kLanes) break;
    std::ranges::sort(l.spans, {}, &gen5::harness::Span::begin);
    if (l.spans.size() > kSpans) l.spans.resize(kSpans);
    all.lanes.push_back(std::move(l));
  }
  if (all.lanes.empty()) return {};
  std::string text = gen5::harness::draw({all}, {.window = kWindow});
  text +=
      "\nTime runs to the right, in SM cycles. A digit is an asynchronous operation, from its issue until its effect "
      "was\nthere; a: an arrive on an mbarrier, w: a wait on one ends.\n";
  if (lanes.size() > kLanes) text += fmt::format("{} more lanes are left out.\n", lanes.size() - kLanes);
  return text;
}

}  // namespace exercise
