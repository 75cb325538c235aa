// Matrix instructions in the launch's statistics: how many, and how many operations (a multiplication and an addition
// are two) they stand for.
#pragma once
#include <cstdint>
#include <string>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/timing/power.h"

namespace tinygpu {

enum class MatrixFamily : uint8_t { tcgen05_mma, wgmma_mma_async, mma_sync };

class MmaStatistics final : public Extension {
 public:
  /// One instruction that `cta` starts: D[m x n] += A[m x k] * B[k x n], `times` over.
  static void count(Cta& cta, MatrixFamily family, uint32_t m, uint32_t n, uint32_t k, uint32_t times = 1) {
    Counts& c = cta.extensions.get<MmaStatistics>().counts_[int(family)];
    if (!c.instructions) {
      static constexpr const char* kNames[] = {"tcgen05.mma", "wgmma.mma_async", "mma.sync"};
      const std::string name = kNames[int(family)];
      auto& counters = cta.cluster.partition.counters;
      c = {&counters[name], &counters[name + " operations"], &counters[kTensorWork]};
    }
    *c.instructions += 1;
    *c.operations += uint64_t(2) * m * n * k * times;
    // wgmma and tcgen05.mma take as long for the K of every kind, of which f16's is 16.
    *c.work += uint64_t(2) * m * n * (family == MatrixFamily::mma_sync ? k : 16) * times;
  }
  /// Sums of wgmma, tcgen05.mma and mma.sync that the scalar model did one by one: kinds that no vector code knows.
  static void count_scalar(Cta& cta, uint64_t sums) {
    if (sums) cta.cluster.partition.counters["matrix sums, scalar"] += sums;
  }

 private:
  /// Entries of the partition's counters, which outlive its CTAs.
  struct Counts {
    uint64_t* instructions = nullptr;
    uint64_t* operations = nullptr;
    uint64_t* work = nullptr;
  };
  Counts counts_[3];
};

}  // namespace tinygpu
