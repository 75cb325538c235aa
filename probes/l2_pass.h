// SMs that read or write L2, by themselves or with others: which of them, what, and the rate that each gets.
#pragma once
#include <cstdint>
#include <span>

#include "probes/probe.h"

namespace gen5::probe {

constexpr uint64_t kStretch = uint64_t(256) << 20;

/// Two stretches: reading the second leaves nothing of the first in L2, and nothing that waits to be written.
inline uint8_t* stretches() {
  static harness::DeviceBuffer<uint8_t> memory(2 * kStretch);
  [[maybe_unused]] static const bool zeroed = (memory.fill(0), true);
  return memory.get();
}

constexpr int kPassThreads = 1024;
constexpr uint32_t kSmBytes = 128 * 1024;  // of an SM: 132 of them fit into half of the L2
constexpr uint32_t kPiece = kPassThreads * 16;

enum class Way { read, write };
/// What the SMs work at: 128 KiB of their own each, all the same 128 KiB, one line, or a stretch that they share out
/// among them in pieces of 16 KiB.
enum class Where { own, shared, line, stretch };

/// Which SMs work, by %smid; the others' CTAs end at once.
struct Chosen {
  static constexpr uint32_t kMost = 512;
  uint32_t bits[kMost / 32] = {};
  void add(uint32_t sm) { bits[sm / 32] |= 1u << sm % 32; }
  __device__ bool has(uint32_t sm) const { return bits[sm / 32] >> sm % 32 & 1; }
  static Chosen all() {
    Chosen c;
    for (uint32_t& word : c.bits) word = ~0u;
    return c;
  }
  static Chosen of(std::span<const uint32_t> sms) {
    Chosen c;
    for (uint32_t sm : sms) c.add(sm);
    return c;
  }
};

/// Each CTA `passes` times 128 KiB, 16 bytes a thread, behind `warm` passes that nobody times.
template <Way way, Where where>
__global__ void __launch_bounds__(kPassThreads)
    pass_through(uint8_t* memory, int passes, int warm, Chosen chosen, long long* cycles) {
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x == 0) cycles[blockIdx.x] = 0;
  if (!chosen.has(sm)) return;
  const uint8_t* at = memory + (where == Where::own       ? blockIdx.x * kSmBytes + threadIdx.x * 16
                                : where == Where::line    ? threadIdx.x % 8 * 16
                                : where == Where::stretch ? blockIdx.x * kPiece + threadIdx.x * 16
                                                          : threadIdx.x * 16);
  const uint64_t step = where == Where::stretch ? uint64_t(gridDim.x) * kPiece : where == Where::line ? 0 : kPiece;
  uint32_t result = 0;
  long long t0 = 0;
#pragma unroll 1
  for (int pass = -warm; pass < passes; ++pass) {
    if (pass == 0) {
      wait_for_value(result);
      __syncthreads();
      t0 = ticks();
    }
    const uint8_t* from = at + (where == Where::stretch ? uint64_t(pass) * 8 * step : 0);
#pragma unroll
    for (uint32_t i = 0; i < kSmBytes / kPiece; ++i) {
      if constexpr (way == Way::read) {
        uint32_t r[4];
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "l"(from + i * step)
                     : "memory");
        result ^= r[0] ^ r[1] ^ r[2] ^ r[3];
      } else {
        asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(from + i * step), "r"(uint32_t(pass)) : "memory");
      }
    }
  }
  wait_for_value(result);
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = ticks() - t0;
}

/// Mean over the SMs that worked of the cycles in which each of them got a KiB.
template <Way way, Where where>
double cycles_per_kib(int ctas, const Chosen& chosen, int passes_at_most = 24) {
  constexpr bool far = where == Where::stretch;
  const int fit = int(kStretch / (uint64_t(ctas) * kSmBytes));
  const int passes = far ? std::min(fit, 14) : passes_at_most;
  uint8_t* memory = stretches();
  if (far)
    measured(132, [&](long long* p) {
      pass_through<Way::read, Where::stretch><<<132, kPassThreads>>>(memory + kStretch, 14, 0, Chosen::all(), p);
    });
  const auto c = measured(size_t(ctas), [&](long long* p) {
    pass_through<way, where><<<ctas, kPassThreads>>>(memory, passes, far ? 0 : 2, chosen, p);
  });
  double sum = 0, worked = 0;
  for (long long cycles : c) sum += double(cycles), worked += cycles > 0;
  return worked > 0 ? sum / worked / (passes * double(kSmBytes) / 1024) : 0;
}

}  // namespace gen5::probe
