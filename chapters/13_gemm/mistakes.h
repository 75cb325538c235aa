// The mistakes that mistakes.cu makes.
#pragma once
#include "chapters/13_gemm/gemm.h"

namespace gemm {

enum class Mistake : uint8_t {
  mma_no_wait,
  epilogue_no_wait,
  producer_no_wait,
  producer_parity,
  expect_too_many,
  expect_too_few,
  stage_not_released,
  barrier_not_initialised,
  descriptor_stride,
  descriptor_swizzle,
  wrong_lanes,
  load_not_waited,
  no_dealloc,
  // Step 8's.
  not_drained,
  commit_one,
  expect_half,
};

struct MistakeEntry {
  Mistake mistake;
  const char *name, *title, *outcome;
  bool pair = false;  // in step 8's kernel, not in step 4's
};
inline constexpr MistakeEntry kMistakes[] = {
    {Mistake::mma_no_wait, "mma-no-wait", "the MMA warp does not wait for the stage to be full",
     "mbarrier-phase-unobserved, wrong numbers"},
    {Mistake::epilogue_no_wait, "epilogue-no-wait", "the epilogue does not wait for the last commit",
     "tmem-not-complete, wrong numbers"},
    {Mistake::producer_no_wait, "producer-no-wait", "the producer does not wait for the stage to be empty",
     "wrong numbers"},
    {Mistake::producer_parity, "producer-parity", "the producer's first wait has parity 0", "deadlock"},
    {Mistake::expect_too_many, "expect-too-many", "expect_tx names 16 bytes more than the boxes have", "deadlock"},
    {Mistake::expect_too_few, "expect-too-few", "expect_tx forgets the bytes of B", "mbarrier-tx-mismatch"},
    {Mistake::stage_not_released, "stage-not-released", "one commit is skipped", "deadlock"},
    {Mistake::barrier_not_initialised, "barrier-not-initialised", "one mbarrier is never initialised",
     "mbarrier-not-initialised"},
    {Mistake::descriptor_stride, "descriptor-stride", "A's descriptor has half the stride", "wrong numbers"},
    {Mistake::descriptor_swizzle, "descriptor-swizzle", "B's descriptor names another swizzle than its map",
     "wrong numbers"},
    {Mistake::wrong_lanes, "wrong-lanes", "epilogue warps read lanes that are not theirs", "tmem-warp-owner"},
    {Mistake::load_not_waited, "load-not-waited", "registers of tcgen05.ld are used before wait::ld",
     "tmem-load-not-waited"},
    {Mistake::no_dealloc, "no-dealloc", "the kernel ends without dealloc", "tmem-leak"},
    {Mistake::not_drained, "not-drained", "the MMA warp does not wait for the epilogues to have read the accumulator",
     "tmem-not-complete, deadlock", true},
    {Mistake::commit_one, "commit-one", "a pair's commits arrive in the even CTA alone", "deadlock", true},
    {Mistake::expect_half, "expect-half", "the even CTA expects its own bytes, not those of both",
     "mbarrier-tx-mismatch", true},
};

/// Step 4, or step 8 where the entry says so, for bf16 inputs and f32 output, with the mistake.
void launch_mistake(Mistake m, const Problem& p);
void launch_pair_mistake(Mistake m, const Problem& p);

}  // namespace gemm
