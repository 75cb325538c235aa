// Names that traces and profiles give to waits and to warps.
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "common/tinygpu/machine/observe.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu::observe {

/// Names of a launch's mbarriers by their place in shared memory: what one CTA has there, all have. From any thread.
class MbarrierNames {
 public:
  /// "mbarrier full[1]" (machine/sync/mbarrier_name.h), or "mbarrier 0x410".
  std::string of(const Cta& owner, uint32_t offset);
  void clear() { names_.clear(); }

 private:
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::string> names_;
};

/// What lanes waited for: "mbarrier full[1]", "barrier 1", "tcgen05.wait::ld" … While they wait.
std::string name_of(const BlockReason& reason, MbarrierNames& mbarriers);
/// Whether name_of() says the same of both. False also where texts of their own happen to be equal.
bool same_name(const BlockReason& one, const BlockReason& other);

bool is_copy(AsyncOperation::Kind kind);  // by TMA
bool is_mma(AsyncOperation::Kind kind);

/// What a warp does for the kernel, by the asynchronous operations that it issues.
class Role {
 public:
  void add(AsyncOperation::Kind kind) { kinds_ |= 1u << int(kind); }
  void add(const Role& other) { kinds_ |= other.kinds_; }
  bool has(AsyncOperation::Kind kind) const { return kinds_ & 1u << int(kind); }
  /// "TMA producer", "MMA", "epilogue" …, joined by " + "; empty for a warp that issues none.
  std::string name() const;
  auto operator<=>(const Role&) const = default;

 private:
  uint32_t kinds_ = 0;
};

/// The instruction at which lanes waited.
Origin origin_of(const Wait& wait);

/// What warps waited for, and where in the source.
struct WaitPlace {
  std::string what, place;
  auto operator<=>(const WaitPlace&) const = default;
};

/// An instruction of a launch's kernel.
Where where_at(const Launch& launch, const Function& function, const Op& op);

/// "gemm.cu:120", or "PTX line 88" where the program was built without -lineinfo.
std::string place_of(const Where& where);

/// "CTA (0,0,0), warp 1, lane 3"; lane −1: the warp.
std::string thread_of(const Where& where, int lane);

}  // namespace tinygpu::observe
