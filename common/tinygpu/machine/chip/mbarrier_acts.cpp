#include "common/tinygpu/machine/chip/mbarrier_acts.h"

#include <fmt/format.h>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu {

std::vector<MbarrierAct> acts_on(const Launch& launch, const Cta& cta, uint32_t offset) {
  std::vector<MbarrierAct> out;
  launch.observers.all([&](const Observer& o) {
    if (const auto* books = dynamic_cast<const MbarrierActs*>(&o); books && out.empty())
      out = books->acts_on(cta, offset);
  });
  return out;
}

LabelledPlace place_of(const MbarrierAct& a) {
  using Kind = MbarrierAct::Kind;
  std::string label;
  switch (a.kind) {
    case Kind::arrive:
      label = fmt::format("arrived in phase {}, {} time{}", a.phase, a.amount, a.amount == 1 ? "" : "s");
      break;
    case Kind::pass: label = fmt::format("has seen phase {} end", a.phase); break;
    default:
      label =
          fmt::format("{} {} bytes in phase {}", a.kind == Kind::expect_tx ? "expects" : "lands", a.amount, a.phase);
  }
  if (!a.what.empty()) label += " (" + a.what + ")";
  return {a.who.where(a.time), std::move(label)};
}

}  // namespace tinygpu
