// What an SM has loaded, as far as others of its accesses, a fence or the end of a grid have to wait for it.
#pragma once
#include <algorithm>
#include <cstdint>

#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/extension.h"
#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct LoadsOnTheirWay final : Extension {
  explicit LoadsOnTheirWay(const MachineSpec& spec) : behind(spec.number("mem.sm.behind")) {}
  const double behind;  // of what a bulk copy waits for device memory, the part in which it keeps the SM's way to L2
  uint64_t landed = 0;  // when the last of it is in the SM,
  uint64_t copied = 0;  // and the last of what bulk copies bring
  uint64_t passed = 0;  // when the last bulk copy leaves the way to others

  /// How long an access at `time` waits until it can pass.
  uint64_t wait(uint64_t time) const { return std::max(passed, time) - time; }

  /// When that had landed which was on its way as the last CTA of a grid ended here, 0: it is not known any more.
  uint64_t landed_behind(uint64_t grid) const {
    const Exit& e = exits_[grid % kExits];
    return e.grid == grid ? e.landed : 0;
  }
  void on_cta_exit(Cta& cta) override {
    const uint64_t grid = cta.cluster.partition.launch.number;
    exits_[grid % kExits] = {grid, landed};
  }

 private:
  static constexpr size_t kExits = 8;  // grids that share an SM, at most
  struct Exit {
    uint64_t grid = ~0ull, landed = 0;
  };
  Exit exits_[kExits];
};

}  // namespace tinygpu
