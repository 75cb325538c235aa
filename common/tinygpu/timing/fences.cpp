#include "common/tinygpu/timing/fences.h"

namespace tinygpu {

FenceTiming::FenceTiming(const MachineSpec& s)
    : cta(uint64_t(s.number("fence.cta"))),
      gpu(uint64_t(s.number("fence.gpu"))),
      system(uint64_t(s.number("fence.sys"))),
      gpu_warp(uint64_t(s.number("fence.gpu.warp"))),
      proxy(uint64_t(s.number("fence.proxy.global"))),
      stored(uint64_t(s.number("fence.stored"))),
      stored_bulk(uint64_t(s.number("fence.stored.bulk"))),
      updated(uint64_t(s.number("fence.stored.atomic"))),
      acquire(uint64_t(s.number("fence.acquire"))) {}

}  // namespace tinygpu
