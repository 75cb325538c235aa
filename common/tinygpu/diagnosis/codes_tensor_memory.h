// Diagnoses of Tensor Memory: its allocation, loads and stores, pairs of CTAs, the order of tcgen05 operations.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kTensorMemoryCodes[] = {
    {"accumulator-unread", kNote, "Nothing loads the accumulator that an MMA writes.",
     Rule{"No rule is broken, but a product without a reader is of no use."},
     Hardware{documented, "Hardware reports nothing."},
     Fix{"Check whether the epilogue loads other columns, or leave the MMA out."}},
    {"alloc-after-relinquish", kError, "tcgen05.alloc in a CTA that has given up its permit.",
     Rule{"After relinquish_alloc_permit a CTA may only free columns.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{generated, "A trap: error 719."}, Fix{"Relinquish after the last alloc."}},
    {"alloc-destination", kError, "tcgen05.alloc writes the address to memory that is not the CTA's own shared memory.",
     Rule{"The destination is a 32-bit word of the executing CTA's shared memory.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{inferred, "Error 700."},
     Fix{"Give it a __shared__ word, and read that word after a barrier.",
         "__shared__ uint32_t slot;\n"
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;   // one warp"}},
    {"alloc-granularity", kWarning | kStrict, "tcgen05.alloc or dealloc of a number of columns that does not exist.",
     Rule{"The number of columns is a power of two from 32 to 512.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{generated, "A trap if ptxas adds checks (-g-tmem-access-check). Otherwise not known."}, Fix{"Round up."}},
    {"alloc-size-grew", kWarning | kStrict, "A CTA allocates more columns than in its previous allocation.",
     Rule{"The sizes of a CTA's allocations do not grow: CTAs of one SM could wait for each other's columns.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{inferred, "Nothing checks it. Two CTAs that wait for each other hang."},
     Fix{"Allocate the largest block first, or one block for all."}},
    {"cta-group-mixed", kWarning | kStrict,
     "tcgen05 instructions with .cta_group::1 and with .cta_group::2 in one kernel.",
     Rule{"All tcgen05 instructions of a kernel have one .cta_group.", "9.7.16.5 Issue Granularity"},
     Hardware{published,
              "Error 715, for a commit of another group than its MMA's. ptxas refuses both in one function."},
     Fix{"Use one .cta_group for the whole kernel."}},
    {"cta-pair-exited", kError, "One CTA of a pair exits, or has exited, while the other CTA still needs it.",
     Rule{"Instructions with .cta_group::2 belong to both CTAs; both must stay until the last instruction has ended.",
          "9.7.16.5.1 CTA Pair"},
     Hardware{documented, "The other CTA waits forever."},
     Fix{"Let both CTAs take part in every alloc and dealloc, and meet before they exit.",
         "tcgen05.dealloc.cta_group::2.sync.aligned.b32 base, 128;   // in both\n"
         "barrier.cluster.arrive;  barrier.cluster.wait;"}},
    {"cta-pair-mismatch", kError, "The CTAs of a pair allocate or free different blocks.",
     Rule{"With .cta_group::2 one warp of each CTA executes each alloc or dealloc, both with one number of columns.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{unknown}, Fix{"Run one sequence of allocations in both CTAs."}},
    {"cta-pair-missing", kError, ".cta_group::2 in a CTA that has no pair.",
     Rule{"A pair is two CTAs of a cluster whose %cluster_ctarank differ in bit 0 alone.", "9.7.16.5.1 CTA Pair"},
     Hardware{unknown},
     Fix{"Launch with a cluster of an even number of CTAs.", "__global__ void __cluster_dims__(2) kernel(…)"}},
    {"cta-pair-shares-sm", kError, "Both CTAs of a pair are on one SM of the machine model.",
     Rule{"A pair is two SMs. The chosen machine has only one."}, Fix{"Choose a machine with at least two SMs."}},
    {"dealloc-before-peer", kError, "One CTA of a pair frees columns while the other CTA's alloc has not ended.",
     Rule{"The allocation of a pair has ended when both CTAs have the address.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{published, "Error 719, in 25 of 25 runs on a B300 (CUTLASS issue 3435)."},
     Fix{"Put a barrier of the cluster between the allocation and the first dealloc."}},
    {"dealloc-mismatch", kError | kWarning | kStrict,
     "tcgen05.dealloc with an address that alloc did not return, or with another number of columns.",
     Rule{"dealloc frees a whole block, by the address that alloc wrote, with no lane and no column added.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{generated,
              "An address at which no block begins: a trap, error 719. Hardware ignores the count and the lane."},
     Fix{"Keep the address unchanged; add offsets in other registers."}},
    {"tcgen05-not-uniform", kWarning | kStrict,
     "The threads of a warp pass different operands to a tcgen05 instruction that the whole warp executes.",
     Rule{"Addresses and counts of .sync.aligned instructions are equal in all 32 threads.",
          "9.7.16.5 Issue Granularity"},
     Hardware{unknown},
     Fix{"Compute them from uniform values, or broadcast them.", "uint32_t base = __shfl_sync(~0u, address, 0);"}},
    {"tcgen05-partial-warp", kWarning | kStrict,
     "A .sync.aligned tcgen05 instruction in a warp some of whose threads have exited or were never launched.",
     Rule{"All 32 threads of the warp execute it.", "9.7.16.5 Issue Granularity"}, Hardware{unknown},
     Fix{"Use a block size that is a multiple of 32, and no early return in such warps."}},
    {"tensor-core-busy-at-exit", kWarning, "A CTA exits while one of its mma, cp or shift has not ended.",
     Rule{"tcgen05.mma, cp and shift are asynchronous; only a commit's mbarrier shows that they have ended.",
          "9.7.16.6.2 Pipelined tcgen05 Instructions"},
     Hardware{unknown}, Fix{"Commit after the last of them, and wait for the commit before the kernel ends."}},
    {"tmem-alignment", kWarning | kStrict, "An access to Tensor Memory starts at a lane that is illegal for its shape.",
     Rule{"Shapes of 32 lanes start at the first lane of a warp's quarter, shapes of 16 lanes there or 16 lanes "
          "further; cp and shift start where their shape says.",
          "9.7.16.2 Matrix and Data Movement Shape"},
     Hardware{unknown},
     Fix{"Start at lane 0, 32, 64 or 96, or 16 past it for .16x64b, .16x128b, .16x256b and .16x32bx2."}},
    {"tmem-fence-missing", kWarning | kNote,
     "One thread uses cells of Tensor Memory after another, without tcgen05.fence on both sides of their "
     "synchronisation.",
     Rule{"A barrier or an mbarrier orders tcgen05 operations of two threads only between "
          "tcgen05.fence::before_thread_sync and ::after_thread_sync. tcgen05.commit replaces the first fence.",
          "9.7.16.6.4.4 Non-pipelined instructions, different threads"},
     Hardware{published,
              "The fences compile to no instruction: they keep the compiler from moving tcgen05 operations. CUTLASS's "
              "sm100 kernels leave some of them out and are right on a B200."},
     Fix{"Put before_thread_sync before the arrive or barrier, and after_thread_sync after the wait.",
         "tcgen05.fence::before_thread_sync;  bar.sync 0;  tcgen05.fence::after_thread_sync;"}},
    {"tmem-leak", kWarning | kStrict, "A CTA exits with columns of Tensor Memory allocated.",
     Rule{"A kernel frees all its columns before it ends.",
          "9.7.16.7.1 tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"},
     Hardware{unknown,
              "CUDA has an error for it, CUDA_ERROR_TENSOR_MEMORY_LEAK. In tinygpu the columns stay allocated until "
              "the kernel ends, and a CTA that waits for them hangs."},
     Fix{"Let one whole warp free the columns, after a barrier of all users, on every path to the end.",
         "tcgen05.fence::before_thread_sync;  bar.sync 0;  tcgen05.fence::after_thread_sync;\n"
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 base, 128;   // one warp"}},
    {"tmem-load-not-waited", kError | kWarning | kNote,
     "A thread touches cells that a tcgen05.ld reads, or the registers of the load, before tcgen05.wait::ld.",
     Rule{"A load is asynchronous. Until wait::ld its cells must not be rewritten, freed or given to other threads. A "
          "register's value is safe, because hardware waits for it: such a use is a note. What this warp does after "
          "the use comes after the load. For other warps the use orders nothing.",
          "9.7.16.6.4.5 Register dependencies, same thread"},
     Hardware{published,
              "Registers are right: CUTLASS's 01_mma_sm100 and Triton's kernels use them so. Loads from cells that "
              "were given away too early sometimes returned wrong values (flashinfer issue 5334)."},
     Fix{"Execute wait::ld after the load, before the arrive that gives the stage back.",
         "tcgen05.ld.sync.aligned.32x32b.x8.b32 {…}, [taddr];\n"
         "tcgen05.wait::ld.sync.aligned;\n"
         "tcgen05.fence::before_thread_sync;  mbarrier.arrive.shared::cta.b64 _, [empty];"}},
    {"tmem-not-complete", kError | kWarning,
     "A thread or operation touches cells of Tensor Memory that a st, mma, cp or shift still uses.",
     Rule{"A st is complete after tcgen05.wait::st; an mma, cp or shift is complete after a wait on its commit's "
          "mbarrier. Barriers of threads wait for none of them.",
          "9.7.16.6.4.2 Non-pipelined instructions, same thread"},
     Hardware{inferred, "Old or new values, depending on timing; --order late shows the old ones."},
     Fix{"Wait in the issuing thread, then meet the other threads at a barrier with tcgen05.fence on both sides.",
         "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
         "L: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;  @!p bra L;\n"
         "tcgen05.fence::after_thread_sync;  tcgen05.ld …"}},
    {"tmem-out-of-bounds", kWarning | kStrict, "An access past column 511 or lane 127.",
     Rule{"Tensor Memory has 128 lanes and 512 columns; an address is lane << 16 | column.",
          "9.7.16.1.1 Tensor Memory Addressing"},
     Hardware{generated,
              "A trap if ptxas adds checks (-g-tmem-access-check). Otherwise a warp's ld takes its own quarter "
              "whatever the upper lane bits are; for columns nothing is known."},
     Fix{"Keep the base column plus the width of the access within 512."}},
    {"tmem-unallocated", kError | kWarning | kStrict,
     "An access to columns of Tensor Memory that the CTA has not allocated, or has freed.",
     Rule{"A CTA may access only columns that alloc returned. CTAs of an SM share the columns: a base is not always 0.",
          "9.7.16.1.2 Tensor Memory Allocation"},
     Hardware{generated,
              "dealloc: a trap, error 719. Other accesses: a trap if ptxas adds checks (-g-tmem-access-check); "
              "otherwise they reach the cells, even those of another CTA."},
     Fix{"Use the address that alloc wrote as the base, and allocate all columns that the kernel uses."}},
    {"tmem-uninitialised", kWarning,
     "The kernel reads cells of Tensor Memory that nothing has written since their "
     "allocation.",
     Rule{"The contents of fresh columns are arbitrary.", "9.7.16.1.2 Tensor Memory Allocation"},
     Hardware{documented, "No document defines the values. tinygpu fills the cells with a visible pattern."},
     Fix{"Write first: tcgen05.st, cp, or a first mma without accumulation.",
         "setp.ne.b32 accumulate, k, 0;   // false for the first block\n"
         "tcgen05.mma.cta_group::1.kind::f16 [d], a, b, idesc, accumulate;"}},
    {"tmem-unordered", kError | kWarning | kNote, "Two of mma, cp and shift touch one cell, and nothing orders them.",
     Rule{"The order of issue holds between MMAs with one accumulator, shape and kind, from cp or shift to mma, from "
          "mma to shift, and from shift to cp.4x256b. All other pairs may run in any order.",
          "9.7.16.6.2 Pipelined tcgen05 Instructions"},
     Hardware{
         published,
         "CUTLASS's 77_blackwell_fmha relies on MMAs in the order of issue, and is right on a B200; --order late and "
         "--seed may swap them. Its block-scaled and sparse main loops rely on a cp executing after the MMA that reads "
         "the overwritten scale factors or metadata: tinygpu keeps that order and gives one note a kernel."},
     Fix{"Wait for the first operation's commit on its mbarrier."}},
    {"tmem-warp-owner", kWarning | kStrict, "tcgen05.ld or st names lanes of another warp's quarter.",
     Rule{"Warp w reaches lanes 32 · (w mod 4) to 32 · (w mod 4) + 31. The lane in the address is absolute.",
          "9.7.16.8.1 Access restrictions"},
     Hardware{published,
              "The warp accesses its own quarter; hardware ignores the upper part of the lane field. DeepGEMM and "
              "FlashMLA pass lane 0 in every warp and run right on a B200. A trap if ptxas adds checks "
              "(-g-tmem-access-check). Not promised."},
     Fix{"Add the quarter to the address.", "uint32_t mine = base + (threadIdx.x / 32 % 4 << 21);"}},
};

}  // namespace tinygpu::diagnosis
