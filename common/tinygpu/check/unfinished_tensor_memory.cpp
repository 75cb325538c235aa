#include "common/tinygpu/check/unfinished_tensor_memory.h"

#include <fmt/format.h>

#include "common/tinygpu/check/wording.h"
#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::checks {
namespace {

using Kind = AsyncOperation::Kind;

bool on_tensor_core(Kind kind) { return kind == Kind::mma || kind == Kind::tmem_copy || kind == Kind::tmem_shift; }

void tell_unfinished(const Origin& who, const char* what, bool writes, Kind earlier, const Origin& other) {
  if (earlier == Kind::tmem_load)
    who.report(
        Severity::warning, "tmem-load-not-waited",
        fmt::format("{} rewrites cells that a tcgen05.ld of {} may still be reading.", what, place_of(other)),
        "Put tcgen05.wait::ld behind the load, and hand the columns over only after it (tcgen05.fence on both sides "
        "of the barrier).");
  else
    who.report(Severity::warning, "tmem-not-complete",
               fmt::format("{} {} cells that {} of {} has not finished with.", what, writes ? "writes" : "reads",
                           name_of(earlier), place_of(other)),
               earlier == Kind::tmem_store
                   ? "Put tcgen05.wait::st behind the store; another thread also needs a barrier with tcgen05.fence."
                   : "Wait on the mbarrier that tcgen05.commit arrives on before touching the cells.");
}

}  // namespace

uint32_t UnfinishedTensorMemory::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::tensor_memory) ? interests : 0;
}

void UnfinishedTensorMemory::on_launch(const Launch& launch) {
  parts_.clear();
  parts_.resize(launch.domains().size());
}

void UnfinishedTensorMemory::on_issue(const AsyncOperation& o) {
  if (o.cells.empty()) return;
  Uses& uses = parts_[o.domain()];
  for (const auto& c : o.cells)
    for (const Use& u : uses[c.sm])
      if ((u.writes || c.writes) && u.cells.overlaps(c.cells) && !(on_tensor_core(o.kind) && on_tensor_core(u.kind))) {
        tell_unfinished(o.who, c.what, c.writes, u.kind, u.who);
        break;
      }
  for (const auto& c : o.cells) uses[c.sm].push_back({o.id, o.kind, c.cells, c.writes, o.who});
}

void UnfinishedTensorMemory::on_complete(const AsyncOperation& o) {
  for (const auto& c : o.cells)
    std::erase_if(parts_[o.domain()][c.sm], [&](const Use& u) { return u.operation == o.id; });
}

void UnfinishedTensorMemory::on_tensor_allocation(const TmemAllocation& a) {
  if (a.taken) return;
  for (const Use& u : parts_[a.domain.index][a.sm])
    if (u.cells.overlaps(a.cells)) return tell_unfinished(a.who, "tcgen05.dealloc", true, u.kind, u.who);
}

}  // namespace tinygpu::checks
