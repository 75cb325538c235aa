// What the checker reads off an instruction's text, once.
#pragma once
#include <unordered_map>

#include "common/tinygpu/machine/origin.h"
#include "common/tinygpu/ptx/memory_order.h"

namespace tinygpu::races {

struct Facts {
  enum class Waits : uint8_t { none, cp_async, cp_async_all, bulk, bulk_read, wgmma, tmem_load, tmem_store };
  ptx::MemoryOrder order;
  Waits waits = Waits::none;   // of a wait for groups, or what a commit_group closes
  bool sequential = false;     // fence.sc, membar
  bool mbarrier_init = false;  // fence.mbarrier_init
  bool restricted = false;     // .sync_restrict
  bool one_way = false;        // fence.proxy.async::generic.*
  bool pair = false;           // .cta_group::2
  bool four_rows = false;      // tcgen05.cp.4x256b
  bool wgmma_fence = false;
  bool default_scope = false;  // none is written
  bool read_only = false;      // ld.global.nc
};

class FactsOf {
 public:
  const Facts& of(const Origin& who);

 private:
  std::unordered_map<const Op*, Facts> known_;
};

}  // namespace tinygpu::races
