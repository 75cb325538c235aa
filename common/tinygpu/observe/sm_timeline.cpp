#include "common/tinygpu/observe/sm_timeline.h"

#include <algorithm>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::observe {

void SmTimeline::on_launch(const Launch& launch) {
  Timeline::on_launch(launch);
  signals_.clear();
}

void SmTimeline::on_sync(const Sync& s) {
  Timeline::on_sync(s);
  const bool passed = s.kind == Sync::Kind::passed;
  if ((!passed && s.kind != Sync::Kind::arrive) || !s.who || s.who->operation || s.cta->sm.index != 0 ||
      signals_.size() >= kMostSignals)
    return;
  signals_.push_back({s.who->cta, s.who->warp, passed, s.time});
}

void SmTimeline::take(const Launch& launch, const KernelTimeline& t) {
  nlohmann::ordered_json& document = main_ ? main_->json_ : json_;
  const std::string& kernel = launch.config.kernel->name;
  document = {{"kernel", full_name(kernel)}, {"label", kernel_label(kernel)}, {"cycles", t.end - t.begin}};
  std::vector<KernelTimeline::Stay> stays;
  for (const KernelTimeline::Stay& s : t.stays)
    if (s.sm == 0) stays.push_back(s);
  std::stable_sort(stays.begin(), stays.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  for (const KernelTimeline::Stay& s : stays)
    document["ctas"].push_back({{"begin", s.begin - t.begin}, {"end", s.end - t.begin}});

  std::vector<const Span*> operations;
  for (const Span& s : t.spans)
    if (s.operation) operations.push_back(&s);
  std::stable_sort(operations.begin(), operations.end(),
                   [](const Span* a, const Span* b) { return a->issued < b->issued; });
  const auto stay_of = [&](const CtaKey& cta) { return std::ranges::find(stays, cta, &KernelTimeline::Stay::cta); };
  for (const Span* s : operations) {
    const auto stay = stay_of(s->who.cta);
    if (stay == stays.end()) continue;  // a unit of this SM works for another CTA of the cluster
    document["operations"].push_back({{"kind", s->name},
                                      {"cta", stay - stays.begin()},
                                      {"warp", s->who.warp},
                                      {"issued", s->issued - t.begin},
                                      {"begin", s->begin - t.begin},
                                      {"busy", s->busy},
                                      {"end", s->end - t.begin}});
  }
  for (const Signal& s : signals_) {
    const auto stay = stay_of(s.cta);
    if (stay == stays.end()) continue;  // by another CTA of the cluster
    document[s.passed ? "waited" : "arrived"].push_back(
        {{"cta", stay - stays.begin()}, {"warp", s.warp}, {"at", s.time - t.begin}});
  }
  if (t.left_out) document["left_out"] = t.left_out;
}

}  // namespace tinygpu::observe
