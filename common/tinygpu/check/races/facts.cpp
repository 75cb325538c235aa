#include "common/tinygpu/check/races/facts.h"

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::races {
namespace {

Facts read(const ptx::Instruction& i) {
  using Waits = Facts::Waits;
  using ptx::Opcode;
  Facts f;
  f.order = ptx::memory_order(i);
  f.sequential = i.opcode == Opcode::membar || i.has("sc");
  f.mbarrier_init = i.opcode == Opcode::fence_mbarrier_init;
  f.restricted = !i.after("sync_restrict::").empty();
  f.one_way = i.has("async::generic");
  f.pair = i.has("cta_group::2");
  f.four_rows = i.has("4x256b");
  f.wgmma_fence = i.opcode == Opcode::wgmma_fence;
  f.default_scope = !(i.has("cta") || i.has("cluster") || i.has("gpu") || i.has("sys"));
  f.read_only = i.opcode == Opcode::ld && i.has("nc");
  switch (i.traits().subject) {
    case ptx::Subject::bulk_copy: f.waits = i.has("read") ? Waits::bulk_read : Waits::bulk; break;
    case ptx::Subject::cp_async:
      f.waits = i.opcode == Opcode::cp_async_wait_all ? Waits::cp_async_all : Waits::cp_async;
      break;
    case ptx::Subject::wgmma: f.waits = Waits::wgmma; break;
    default:
      if (i.opcode == Opcode::tcgen05_wait) f.waits = i.has("st") ? Waits::tmem_store : Waits::tmem_load;
  }
  return f;
}

}  // namespace

const Facts& FactsOf::of(const Origin& who) {
  static const Facts nothing;
  if (!who.op || !who.function) return nothing;
  const auto it = known_.find(who.op);
  return it != known_.end() ? it->second
                            : known_.emplace(who.op, read(who.function->instruction(*who.op))).first->second;
}

}  // namespace tinygpu::races
