#include "common/tinygpu/observe/wording.h"

#include <fmt/format.h>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu::observe {

std::string MbarrierNames::of(const Cta& owner, uint32_t offset) {
  const std::lock_guard lock(mutex_);
  std::string& name = names_[offset];
  if (name.empty()) {
    const std::string expression = mbarrier_expression(owner, offset);
    name = expression.empty() ? fmt::format("mbarrier {:#x}", offset) : "mbarrier " + expression;
  }
  return name;
}

std::string name_of(const BlockReason& reason, MbarrierNames& mbarriers) {
  using Kind = BlockReason::Kind;
  switch (reason.kind) {
    case Kind::mbarrier: return reason.cta ? mbarriers.of(*reason.cta, reason.address) : std::string("mbarrier");
    case Kind::cta_barrier: return fmt::format("barrier {}", reason.id);
    case Kind::cluster_barrier: return "barrier.cluster";
    case Kind::converge: return "lanes of the warp to converge";
    case Kind::warp_barrier: return "bar.warp.sync";
    case Kind::tmem_alloc: return "Tensor Memory columns";
    case Kind::grid_dependency: return "the grid before";
    case Kind::serial: return "its turn in global memory";
    default: return *reason.what ? reason.what : "other lanes";
  }
}

bool same_name(const BlockReason& one, const BlockReason& other) {
  using Kind = BlockReason::Kind;
  if (one.kind != other.kind) return false;
  switch (one.kind) {
    case Kind::mbarrier: return !one.cta == !other.cta && one.address == other.address;
    case Kind::cta_barrier: return one.id == other.id;
    default: return one.what == other.what;
  }
}

bool is_copy(AsyncOperation::Kind kind) {
  using Kind = AsyncOperation::Kind;
  return kind == Kind::tensor_load || kind == Kind::bulk_load || kind == Kind::tensor_store || kind == Kind::bulk_store;
}
bool is_mma(AsyncOperation::Kind kind) {
  return kind == AsyncOperation::Kind::mma || kind == AsyncOperation::Kind::wgmma;
}

std::string Role::name() const {
  using Kind = AsyncOperation::Kind;
  struct Rule {
    const char* name;
    uint32_t kinds;
  };
  const auto any = [](auto... kinds) { return (... | (1u << int(kinds))); };
  // Not a static object: names are asked for when the process ends, too.
  const Rule rules[] = {
      {"TMA producer", any(Kind::tensor_load, Kind::bulk_load)},
      {"cp.async producer", any(Kind::async_copy)},
      {"MMA", any(Kind::mma, Kind::wgmma)},
      {"scale copies", any(Kind::tmem_copy, Kind::tmem_shift)},
      {"epilogue", any(Kind::tmem_load)},
      {"Tensor Memory writer", any(Kind::tmem_store)},
      {"TMA store", any(Kind::tensor_store, Kind::bulk_store)},
      {"scheduler", any(Kind::cancel)},
  };
  std::string out;
  for (const Rule& rule : rules)
    if (kinds_ & rule.kinds) out += (out.empty() ? "" : " + ") + std::string(rule.name);
  return out;
}

Origin origin_of(const Wait& wait) {
  const Cta& cta = wait.warp.cta();
  return {&cta.cluster.partition.launch, wait.group.function, &wait.op, cta.key, int(wait.warp.index()), -1, 0, 0};
}

Where where_at(const Launch& launch, const Function& function, const Op& op) {
  Origin at;
  at.launch = const_cast<Launch*>(&launch);
  at.function = &function;
  at.op = &op;
  return at.where();
}

std::string place_of(const Where& where) {
  if (where.cuda_line)
    return fmt::format("{}:{}", where.cuda_file.substr(where.cuda_file.rfind('/') + 1), where.cuda_line);
  return fmt::format("PTX line {}", where.ptx_line);
}

std::string thread_of(const Where& where, int lane) {
  return fmt::format("CTA ({},{},{}), warp {}{}", where.cta[0], where.cta[1], where.cta[2], where.warp,
                     lane < 0 ? "" : fmt::format(", lane {}", lane));
}

}  // namespace tinygpu::observe
