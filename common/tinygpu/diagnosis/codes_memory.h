// Diagnoses of memory: addresses, alignment, state spaces, other CTAs' shared memory.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kMemoryCodes[] = {
    {"async-not-complete", kError | kWarning,
     "An access to memory that an asynchronous operation in flight writes or still reads.",
     Rule{"An operation runs beside the thread that issued it. A bulk copy's data are there when its mbarrier's "
          "phase has ended, its source is free when its bulk group has been waited for; an MMA has read its operands "
          "when its commit has arrived. A barrier of threads waits for none of them.",
          "9.7.9.25.1 Completion Mechanisms for Asynchronous Copy Operations"},
     Hardware{
         inferred,
         "Old or new bytes, as time has it. Of a copy that fills again what another has filled and nobody read, it is "
         "a warning."},
     Fix{"For a load wait on its mbarrier; for a store commit its group and wait for it, in the thread that issued it.",
         "L: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], parity;  @!p bra L;   // before reading\n"
         "cp.async.bulk.commit_group;  cp.async.bulk.wait_group.read 0;   // before writing again"}},
    {"cluster-rank", kError, "A shared::cluster address names a CTA that the cluster does not have.",
     Rule{"mapa takes ranks below %cluster_nctarank; any other gives an address of nothing.", "9.7.9.23 mapa"},
     Hardware{measured, "mapa itself takes any rank. The access ends the launch with error 719."},
     Fix{"Check the rank before mapa, and that the kernel was launched with the cluster that it counts on.",
         "mov.u32 n, %cluster_nctarank;   // rank < n\n"
         "mapa.shared::cluster.u32 remote, local, rank;"}},
    {"data-race", kError | kWarning | kNote,
     "Two accesses to the same memory, one of which writes, and nothing orders them.",
     Rule{"An access happens before another one if synchronisation leads from the one to the other: barriers, an "
          "mbarrier's arrive and wait, a release that an acquire has read. Time and lock step are not promised.",
          "8.7.1 Conflict and Data-races"},
     Hardware{inferred,
              "Old or new bytes, as time has it. Where one instruction of several warps stores to one place it is a "
              "warning: harmless if all store the same. A write behind a read, with the end of an asynchronous "
              "operation between them that was issued behind the read, is a note: it cannot come first."},
     Fix{"Put a barrier between the two, or let the earlier thread release what the later one acquires.",
         "bar.sync 0;   // __syncthreads()"}},
    {"exit-with-remote-access", kError | kWarning,
     "An access to the shared memory of a CTA of the cluster that has exited, or is exiting under it.",
     Rule{"Shared memory lives as long as its CTA. Who may still be reached by others of the cluster has to stay.",
          "5.1.7 Shared State Space"},
     Hardware{measured,
              "Loads, atomics, st.async and bulk copies end in error 719. Stores and operations on mbarriers do so by "
              "chance: where the CTA that issued them lives on, and mostly not where it ends; they have no effect."},
     Fix{"Let all CTAs of the cluster meet before any of them exits.",
         "barrier.cluster.arrive;\n"
         "barrier.cluster.wait;   // cooperative_groups: this_cluster().sync()"}},
    {"global-uninitialised", kWarning, "Device memory is read that nobody has written.",
     Rule{"cudaMalloc gives memory that may hold anything. Looked for with --memory."},
     Hardware{documented, "What another program, or an allocation before, has left there; often zeros."},
     Fix{"Write first; where a kernel reads past the end of its data, compare its guards and the tensor map's sizes."}},
    {"heap-free-invalid", kError,
     "free in a kernel, of a pointer that malloc in a kernel did not return, or for a second time.",
     Rule{"Memory goes back where it came from: malloc in a kernel to free in a kernel, cudaMalloc to cudaFree."},
     Hardware{measured, "Memory that malloc in a kernel did not give: goes on. Freed twice: error 719."},
     Fix{"Keep the pointer that malloc returned, and free it once."}},
    {"illegal-address", kError, "An access outside of what is allocated there.",
     Rule{"A global address lies in memory that is allocated and not freed; one of local, constant or parameter memory "
          "inside of that memory.",
          "5.1 State Spaces"},
     Hardware{measured,
              "Error 700 for a null pointer. A chip looks at pages, not at allocations: just past one it may notice "
              "nothing."},
     Fix{"Compare the index with the allocation that the message names. A host pointer has to be registered first."}},
    {"lane-order-missing", kError | kWarning | kNote,
     "A lane of a warp touches what another lane has touched, and the two have not met.",
     Rule{"Lanes of a warp are threads: each runs by itself. shfl, vote, elect and the like order no memory; "
          "bar.warp.sync does.",
          "9.7.13.2 bar.warp.sync"},
     Hardware{
         inferred,
         "Mostly right, until the compiler moves an access or lanes run apart. Where all lanes have stored the same "
         "value and one of them has synchronised it is a note."},
     Fix{"Let the lanes meet between the two accesses.", "bar.warp.sync 0xffffffff;   // __syncwarp()"}},
    {"misaligned-address", kError, "The address is not a multiple of the size of the access.",
     Rule{"An access is aligned to its size, the whole vector's for .v2, .v4 and .v8.", "6.4.1 Addresses as Operands"},
     Hardware{measured, "Error 716."},
     Fix{"Align the object, or use a narrower access.", "alignas(16) __shared__ float tile[1024];   // for float4"}},
    {"multimem-not-multicast", kError, "A multimem instruction on an address that is not of a multicast object.",
     Rule{"multimem reaches memory that cuMulticastCreate and cuMulticastBindMem have bound on several GPUs. This "
          "machine is one GPU and has no such memory.",
          "9.7.9.14 multimem"},
     Hardware{inferred, "The ISA leaves it undefined; error 700 here."},
     Fix{"On one GPU use ld, st and red.", "red.relaxed.sys.global.add.u32 [address], value;"}},
    {"not-global", kError, "st.async.release to memory that is not global.",
     Rule{"The .release form of st.async stores to global memory; the one to shared memory has an mbarrier instead.",
          "9.7.9.12 st.async"},
     Hardware{unknown}, Fix{"Pass a global address, or use st.async with .shared::cluster and an mbarrier."}},
    {"not-shared", kError,
     "A generic address outside of shared memory, for an instruction that reaches shared memory only.",
     Rule{"ldmatrix, stmatrix and all of mbarrier work on shared memory.", "5.1.7 Shared State Space"},
     Hardware{measured, "Error 715, for ldmatrix and mbarrier.arrive on global memory."},
     Fix{"Pass the address of a __shared__ object.", "uint32_t at = uint32_t(__cvta_generic_to_shared(pointer));"}},
    {"race-check-incomplete", kNote, "The kernel synchronises in a way that the check for races does not follow.",
     Rule{"With griddepcontrol a grid runs beside the one before it. What these two touch is followed; what the one "
          "before both touches is not, and they may meet where dependents start before griddepcontrol.wait."},
     Fix{"Wait first, then let dependents start.", "griddepcontrol.wait;  griddepcontrol.launch_dependents;"}},
    {"scope-too-narrow", kError | kWarning | kNote,
     "A release and an acquire lie between two accesses, but do not reach: a scope is too narrow, or one is .relaxed.",
     Rule{"A release reaches an acquire if either scope has the other thread in it: .cta within a CTA, .cluster "
          "within a cluster. mbarrier.arrive and its waits are .cta unless they say otherwise. Relaxed operations "
          "order nothing.",
          "8.5 Scope"},
     Hardware{
         generated,
         "ptxas emits other code for .release.cluster and .acquire.cluster than for the narrow forms; what the "
         "narrow ones lose shows itself by chance. Where only reads lie behind it, it is a note: kernels of CUTLASS "
         "free remote buffers so."},
     Fix{"Name the scope that has both threads in it.",
         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
         "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [bar], parity;"}},
    {"shared-out-of-bounds", kError, "An access past the CTA's shared memory, or in its reserved first KiB.",
     Rule{"A CTA has its static and dynamic shared memory. The first KiB of the window belongs to the system.",
          "5.1.7 Shared State Space"},
     Hardware{measured, "Error 700 past the end. Accesses to the reserved KiB go on; here they stop as well."},
     Fix{"Compare the size of the access, or the box of the tensor map, with what the kernel declares and what the "
         "launch gives.",
         "kernel<<<grid, block, bytes>>>(…);   // bytes: all of extern __shared__"}},
    {"shared-window", kError, "An address in another CTA's shared memory, for an instruction that takes only its own.",
     Rule{".shared and .shared::cta mean the executing CTA. Others of the cluster are reached by .shared::cluster or a "
          "generic address.",
          "5.1.7 Shared State Space"},
     Hardware{measured, "Error 715, for ld.shared and cp.async.mbarrier.arrive."},
     Fix{"Write .shared::cluster where the instruction has it; else let the other CTA do it.",
         "ld.shared::cluster.u32 r, [remote];"}},
    {"shared-uninitialised", kWarning | kNote, "Bytes of shared memory are read that nobody has written.",
     Rule{"Shared memory holds anything when a CTA begins.", "5.1.7 Shared State Space"},
     Hardware{documented, "What another CTA has left there."},
     Fix{"Write first; where an MMA or a copy reads a tile, compare its descriptor and size with what was written. "
         "Rows that nobody uses may hold anything: then this is no fault."}},
    {"stack-overflow", kError, "A thread needs more local memory than it can have.",
     Rule{"Calls and local arrays live in local memory, which is limited per thread.", "5.1.5 Local State Space"},
     Hardware{measured, "Endless recursion: error 700."},
     Fix{"End the recursion, or move the array to global memory."}},
    {"store-to-parameter", kError, "A store to a kernel's parameters.",
     Rule{"Kernel parameters are read-only for the whole grid.", "5.1.6.1 Kernel Function Parameters"},
     Hardware{measured, "Error 700 through a generic address; on one run, through another address, it went on."},
     Fix{"Copy the parameter to a variable first, and change that."}},
    {"texture-not-an-object", kError, "A texture is read through a handle that is none.",
     Rule{"What a kernel reads through is a live texture object's handle, as it was made.", "9.7.10.3 tex"},
     Hardware{unknown},
     Fix{"Create the object before the launch and destroy it after the kernel has ended.",
         "cudaCreateTextureObject(&texture, &resource, &sampler, nullptr);"}},
    {"texture-read-otherwise", kError,
     "A texture is read by another function, or as another type, than its object has.",
     Rule{"Linear memory is read by an integer, arrays and pitched memory by floats, in as many dimensions as they "
          "have; a texture of integers gives integers unless it was made to give fractions.",
          "9.7.10.3 tex"},
     Hardware{unknown}, Fix{"tex1Dfetch for linear memory; tex1D, tex2D and tex3D by the array's dimensions."}},
};

}  // namespace tinygpu::diagnosis
