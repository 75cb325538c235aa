// What the PTX ISA calls a race, or does not promise, and kernels do that are known to give right results on hardware:
// told as warnings. This is the one list of them.
#pragma once
#include <string>
#include <string_view>

namespace tinygpu {

struct ReliedOn {
  std::string_view what;
  std::string_view kernels;
  /// What a diagnosis says of it behind its own sentence.
  std::string said() const { return ". Known kernels do so and are right on hardware: " + std::string(kernels); }
};

inline constexpr ReliedOn kOperandFence{"ordinary stores that an MMA reads as its operand without fence.proxy.async",
                                        "CUTLASS's tutorial 01_mma_sm100"};
inline constexpr ReliedOn kCopiedOperand{
    "cp.async copies that an MMA reads without fence.proxy.async",
    "CUTLASS's tutorial wgmma_sm90 and its sm100 main loops that load with cp.async"};
inline constexpr ReliedOn kReadBeforeCopy{
    "ordinary reads of a buffer that a copy then fills, that an mbarrier passes on without fence.proxy.async",
    "CUTLASS's sm90 main loop with A in registers"};
inline constexpr ReliedOn kMmaOrder{"MMAs with different accumulators execute in the order of issue",
                                    "CUTLASS's 77_blackwell_fmha"};
inline constexpr ReliedOn kCopyOverOperand{
    "a tcgen05.cp into the scales or metadata that an earlier MMA reads executes behind it",
    "CUTLASS's block-scaled and sparse main loops (72_blackwell_narrow_precision_gemm, 83, 84)"};
inline constexpr ReliedOn kStorePublished{"a tcgen05.st that a barrier publishes without tcgen05.wait::st",
                                          "CUTLASS's 77_blackwell_fmha"};
inline constexpr ReliedOn kSameStore{
    "one instruction in several warps that stores to one place: harmless where all store the same value",
    "Triton's histogram and its warp-specialised kernels"};
inline constexpr ReliedOn kReadThenCas{
    "an ordinary read of a word that others update by atom.cas: harmless where atom.cas compares what has been read",
    "loops around atomicCAS (CUTLASS's subbyte_reference and 88_hopper_fmha)"};
inline constexpr ReliedOn kInitFence{
    "mbarriers that copies signal, initialised without fence.mbarrier_init or fence.proxy.async",
    "CUTLASS's tutorials 02_mma_tma_sm100 to 05_mma_tma_epi_sm100"};
inline constexpr ReliedOn kRelaxedInit{
    "mbarriers initialised behind the last fence.mbarrier_init, and published by barrier.cluster.arrive.relaxed",
    "CUTLASS's sm100 kernels of CTA pairs (the mbarrier of tmem_dealloc: 70_blackwell_gemm, 72, 84)"};
inline constexpr ReliedOn kTensorFences{"finished tcgen05 work behind a barrier without tcgen05.fence on both sides",
                                        "CUTLASS's tutorials 01_mma_sm100 to 05_mma_tma_epi_sm100, Triton's matmuls"};
inline constexpr ReliedOn kArriveWithoutScope{
    "an arrive on another CTA's mbarrier, or a wait for such arrives, without a scope, which is .cta",
    "DeepGEMM's sm100_fp8_fp4_gemm_1d1d"};
inline constexpr ReliedOn kReadThenOneArrives{
    "lanes, or warps of a warpgroup, that read, meet at wgmma or tcgen05.wait alone, and of which one arrives for all",
    "DeepGEMM's sm90_fp8_gemm_1d2d (the scales of a stage), CUTLASS's sm90 main loop with A in registers"};
inline constexpr ReliedOn kRelaxedAlloc{
    "the address that tcgen05.alloc stores, handed to the CTA's warps by barrier.cluster.arrive.relaxed",
    "DeepGEMM's sm100_fp8_fp4_gemm_1d1d with two CTAs"};
inline constexpr ReliedOn kRelaxedOwn{
    "what a CTA stores into its own shared memory and hands over by barrier.cluster.arrive.relaxed",
    "Triton's matmuls of CTA pairs (Gluon's test_mma_shared_inputs)"};
inline constexpr ReliedOn kCopyOverAlloc{
    "a copy over the word into which tcgen05.alloc has stored an address that threads have read, without "
    "fence.proxy.async",
    "Triton's persistent grouped matmul (test_grouped_gemm)"};
inline constexpr ReliedOn kLaneZero{"tcgen05.ld that names lane 0 in every warp",
                                    "the epilogue of DeepGEMM's sm100_fp8_fp4_gemm_1d1d"};
inline constexpr ReliedOn kEndedByOne{
    "an mbarrier that one thread ends, with mbarrier.inval, when others may still wait for it",
    "libcu++'s cuda::pipeline, whose last thread to leave ends its mbarriers"};
inline constexpr ReliedOn kLoadsAtDealloc{
    "columns freed behind tcgen05.ld whose registers have been used, without tcgen05.wait::ld",
    "CUTLASS's tutorials 01_mma_sm100 to 05_mma_tma_epi_sm100"};

}  // namespace tinygpu
