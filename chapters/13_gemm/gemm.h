// What main.cpp knows of the steps: a problem, and a function that launches each step's kernel on it.
#pragma once
#include <array>
#include <cstdint>
#include <iterator>
#include <span>

#include "common/harness/numbers.h"
#include "common/harness/verify.h"

namespace gemm {

/// What is multiplied. bf16: 16-bit operands, tcgen05's kind f16. fp8: e4m3, kind f8f6f4. mxf8: e4m3 with a power of
/// two for 32 elements, mxf8f6f4. nvf4: e2m1 with an e4m3 number for 16, mxf4nvf4.
enum class Kind : uint8_t { bf16, fp8, mxf8, nvf4 };

/// D[m × n] = A[m × k] · B[n × k]ᵀ on device memory. Tensor maps want rows of 16-byte multiples: n a multiple of 4 (f32
/// out) or 8 (bf16 out), k as Ladder says.
struct Problem {
  gen5::harness::Format in = gen5::harness::Format::bf16;  // of kind bf16
  gen5::harness::Output out = gen5::harness::Output::f32;
  uint32_t m = 0, n = 0, k = 0;
  void *a = nullptr, *b = nullptr;
  void* d = nullptr;
  Kind kind = Kind::bf16;
  uint8_t *a_scales = nullptr, *b_scales = nullptr;  // of mxf8 and nvf4, in chunks (common/harness/narrow_gemm.h)
  uint64_t* stamps = nullptr;  // kStampWords zeros for the kernel's own timeline (common/harness/stamps.h), or null
};

// Each launches one kernel on the default stream and returns at once.
void launch_serial(const Problem& p);
void launch_tma(const Problem& p);
void launch_ring(const Problem& p);
void launch_roles(const Problem& p);
void launch_persistent(const Problem& p);
void launch_overlap(const Problem& p);
void launch_wide(const Problem& p);
void launch_pair(const Problem& p);
// Steps 1 to 4 are of bf16 and f16; the narrow kinds have a step 4 of their own, and the others in common.
namespace kinds {
void launch_roles(const Problem& p);
}  // namespace kinds

struct Step {
  int number;
  const char* name;
  const char* idea;
  const char* look;  // what its timeline shows that the step before's does not
  const char* next;  // what the step after it does about what holds this one up
  void (*launch)(const Problem&);
  uint32_t tile_n;          // columns of D that one tile has; it has 128 rows of each CTA
  uint32_t ctas = 1;        // that share a tile
  uint32_t stages = 1;      // of the ring
  bool persistent = false;  // a CTA takes several tiles
};
inline constexpr Step kSteps[] = {
    {1, "serial", "one tile a CTA: load, multiply, wait, repeat",
     "the threads copy for thousands of cycles, then the tensor core works for a moment; neither ever runs beside the "
     "other.",
     "leaves the copying to TMA: one request for a whole tile instead of 128 threads' loads and stores.", launch_serial,
     128},
    {2, "tma", "TMA loads swizzled tiles, TMA stores the result",
     "a block is there after one latency. Load and MMA of one CTA still take turns; where several CTAs fit on the SM, "
     "one's MMAs run beside another's loads.",
     "asks for the blocks to come before it needs them: the latency is paid once, not for every block.", launch_tma,
     128},
    {3, "ring", "a ring of four stages: loads run ahead",
     "up to four loads are on their way at a time: when the tensor core is done with a block, the next one is there.",
     "gives loading, multiplying and storing to warps of their own, so that none waits for another's instructions.",
     launch_ring, 128, 1, 4},
    {4, "roles", "a warp to load, a warp to multiply, four to store",
     "the producer asks for a block the moment its stage is free, no longer when the thread that multiplies gets round "
     "to it.",
     "lets CTAs stay: while a tile is stored the next one's loads are on their way, and nothing has to start anew.",
     launch_roles, 128, 1, 4},
    {5, "persistent", "one CTA an SM takes tile after tile",
     "while the epilogue stores a tile, the next one's loads are on their way; where step 4 starts a new CTA, "
     "this one goes on.",
     "gives a CTA a second accumulator: the tensor core fills one while the epilogue empties the other.",
     launch_persistent, 128, 1, 4, true},
    {6, "overlap", "two accumulators: store one tile while multiplying the next",
     "the tensor core no longer stops for the epilogue: it fills the second accumulator meanwhile.",
     "makes tiles twice as wide: a block of K brings half as many bytes more and twice the multiplications.",
     launch_overlap, 128, 1, 4, true},
    {7, "wide", "tiles of 256 columns: a block of A is used for twice as many",
     "a block keeps the tensor core busy for twice as long, so the loads have twice the time.",
     "lets two SMs share a tile: each loads half of B.", launch_wide, 256, 1, 4, true},
    {8, "pair", "two CTAs, one MMA: each loads half of B",
     "the pair's blocks are a third smaller for each CTA; the tensor cores of two SMs work on one block together.", "",
     launch_pair, 256, 2, 4, true},
};
inline constexpr int kLastStep = int(std::size(kSteps));

/// The narrow kinds climb from step 4 on: what is new of them is the same in all of their steps. `wide`: columns of the
/// tiles of the last two.
constexpr std::array<Step, 5> narrow_steps(uint32_t wide) {
  std::array<Step, 5> steps;
  for (uint32_t i = 0; i < 5; ++i) steps[i] = kSteps[i + 3];
  steps[0].launch = kinds::launch_roles;
  for (uint32_t i = 3; i < 5; ++i) steps[i].tile_n = wide;
  return steps;
}
inline constexpr std::array kFp8Steps = narrow_steps(256), kScaledSteps = [] {
  std::array steps = narrow_steps(192);
  steps[2].next = "makes tiles wider, 192 columns: two of 256 would leave Tensor Memory no room for scales.";
  steps[3].idea = "tiles of 192 columns, which leave Tensor Memory room for scales";
  steps[3].look = "a block keeps the tensor core busy for half as long again, so the loads have more time.";
  return steps;
}();

/// A kind's steps, and what its operands are like.
struct Ladder {
  const char* name;
  const char* operands;   // in a sentence
  uint32_t block_k;       // elements of 128 bytes, one block of K
  uint32_t k_step;        // k is a multiple of it
  const char* why_step;   // because
  uint32_t scale_chunks;  // of 512 bytes, 128 rows by four scales, of one block of K
  double peak;            // dense operations of one SM in a cycle: the profile's peak.f16, peak.f8, peak.f4
  std::span<const Step> steps;

  const Step& operator[](uint32_t number) const { return steps[number - steps.front().number]; }
  bool has(uint32_t number) const {
    return number >= uint32_t(steps.front().number) && number <= uint32_t(steps.back().number);
  }
};
const Ladder& ladder(Kind kind);

}  // namespace gemm
