// Diagnoses of Tensor Memory: its allocation, loads and stores, pairs of CTAs, the order of tcgen05 operations.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kTensorMemoryCodes[] = {
    {"alloc-after-relinquish", kError, "tcgen05.alloc in a CTA that has given up its permit.",
     Rule{"After relinquish_alloc_permit a CTA only frees.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{generated, "A trap: error 719."}, Fix{"Relinquish behind the last alloc."}},
    {"alloc-destination", kError, "tcgen05.alloc writes the address to memory that is not the CTA's own shared memory.",
     Rule{"The destination is a 32-bit word of the executing CTA's shared memory.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{inferred, "Error 700."},
     Fix{"Give it a __shared__ word, and read it behind a barrier.",
         "__shared__ uint32_t slot;\n"
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;   // one warp"}},
    {"alloc-granularity", kWarning | kStrict, "tcgen05.alloc or dealloc of a number of columns that does not exist.",
     Rule{"Columns come as a power of two from 32 to 512.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{generated, "A trap where ptxas checks (-g-tmem-access-check). Else not known."}, Fix{"Round up."}},
    {"alloc-size-grew", kWarning | kStrict, "A CTA allocates more columns than it did the time before.",
     Rule{"The sizes of a CTA's allocations do not grow: CTAs of one SM could wait for each other's columns.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{inferred, "Nothing checks it. Two CTAs that wait for each other hang."},
     Fix{"Allocate the largest block first, or one block for all."}},
    {"cta-group-mixed", kWarning | kStrict,
     "tcgen05 instructions with .cta_group::1 and with .cta_group::2 in one kernel.",
     Rule{"All tcgen05 instructions of a kernel have the same .cta_group.", "9.7.16.5 Issue Granularity"},
     Hardware{published,
              "Error 715, for a commit of another group than its MMA's. ptxas refuses both in one function."},
     Fix{"Take one of them for the whole kernel."}},
    {"cta-pair-exited", kError, "One CTA of a pair has exited, or does, while the other needs it.",
     Rule{"Instructions with .cta_group::2 belong to both CTAs; both are there until the last has ended.",
          "9.7.16.5.1 CTA Pair"},
     Hardware{documented, "The other one waits forever."},
     Fix{"Let both take part in every alloc and dealloc, and meet before they exit.",
         "tcgen05.dealloc.cta_group::2.sync.aligned.b32 base, 128;   // in both\n"
         "barrier.cluster.arrive;  barrier.cluster.wait;"}},
    {"cta-pair-mismatch", kError, "The CTAs of a pair allocate or free different blocks.",
     Rule{
         "With .cta_group::2 one warp of each CTA executes the same alloc or dealloc, with the same number of columns.",
         "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{unknown}, Fix{"Run the same sequence in both CTAs."}},
    {"cta-pair-missing", kError, ".cta_group::2 in a CTA that has no pair.",
     Rule{"A pair is two CTAs of a cluster whose %cluster_ctarank differ in bit 0 alone.", "9.7.16.5.1 CTA Pair"},
     Hardware{unknown},
     Fix{"Launch with a cluster of an even number of CTAs.", "__global__ void __cluster_dims__(2) kernel(…)"}},
    {"cta-pair-shares-sm", kError, "Both CTAs of a pair are on one SM of the machine model.",
     Rule{"A pair is two SMs. The chosen machine has only one."}, Fix{"Choose a machine with at least two SMs."}},
    {"dealloc-before-peer", kError, "One CTA of a pair frees columns while the other is still inside of its alloc.",
     Rule{"The allocation of a pair has ended when both have got the address.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{published, "Error 719, in 25 of 25 runs on a B300 (CUTLASS issue 3435)."},
     Fix{"A barrier of the cluster between the allocation and the first dealloc."}},
    {"dealloc-mismatch", kError | kWarning | kStrict,
     "tcgen05.dealloc with an address that alloc did not return, or with another number of columns.",
     Rule{"A block is freed whole, by the very address that alloc wrote, with no lane and no column added.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{generated,
              "An address at which no block begins: a trap, error 719. The count and the lane are not looked at."},
     Fix{"Keep the address as it came; add offsets in other registers."}},
    {"tcgen05-not-uniform", kWarning | kStrict,
     "The threads of a warp pass different operands to a tcgen05 instruction that the whole warp executes.",
     Rule{"Addresses and counts of .sync.aligned instructions are the same in all 32 threads.",
          "9.7.16.5 Issue Granularity"},
     Hardware{unknown},
     Fix{"Compute them from what is uniform, or broadcast.", "uint32_t base = __shfl_sync(~0u, address, 0);"}},
    {"tcgen05-partial-warp", kWarning | kStrict,
     "A .sync.aligned tcgen05 instruction in a warp of which threads have exited or were never launched.",
     Rule{"All 32 threads of the warp execute it.", "9.7.16.5 Issue Granularity"}, Hardware{unknown},
     Fix{"A block size that is a multiple of 32, and no early return in such warps."}},
    {"tensor-core-busy-at-exit", kWarning, "A CTA exits while an mma, cp or shift of it is under way.",
     Rule{"tcgen05.mma, cp and shift are asynchronous; that they have ended is known by a commit's mbarrier alone.",
          "9.7.16.6.2 Pipelined tcgen05 Instructions"},
     Hardware{unknown}, Fix{"Wait for a commit behind the last of them before the kernel ends."}},
    {"tmem-alignment", kWarning | kStrict,
     "An access to Tensor Memory that starts at a lane at which its shape does not start.",
     Rule{"Shapes of 32 lanes start at the first lane of a warp's quarter, shapes of 16 there or 16 lanes on; cp and "
          "shift where their shape says.",
          "9.7.16.2 Matrix and Data Movement Shape"},
     Hardware{unknown},
     Fix{"Start at lane 0, 32, 64 or 96, or 16 past it for .16x64b, .16x128b, .16x256b and .16x32bx2."}},
    {"tmem-fence-missing", kWarning | kNote,
     "Work in Tensor Memory is handed to another thread without tcgen05.fence on both sides.",
     Rule{"A barrier or an mbarrier orders tcgen05 operations of two threads only between "
          "tcgen05.fence::before_thread_sync and ::after_thread_sync. tcgen05.commit stands for the first.",
          "9.7.16.6.4.4 Non-pipelined instructions, different threads"},
     Hardware{published,
              "The fences are no instructions of their own: they keep the compiler from moving tcgen05 operations. "
              "CUTLASS's sm100 kernels leave some of them out and are right on a B200."},
     Fix{"before_thread_sync in front of the arrive or barrier, after_thread_sync behind the wait.",
         "tcgen05.fence::before_thread_sync;  bar.sync 0;  tcgen05.fence::after_thread_sync;"}},
    {"tmem-leak", kWarning | kStrict, "A CTA exits with columns of Tensor Memory allocated.",
     Rule{"Everything that was allocated is freed before the kernel ends.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{unknown,
              "CUDA has an error of its own for it, CUDA_ERROR_TENSOR_MEMORY_LEAK. Here the columns stay taken until "
              "the kernel ends, and a CTA that waits for them hangs."},
     Fix{"One whole warp frees, behind a barrier of all users, on every path to the end.",
         "tcgen05.fence::before_thread_sync;  bar.sync 0;  tcgen05.fence::after_thread_sync;\n"
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 base, 128;   // one warp"}},
    {"tmem-load-not-waited", kError | kWarning | kNote,
     "What a tcgen05.ld reads, or its registers, are touched before tcgen05.wait::ld.",
     Rule{"A load is asynchronous. Until wait::ld its cells may not be rewritten, freed or given to others. A "
          "register's value is safe: hardware waits for it, so that is a note, and what the same warp does behind the "
          "use comes behind the load. To others a use promises nothing.",
          "9.7.16.6.4.5 Register dependencies, same thread"},
     Hardware{published,
              "Registers are right: CUTLASS's 01_mma_sm100 and Triton's kernels use them so. Cells that are given "
              "away under a load came out wrong now and then (flashinfer issue 5334)."},
     Fix{"wait::ld behind the load, before the arrive that gives the stage back.",
         "tcgen05.ld.sync.aligned.32x32b.x8.b32 {…}, [taddr];\n"
         "tcgen05.wait::ld.sync.aligned;\n"
         "tcgen05.fence::before_thread_sync;  mbarrier.arrive.shared::cta.b64 _, [empty];"}},
    {"tmem-not-complete", kError | kWarning,
     "Cells of Tensor Memory are touched while a st, mma, cp or shift is still at them.",
     Rule{"A st is done at tcgen05.wait::st; an mma, cp or shift at the mbarrier of its commit. Barriers of threads "
          "wait for none of them.",
          "9.7.16.6.4.2 Non-pipelined instructions, same thread"},
     Hardware{inferred, "Old or new values, as time has it; --order late shows the old ones."},
     Fix{"Wait in the thread that issued, then meet the others at a barrier with tcgen05.fence on both sides.",
         "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
         "L: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;  @!p bra L;\n"
         "tcgen05.fence::after_thread_sync;  tcgen05.ld …"}},
    {"tmem-out-of-bounds", kWarning | kStrict, "An access past column 511 or lane 127.",
     Rule{"Tensor Memory has 128 lanes and 512 columns; an address is lane << 16 | column.",
          "9.7.16.1.1 Tensor Memory Addressing"},
     Hardware{generated,
              "A trap where ptxas checks (-g-tmem-access-check). Else a warp's ld takes its own quarter whatever the "
              "upper lane bits are; of columns nothing is known."},
     Fix{"Base column plus the width of the access stay within 512."}},
    {"tmem-unallocated", kError | kWarning | kStrict,
     "Columns of Tensor Memory that the CTA has not allocated, or has freed.",
     Rule{"Only what alloc returned may be touched. CTAs of an SM share the columns: a base is not always 0.",
          "9.7.16.1.2 Tensor Memory Allocation"},
     Hardware{generated,
              "dealloc: a trap, error 719. Other accesses: a trap where ptxas checks (-g-tmem-access-check); else it "
              "reaches what is there, another CTA's values as well."},
     Fix{"Use the address that alloc wrote as the base, and allocate all that is used."}},
    {"tmem-uninitialised", kWarning, "Cells of Tensor Memory are read that nothing has written since their allocation.",
     Rule{"Fresh columns hold anything.", "9.7.16.1.2 Tensor Memory Allocation"},
     Hardware{documented, "No document defines the values. Here it is a pattern that shows."},
     Fix{"Write first: tcgen05.st, cp, or a first mma without accumulation.",
         "setp.ne.b32 accumulate, k, 0;   // false for the first block\n"
         "tcgen05.mma.cta_group::1.kind::f16 [d], a, b, idesc, accumulate;"}},
    {"tmem-unordered", kError | kWarning | kNote, "Two mma, cp or shift touch the same cells, and nothing orders them.",
     Rule{"The order of issue counts between MMAs with the same accumulator, shape and kind, from cp or shift to "
          "mma, from mma to shift, and from shift to cp.4x256b. All else may run in any order.",
          "9.7.16.6.2 Pipelined tcgen05 Instructions"},
     Hardware{
         published,
         "CUTLASS's 77_blackwell_fmha counts on MMAs in the order of issue, and is right on a B200; --order late and "
         "--seed may swap them. Its block-scaled and sparse main loops count on a cp behind the MMA that reads the "
         "scale factors or metadata that it overwrites: that order is kept here too, and is one note a kernel."},
     Fix{"Wait for the first one's commit on its mbarrier."}},
    {"tmem-warp-owner", kWarning | kStrict, "tcgen05.ld or st names lanes of another warp's quarter.",
     Rule{"Warp w reaches lanes 32 · (w mod 4) to 32 · (w mod 4) + 31. The lane in the address is absolute.",
          "9.7.16.8.1 Access restrictions"},
     Hardware{published,
              "The warp gets its own quarter, whatever the lane field says above its 32: DeepGEMM and FlashMLA pass "
              "lane 0 in every warp and run right on a B200. A trap where ptxas checks (-g-tmem-access-check). Not "
              "promised."},
     Fix{"Add the quarter to the address.", "uint32_t mine = base + (threadIdx.x / 32 % 4 << 21);"}},
};

}  // namespace tinygpu::diagnosis
