// Names that traces and profiles give to waits and to warps.
#pragma once
#include <cstdint>
#include <string>

#include "common/tinygpu/machine/observe.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu::observe {

/// What lanes waited for: "mbarrier 0x410", "barrier 1", "tcgen05.wait::ld" …
std::string name_of(const BlockReason& reason);
/// Whether name_of() says the same of both. False also where texts of their own happen to be equal.
bool same_name(const BlockReason& one, const BlockReason& other);

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

/// "gemm.cu:120", or "PTX line 88" where the program was built without -lineinfo.
std::string place_of(const Where& where);

/// "CTA (0,0,0), warp 1, lane 3"; lane −1: the warp.
std::string thread_of(const Where& where, int lane);

}  // namespace tinygpu::observe
