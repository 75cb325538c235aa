#include "common/tinygpu/check/unfinished_tensor_memory.h"

#include <fmt/format.h>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::checks {
namespace {

using Kind = AsyncOperation::Kind;

bool on_tensor_core(Kind kind) { return kind == Kind::mma || kind == Kind::tmem_copy || kind == Kind::tmem_shift; }

}  // namespace

void UnfinishedTensorMemory::tell(const Origin& who, uint64_t time, const char* what, bool writes, const Use& earlier) {
  Diagnosis d;
  if (earlier.kind == Kind::tmem_load)
    d = {.code = "tmem-load-not-waited",
         .severity = Severity::warning,
         .message = fmt::format("{} rewrites cells that a tcgen05.ld may still be reading", what),
         .help =
             "Put tcgen05.wait::ld after the load, and let another thread use the columns only then (tcgen05.fence on "
             "both sides of the barrier)."};
  else
    d = {.code = "tmem-not-complete",
         .severity = Severity::warning,
         .message =
             fmt::format("{} {} cells that a {} still uses", what, writes ? "writes" : "reads", name_of(earlier.kind)),
         .help = earlier.kind == Kind::tmem_store
                     ? "Put tcgen05.wait::st after the store; another thread also needs a barrier with tcgen05.fence."
                     : "Wait on the mbarrier of the tcgen05.commit before touching the cells."};
  d.where = who.where(time);
  d.label = writes ? "written or freed here" : "read here";
  d.others = {{earlier.who.where(earlier.issued), "issued here, and no wait for it lies between"}};
  who.report(std::move(d));
}

uint32_t UnfinishedTensorMemory::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::tensor_memory) ? interests : 0;
}

void UnfinishedTensorMemory::on_launch(const Launch& launch) {
  parts_.clear();
  parts_.resize(launch.partitions().size());
}

void UnfinishedTensorMemory::on_issue(const AsyncOperation& o) {
  if (o.cells.empty()) return;
  Uses& uses = parts_[o.partition()];
  for (const auto& c : o.cells)
    for (const Use& u : uses[c.sm])
      if ((u.writes || c.writes) && u.cells.overlaps(c.cells) && !(on_tensor_core(o.kind) && on_tensor_core(u.kind))) {
        tell(o.who, o.issued, c.what, c.writes, u);
        break;
      }
  for (const auto& c : o.cells) uses[c.sm].push_back({o.id, o.kind, c.cells, c.writes, o.who, o.issued});
}

void UnfinishedTensorMemory::on_complete(const AsyncOperation& o) {
  for (const auto& c : o.cells)
    std::erase_if(parts_[o.partition()][c.sm], [&](const Use& u) { return u.operation == o.id; });
}

void UnfinishedTensorMemory::on_tensor_allocation(const TmemAllocation& a) {
  if (a.taken) return;
  for (const Use& u : parts_[a.partition.index][a.sm])
    if (u.cells.overlaps(a.cells)) return tell(a.who, a.time, "tcgen05.dealloc", true, u);
}

}  // namespace tinygpu::checks
