// Diagnoses of matrix instructions: tcgen05.mma, its commit and its descriptors, wgmma.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kMmaCodes[] = {
    {"collector-empty", kWarning, "tcgen05.mma takes an operand from a collector buffer that no MMA has filled.",
     Rule{"use and lastuse follow a fill, in one sequence of MMAs.", "9.7.16.10.9.1 tcgen05.mma"},
     Hardware{unknown, "tinygpu reads the operand from the place that the instruction names."},
     Fix{"Fill it in the first of the sequence.",
         "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [d0], a, b0, idesc, p;\n"
         "tcgen05.mma.cta_group::1.kind::f16.collector::a::lastuse [d1], a, b1, idesc, p;"}},
    {"collector-stale", kError, "A, or B of .ws, differs from the contents of the collector buffer.",
     Rule{"From fill to lastuse all MMAs name one operand, and its memory does not change.",
          "9.7.16.10.9.1 tcgen05.mma"},
     Hardware{inferred, "It may take the old operand or the new one."}, Fix{"Fill again when the operand changes."}},
    {"commit-empty", kWarning,
     "tcgen05.commit in a thread that has issued no tcgen05.mma, cp or shift, while another thread has.",
     Rule{"A commit covers the asynchronous operations that its own thread has issued, not those of other threads.",
          "9.7.16.12.1 tcgen05.commit"},
     Hardware{published,
              "It arrives at once. In a CTA pair only the issuing CTA's mbarrier was seen to be signalled, and the "
              "peer hung."},
     Fix{"Let one thread issue the operations and commit them.",
         "if (elect_one()) { mma(…); commit(bar); }   // one election for both"}},
    {"commit-mask", kError, "tcgen05.commit with a mask that names CTAs which the cluster does not have.",
     Rule{"Bit i of the mask is the CTA with %cluster_ctarank i.", "9.7.16.12.1 tcgen05.commit"},
     Hardware{unknown, "Reports name hangs with the mask of another pair."},
     Fix{"For a pair make it from the CTA's own rank.", "uint16_t mask = 3 << (rank & ~1u);"}},
    {"commit-target-exited", kError, "A commit arrives at an mbarrier of a CTA that has exited, or that is not there.",
     Rule{"A CTA whose mbarrier a commit signals stays until the arrival has been made.", "9.7.16.12.1 tcgen05.commit"},
     Hardware{published, "A fault (the CTA no longer exists), reported for SGLang's kernels."},
     Fix{"Let the cluster meet before any CTA exits.", "barrier.cluster.arrive;  barrier.cluster.wait;"}},
    {"instruction-descriptor", kError, "An instruction descriptor that does not describe an MMA of this kind.",
     Rule{"Formats, M, N and the other fields are legal together, for the kind, the .cta_group and .sp.",
          "9.7.16.4.2 Instruction descriptor"},
     Hardware{published, "Error 715, often reported by a later call. ptxas cannot see it."},
     Fix{"`gen5 explain --instr-desc 0x… --kind f16` reads it field by field, and says what is legal."}},
    {"matrix-descriptor", kError | kWarning,
     "A shared-memory descriptor with fields that do not exist, or are not allowed together.",
     Rule{"Addresses and offsets are in units of 16 bytes; the swizzle code, the constant field and the reserved bits "
          "have the values of the instruction: tcgen05 has 1 in bits 48:46, wgmma 0.",
          "9.7.16.4.1 Shared memory descriptor"},
     Hardware{measured, "wgmma ignores its reserved bits: a warning. What tcgen05 does with them is not known."},
     Fix{"`gen5 explain --smem-desc 0x…` reads it field by field."}},
    {"matrix-out-of-bounds", kError,
     "A matrix descriptor describes an operand that lies partly outside of the CTA's "
     "shared memory.",
     Rule{"Start address, LBO and SBO are in units of 16 bytes; all rows and columns of the operand lie in shared "
          "memory.",
          "9.7.16.4.1 Shared memory descriptor"},
     Hardware{measured, "wgmma: error 700. tcgen05: not known."},
     Fix{"Divide byte offsets by 16. `gen5 explain --smem-desc 0x… --rows N` shows where each row is read.",
         "desc |= uint64_t(stride_in_bytes >> 4) << 32;   // SBO"}},
    {"mma-ashift-shape", kError, ".ashift with an M for which it does not exist.",
     Rule{".ashift exists for M = 128 and M = 256.", "9.7.16.10.9.1 tcgen05.mma"}, Hardware{unknown},
     Fix{"Take M = 128, or 256 in a pair."}},
    {"mma-lane-alignment", kWarning | kStrict,
     "The accumulator, or an A in Tensor Memory, starts at a lane that is illegal for its shape.",
     Rule{"Tiles of 128 lanes start at lane 0. With M = 64 a tile fills 16 lanes of each quarter: it starts at 0 or "
          "16, and A and D start at one of them.",
          "9.7.16.10.5 Data Path Layout Organization"},
     Hardware{generated, "A trap if ptxas adds checks (-g-tmem-access-check). Otherwise not known."},
     Fix{"Leave the lane field 0, except for the upper half of M = 64."}},
    {"operand-layout", kWarning, "An MMA reads its operand in another layout than it was written in.",
     Rule{
         "The descriptor's start address, LBO, SBO and swizzle describe the operand's layout: each byte belongs to one "
         "element, all rows begin at one place along K, and so do A and B. No rule forbids other layouts.",
         "9.7.16.4.1 Shared memory descriptor"},
     Hardware{measured,
              "The tensor core multiplies the bytes that the descriptor names: wrong numbers, without an "
              "error."},
     Fix{"Give the tensor map and the descriptor one swizzle, and compare LBO and SBO with the box. `gen5 explain "
         "--smem-desc 0x… --rows N` shows where each row is read.",
         "SBO: 8 rows further (K-major), LBO: 16 bytes further along K (without swizzle)"}},
    {"scale-factor-copies", kError, "Scale factors differ between the four partitions of Tensor Memory.",
     Rule{"The factors of A and of B lie in all four partitions (of B with M = 128 in a pair: a half each in two).",
          "9.7.16.10.7 Block scaling"},
     Hardware{inferred, "Each partition multiplies its rows by its own copy. tinygpu uses the first partition's copy."},
     Fix{"Load them with a copy that writes all four partitions.",
         "tcgen05.cp.cta_group::1.32x128b.warpx4 [taddr], desc;"}},
    {"sparse-metadata", kError, "Metadata of a sparse MMA with a code that has no meaning.",
     Rule{"Four bits name two different ones of four elements (or pairs): 0x4, 0x8, 0xc, 0x9, 0xd, 0x6, 0xe; with tf32 "
          "one of two: 0x4, 0xe.",
          "9.7.16.10.8 Sparse matrices"},
     Hardware{
         inferred,
         "Undefined by the manual. tinygpu uses the two indices as their bits say. CUTLASS's compressor writes 0 where "
         "all elements are zeros: that is no error."},
     Fix{"Compress A with the library's compressor, and store the metadata of all M rows before the MMA."}},
    {"wgmma-fence-missing", kWarning,
     "A wgmma.mma_async without wgmma.fence, as a warp's first or after writes to its registers.",
     Rule{
         "wgmma.fence orders a warpgroup's registers and memory before the first wgmma.mma_async, and before any whose "
         "registers have been touched since.",
         "9.7.15.7.1 wgmma.fence"},
     Hardware{documented,
              "Undefined. The check follows writes to registers of A or of an accumulator through copies (mov), which "
              "compilers put around inline assembly; it does not follow reads."},
     Fix{"Fence in all warps of the warpgroup.", "wgmma.fence.sync.aligned;"}},
    {"wgmma-not-uniform", kError | kWarning, "The four warps of a warpgroup issue different wgmma.mma_async.",
     Rule{"All threads of the warpgroup execute one instruction, with equal descriptors and scale-d.",
          "9.7.15.5.2 wgmma.mma_async"},
     Hardware{
         measured,
         "Other descriptors in some warps: lane 0 of the first warp names the operands of all four. Not promised."},
     Fix{"Compute the descriptors from values that are uniform in the warpgroup, not from threadIdx.x / 32."}},
    {"wgmma-not-waited", kWarning, "A thread accesses registers of a wgmma.mma_async before wgmma.wait_group.",
     Rule{"The accumulator, and A in registers, belong to the operation until the thread has waited for it.",
          "9.7.15.7.3 wgmma.wait_group"},
     Hardware{documented,
              "Undefined. ptxas 13.0 waits in front of such a use where it sees one (C7517). In tinygpu the values are "
              "right in timed order, and those of accumulators garbage with --order late or --seed. A mov is no use: "
              "what uses its result is."},
     Fix{"Commit the group and wait for it.",
         "wgmma.commit_group.sync.aligned;\n"
         "wgmma.wait_group.sync.aligned 0;"}},
    {"zero-column-mask", kError, "A zero-column mask of tcgen05.mma.ws with fields that are not legal.",
     Rule{"Reserved bits are 0; the column shift is at most 16 with M = 32, otherwise 32, and at most what the "
          "instruction descriptor allows.",
          "9.7.16.4.3 Zero-column mask descriptor"},
     Hardware{unknown}, Fix{"Pass 0 to take all columns of B."}},
};

}  // namespace tinygpu::diagnosis
