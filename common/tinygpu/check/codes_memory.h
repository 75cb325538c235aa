// Diagnoses of memory: addresses, alignment, state spaces, other CTAs' shared memory.
#pragma once
#include "common/tinygpu/check/diagnoses.h"

namespace tinygpu::check {

inline constexpr CodeInfo kMemoryCodes[] = {
    {.code = "async-not-complete",
     .severities = kError,
     .what = "An ordinary access to shared memory that a copy in flight writes or still reads.",
     .rule =
         "A bulk copy runs beside the thread that issued it. Its data are there when its mbarrier's phase has ended, "
         "its source is free when its bulk group has been waited for. A barrier of threads waits for neither.",
     .section = "9.7.9.25.1 Completion Mechanisms for Asynchronous Copy Operations",
     .basis = Basis::inferred,
     .hardware = "Old or new bytes, as time has it.",
     .fix =
         "For a load wait on its mbarrier; for a store commit its group and wait for it, in the thread that issued it.",
     .example =
         "L: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], parity;  @!p bra L;   // before reading\n"
         "cp.async.bulk.commit_group;  cp.async.bulk.wait_group.read 0;   // before writing again"},
    {.code = "cluster-rank",
     .severities = kError,
     .what = "A shared::cluster address names a CTA that the cluster does not have.",
     .rule = "mapa takes ranks below %cluster_nctarank; any other gives an address of nothing.",
     .section = "9.7.9.23 mapa",
     .basis = Basis::measured,
     .hardware = "mapa itself takes any rank. The access ends the launch with error 719.",
     .fix = "Check the rank before mapa, and that the kernel was launched with the cluster that it counts on.",
     .example = "mov.u32 n, %cluster_nctarank;   // rank < n\n"
                "mapa.shared::cluster.u32 remote, local, rank;"},
    {.code = "exit-with-remote-access",
     .severities = kError | kWarning,
     .what = "An access to the shared memory of a CTA of the cluster that has exited, or is exiting under it.",
     .rule = "Shared memory lives as long as its CTA. Who may still be reached by others of the cluster has to stay.",
     .section = "5.1.7 Shared State Space",
     .basis = Basis::measured,
     .hardware =
         "Loads, atomics, st.async and bulk copies end in error 719. Stores and operations on mbarriers do so by "
         "chance: where the CTA that issued them lives on, and mostly not where it ends; they have no effect.",
     .fix = "Let all CTAs of the cluster meet before any of them exits.",
     .example = "barrier.cluster.arrive;\n"
                "barrier.cluster.wait;   // cooperative_groups: this_cluster().sync()"},
    {.code = "heap-free-invalid",
     .severities = kError,
     .what = "free in a kernel, of a pointer that malloc in a kernel did not return, or for a second time.",
     .rule = "Memory goes back where it came from: malloc in a kernel to free in a kernel, cudaMalloc to cudaFree.",
     .basis = Basis::measured,
     .hardware = "A pointer inside another allocation: goes on. Freed twice: error 719.",
     .fix = "Keep the pointer that malloc returned, and free it once."},
    {.code = "illegal-address",
     .severities = kError,
     .what = "An access outside of what is allocated there.",
     .rule =
         "A global address lies in memory that is allocated and not freed; one of local, constant or parameter memory "
         "inside of that memory.",
     .section = "5.1 State Spaces",
     .basis = Basis::measured,
     .hardware = "Error 700 for a null pointer. A chip looks at pages, not at allocations: just past one it may notice "
                 "nothing.",
     .fix = "Compare the index with the allocation that the message names. A host pointer has to be registered first."},
    {.code = "misaligned-address",
     .severities = kError,
     .what = "The address is not a multiple of the size of the access.",
     .rule = "An access is aligned to its size, the whole vector's for .v2, .v4 and .v8.",
     .section = "6.4.1 Addresses as Operands",
     .basis = Basis::measured,
     .hardware = "Error 716.",
     .fix = "Align the object, or use a narrower access.",
     .example = "alignas(16) __shared__ float tile[1024];   // for float4"},
    {.code = "not-global",
     .severities = kError,
     .what = "st.async.release to memory that is not global.",
     .rule = "The .release form of st.async stores to global memory; the one to shared memory has an mbarrier instead.",
     .section = "9.7.9.12 st.async",
     .basis = Basis::unknown,
     .fix = "Pass a global address, or use st.async with .shared::cluster and an mbarrier."},
    {.code = "not-shared",
     .severities = kError,
     .what = "A generic address outside of shared memory, for an instruction that reaches shared memory only.",
     .rule = "ldmatrix, stmatrix and all of mbarrier work on shared memory.",
     .section = "5.1.7 Shared State Space",
     .basis = Basis::measured,
     .hardware = "Error 715, for ldmatrix and mbarrier.arrive on global memory.",
     .fix = "Pass the address of a __shared__ object.",
     .example = "uint32_t at = uint32_t(__cvta_generic_to_shared(pointer));"},
    {.code = "shared-out-of-bounds",
     .severities = kError,
     .what = "An access past the CTA's shared memory, or in its reserved first KiB.",
     .rule = "A CTA has its static and dynamic shared memory. The first KiB of the window belongs to the system.",
     .section = "5.1.7 Shared State Space",
     .basis = Basis::measured,
     .hardware = "Error 700 past the end. Accesses to the reserved KiB go on; here they stop as well.",
     .fix = "Compare the size of the access, or the box of the tensor map, with what the kernel declares and what the "
            "launch gives.",
     .example = "kernel<<<grid, block, bytes>>>(…);   // bytes: all of extern __shared__"},
    {.code = "shared-window",
     .severities = kError,
     .what = "An address in another CTA's shared memory, for an instruction that takes only its own.",
     .rule =
         ".shared and .shared::cta mean the executing CTA. Others of the cluster are reached by .shared::cluster or a "
         "generic address.",
     .section = "5.1.7 Shared State Space",
     .basis = Basis::measured,
     .hardware = "Error 715, for ld.shared and cp.async.mbarrier.arrive.",
     .fix = "Write .shared::cluster where the instruction has it; else let the other CTA do it.",
     .example = "ld.shared::cluster.u32 r, [remote];"},
    {.code = "stack-overflow",
     .severities = kError,
     .what = "A thread needs more local memory than it can have.",
     .rule = "Calls and local arrays live in local memory, which is limited per thread.",
     .section = "5.1.5 Local State Space",
     .basis = Basis::measured,
     .hardware = "Endless recursion: error 700.",
     .fix = "End the recursion, or move the array to global memory."},
    {.code = "store-to-parameter",
     .severities = kError,
     .what = "A store to a kernel's parameters.",
     .rule = "Kernel parameters are read-only for the whole grid.",
     .section = "5.1.6.1 Kernel Function Parameters",
     .basis = Basis::measured,
     .hardware = "Error 700 through a generic address; on one run, through another address, it went on.",
     .fix = "Copy the parameter to a variable first, and change that."},
};

}  // namespace tinygpu::check
