// Diagnoses of memory: addresses, alignment, state spaces, other CTAs' shared memory.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kMemoryCodes[] = {
    {"async-not-complete", kError | kWarning,
     "An access to memory that an asynchronous operation in flight writes or still reads.",
     Rule{"An asynchronous operation runs beside the thread that issued it. A bulk copy's data is complete when its "
          "mbarrier's phase has ended. Its source may be overwritten after a wait for its bulk group. An MMA has read "
          "its operands when its commit has arrived. A barrier of threads waits for none of these.",
          "9.7.9.25.1 Completion Mechanisms for Asynchronous Copy Operations"},
     Hardware{inferred,
              "Old or new bytes, depending on timing. If a copy overwrites bytes of another copy that were not read, "
              "it is a warning."},
     Fix{"For a load wait on its mbarrier; for a store commit its group and wait for it, in the thread that issued it.",
         "L: mbarrier.try_wait.parity.shared::cta.b64 p, [bar], parity;  @!p bra L;   // before reading\n"
         "cp.async.bulk.commit_group;  cp.async.bulk.wait_group.read 0;   // before writing again"}},
    {"cluster-rank", kError, "A shared::cluster address names a CTA that the cluster does not have.",
     Rule{"mapa takes ranks below %cluster_nctarank; any other rank gives an invalid address.", "9.7.9.23 mapa"},
     Hardware{measured, "mapa itself takes any rank. The access ends the launch with error 719."},
     Fix{"Check the rank before mapa, and check that the launch has the cluster size that the kernel expects.",
         "mov.u32 n, %cluster_nctarank;   // rank < n\n"
         "mapa.shared::cluster.u32 remote, local, rank;"}},
    {"data-race", kError | kWarning | kNote,
     "Two accesses to the same memory, one of which writes, and nothing orders them.",
     Rule{"An access happens before another one if synchronisation leads from the first to the second: barriers, an "
          "mbarrier's arrive and wait, a release whose value an acquire has read. Timing and lock step promise "
          "nothing.",
          "8.7.1 Conflict and Data-races"},
     Hardware{inferred,
              "Old or new bytes, depending on timing. If one instruction of several warps stores to one place, it is a "
              "warning: harmless if all store one value. A write after a read is a note if an asynchronous operation "
              "lies between them that was issued after the read and has ended: the write cannot come first."},
     Fix{"Put a barrier between the two accesses, or let the earlier thread release and the later thread acquire.",
         "bar.sync 0;   // __syncthreads()"}},
    {"exit-with-remote-access", kError | kWarning,
     "An access to the shared memory of a CTA of the cluster that has exited or may exit during the access.",
     Rule{"Shared memory lives as long as its CTA. A CTA must stay while other CTAs of the cluster may access its "
          "memory.",
          "5.1.7 Shared State Space"},
     Hardware{measured,
              "Loads, atomics, st.async and bulk copies end in error 719. Stores and operations on mbarriers do so by "
              "chance: if the issuing CTA lives on, and mostly not if it ends; they have no effect."},
     Fix{"Let all CTAs of the cluster meet before any of them exits.",
         "barrier.cluster.arrive;\n"
         "barrier.cluster.wait;   // cooperative_groups: this_cluster().sync()"}},
    {"global-uninitialised", kWarning, "Device memory is read that was never written.",
     Rule{"cudaMalloc returns memory with arbitrary contents. --memory switches this check on."},
     Hardware{documented, "The read returns what another program or an earlier allocation has left; often zeros."},
     Fix{"Write first; if a kernel reads past the end of its data, compare its guards and the tensor map's sizes."}},
    {"heap-free-invalid", kError,
     "free in a kernel, of a pointer that malloc in a kernel did not return, or for a second time.",
     Rule{"Free memory by the function that belongs to its allocation: free in a kernel for malloc in a kernel, "
          "cudaFree for cudaMalloc."},
     Hardware{measured,
              "Memory that malloc in a kernel did not give: goes on; at an address that is no multiple of 16: error "
              "700. Freed twice: error 719."},
     Fix{"Keep the pointer that malloc returned, and free it once."}},
    {"illegal-address", kError | kWarning, "An access outside of allocated memory.",
     Rule{"A global address must lie in memory that is allocated and not freed; an address of local, constant or "
          "parameter memory must lie inside of that memory.",
          "5.1 State Spaces"},
     Hardware{measured,
              "Error 700 for a null pointer. A chip checks pages, not allocations: just past an allocation it may "
              "notice nothing. torch's allocator gives blocks of 512 bytes: past a tensor, but in its block, it is a "
              "warning."},
     Fix{"Compare the index with the allocation that the message names. A host pointer has to be registered first."}},
    {"lane-order-missing", kError | kWarning | kNote,
     "Two lanes of a warp access one place, and they have not met in between.",
     Rule{"Lanes of a warp are threads: each runs by itself. shfl, vote, elect and similar instructions order no "
          "memory; bar.warp.sync does.",
          "9.7.13.2 bar.warp.sync"},
     Hardware{
         inferred,
         "Mostly right, until the compiler moves an access or lanes diverge. If all lanes have stored one value and "
         "one of them has synchronised, it is a note."},
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
     Rule{"With griddepcontrol a grid runs beside the one before it. The check follows the accesses of these two "
          "grids, not those of the grid before both. Races with that grid are possible if dependents start before "
          "griddepcontrol.wait."},
     Fix{"Wait first, then let dependents start.", "griddepcontrol.wait;  griddepcontrol.launch_dependents;"}},
    {"read-only-written", kError, "A load through the read-only cache of bytes that the same kernel has written.",
     Rule{"ld.global.nc reads memory that nobody writes while the kernel runs. The memory consistency model does not "
          "apply to it: no barrier, release or acquire makes a write visible to it.",
          "8.1 Scope and Applicability of the Model"},
     Hardware{inferred, "The new bytes where the line was not in the SM's L1, or has left it; the old ones otherwise."},
     Fix{"Load without .nc. nvcc writes it for __ldg, and for loads through pointers that are const and __restrict__.",
         "ld.global.u32 r, [address];"}},
    {"scope-too-narrow", kError | kWarning | kNote,
     "A release and an acquire lie between two accesses, but do not order them: a scope is too narrow, or one is "
     ".relaxed.",
     Rule{"A release reaches an acquire if each scope includes the other thread: .cta within a CTA, .cluster within a "
          "cluster. mbarrier.arrive and its waits are .cta unless they say otherwise. Relaxed operations order "
          "nothing.",
          "8.5 Scope"},
     Hardware{
         generated,
         "ptxas emits other code for .release.cluster and .acquire.cluster than for the narrow forms; errors of the "
         "narrow forms show by chance. If only reads precede the release, it is a note: kernels of CUTLASS free remote "
         "buffers in this way. A relaxed arrive of the cluster's barrier: an H200 had all that CTAs had stored into "
         "their own shared memory (a warning), and 56 % of what they had stored into another CTA's."},
     Fix{"Name the scope that includes both threads.",
         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
         "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [bar], parity;"}},
    {"shared-out-of-bounds", kError, "An access past the CTA's shared memory, or in its reserved first KiB.",
     Rule{"A CTA has its static and dynamic shared memory. The first KiB of the window belongs to the system.",
          "5.1.7 Shared State Space"},
     Hardware{measured, "Error 700 past the end. Accesses to the reserved KiB go on; in tinygpu they stop too."},
     Fix{"Compare the size of the access, or the box of the tensor map, with what the kernel declares and what the "
         "launch gives.",
         "kernel<<<grid, block, bytes>>>(…);   // bytes: all of extern __shared__"}},
    {"shared-window", kError,
     "An address in another CTA's shared memory, for an instruction that can access only its "
     "own CTA's.",
     Rule{".shared and .shared::cta mean the executing CTA. Access other CTAs of the cluster by .shared::cluster or a "
          "generic address.",
          "5.1.7 Shared State Space"},
     Hardware{measured, "Error 715, for ld.shared and cp.async.mbarrier.arrive."},
     Fix{"Write .shared::cluster if the instruction has it; otherwise let the other CTA make the access.",
         "ld.shared::cluster.u32 r, [remote];"}},
    {"shared-uninitialised", kWarning | kNote, "The kernel reads bytes of shared memory that were never written.",
     Rule{"The contents of shared memory are arbitrary when a CTA begins.", "5.1.7 Shared State Space"},
     Hardware{documented, "What another CTA has left there."},
     Fix{"Write first; if an MMA or a copy reads a tile, compare its descriptor and size with the bytes that were "
         "written. If the bytes belong to unused rows, this is no fault."}},
    {"stack-overflow", kError, "A thread needs more stack, or more local memory, than it has.",
     Rule{"Calls and local arrays live in local memory, which is limited per thread. A thread's stack is what its "
          "kernel needs without recursion, and at least cudaLimitStackSize: 1,024 bytes unless the program sets it.",
          "5.1.5 Local State Space"},
     Hardware{measured, "Endless recursion, and 272 KB of frames with a limit of 1 KB: error 700."},
     Fix{"End the recursion, or set the limit before the launch; move an array to global memory.",
         "cudaDeviceSetLimit(cudaLimitStackSize, 64 * 1024);"}},
    {"store-to-parameter", kError, "A store to a kernel's parameters.",
     Rule{"Kernel parameters are read-only for the whole grid.", "5.1.6.1 Kernel Function Parameters"},
     Hardware{measured, "Error 700 through a generic address; on one run, through another address, it went on."},
     Fix{"Copy the parameter to a variable first, and change that."}},
    {"surface-not-an-object", kError, "A surface access uses a handle that is no surface object.",
     Rule{"A surface access needs the unchanged handle of a live surface object.", "9.7.11.1 suld"}, Hardware{unknown},
     Fix{"Create the object before the launch and destroy it after the kernel has ended.",
         "cudaCreateSurfaceObject(&surface, &resource);"}},
    {"surface-outside", kError,
     "A surface access outside of its array, or by a function of another number of dimensions.",
     Rule{
         "With .trap, which surf1Dread and similar functions have by default, coordinates outside of the array end the "
         "kernel. x counts bytes.",
         "9.7.11.1 suld"},
     Hardware{unknown},
     Fix{"Multiply x by the element's size, compare with the array's extent, or name a boundary mode.",
         "surf2Dread(&v, surface, x * sizeof v, y, cudaBoundaryModeZero);"}},
    {"texture-not-an-object", kError, "A texture read uses a handle that is no texture object.",
     Rule{"A texture read needs the unchanged handle of a live texture object.", "9.7.10.3 tex"}, Hardware{unknown},
     Fix{"Create the object before the launch and destroy it after the kernel has ended.",
         "cudaCreateTextureObject(&texture, &resource, &sampler, nullptr);"}},
    {"texture-read-otherwise", kError,
     "A texture read uses another function or another type than the texture object has.",
     Rule{"Linear memory takes an integer coordinate; arrays and pitched memory take floats, one for each dimension, "
          "a layered array its layer too, and a cube a direction. A texture of integers returns integers unless it was "
          "created to return normalized floats.",
          "9.7.10.3 tex"},
     Hardware{unknown},
     Fix{"tex1Dfetch for linear memory; tex1D, tex2D and tex3D by the array's dimensions, tex2DLayered and texCubemap "
         "by its flags."}},
};

}  // namespace tinygpu::diagnosis
