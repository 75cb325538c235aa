// Diagnoses of asynchronous copies: cp.async, bulk and tensor copies, tensor maps, the async proxy.
#pragma once
#include "common/tinygpu/diagnosis/diagnoses.h"

namespace tinygpu::diagnosis {

inline constexpr CodeInfo kCopyCodes[] = {
    {"bulk-mbarrier-elsewhere", kError | kWarning,
     "A copy or st.async writes to one CTA and signals an mbarrier of another.",
     Rule{"The mbarrier lies in the destination's CTA; with .cta_group::2 it may also lie in the other CTA of its "
          "pair.",
          "9.7.9.25.4.1 cp.async.bulk"},
     Hardware{
         measured,
         "Hardware ignores the rank in the mbarrier's address: bulk copies and st.async signal the mbarrier at that "
         "offset in the destination's CTA. A thread that waits on the named mbarrier hangs. For tensor copies this is "
         "inferred. What .cta_group::2 does outside of its pair is not known; here it is an error."},
     Fix{"Make both addresses with one rank.",
         "mapa.shared::cluster.u32 to, buffer, rank;\n"
         "mapa.shared::cluster.u32 bar, barrier, rank;"}},
    {"bulk-misaligned", kError,
     "A bulk copy whose address is no multiple of 16, or a tensor copy whose box is at no multiple of 128.",
     Rule{"Bulk copies move pieces of 16 bytes. Boxes in shared memory are aligned to 128 bytes.",
          "9.7.9.25.4.1 cp.async.bulk"},
     Hardware{measured, "Error 716, for boxes at 16, 32, 48 or 64 bytes past a multiple of 128 too."},
     Fix{"Align the buffer to 128 bytes, or to 1024 if the pattern of a 128-byte swizzle must start with the buffer.",
         "extern __shared__ __align__(1024) uint8_t buffer[];"}},
    {"bulk-size", kError, "The size of a bulk copy is no multiple of 16, or that of st.bulk no multiple of 8.",
     Rule{"Bulk copies move pieces of 16 bytes; st.bulk clears pieces of 8, 16 MiB at most.",
          "9.7.9.25.4.1 cp.async.bulk"},
     Hardware{
         measured,
         "Hardware rounds the copy's size down, and its mbarrier counts the rounded size: a wait for the whole size "
         "hangs. No error. For st.bulk nothing is known."},
     Fix{"Round the size up on both sides, and in expect_tx."}},
    {"copy-unread", kNote, "Nothing reads the bytes that a copy loads into shared memory.",
     Rule{"No rule is broken, but a copy without a reader is of no use."},
     Hardware{documented, "Hardware reports nothing."},
     Fix{"Check whether its reader uses another stage, or leave the copy out."}},
    {"cp-async-size", kError, "cp.async with a src-size above its size.",
     Rule{"src-size says how much comes from memory; the rest of the destination is zeros.", "9.7.9.25.3.1 cp.async"},
     Hardware{measured, "Goes on. Not promised; tinygpu copies the whole size."},
     Fix{"Bound src-size by 4, 8 or 16, whichever the instruction copies."}},
    {"group-not-waited", kWarning, "A CTA ends while a copy into its own shared memory is in flight.",
     Rule{"Shared memory lives as long as its CTA; a later copy may write into the next CTA's memory.",
          "9.7.9.25.1 Completion Mechanisms for Asynchronous Copy Operations"},
     Hardware{unknown},
     Fix{"Wait for every load's mbarrier before the end, also for loads whose data is no longer needed."}},
    {"im2col-start", kError, "An im2col load that starts outside of the span between its map's corners.",
     Rule{"W, H and D start at a pixel of the bounding box that the lower and upper corners make.",
          "5.5.4.1 Bounding Box"},
     Hardware{measured, "Error 715."},
     Fix{"Start between the lower corner and the tensor's size plus the upper corner; the filter's place is an "
         "offset."}},
    {"im2col-store-corners", kError, "An im2col store uses a map whose box reaches out of the tensor.",
     Rule{"Stores take lower corners of 0 or more, and upper corners of 0 or less.", "5.5.4.1 Bounding Box"},
     Hardware{measured, "Error 715."}, Fix{"Encode a map of its own for the store."}},
    {"multicast-mask-wrong", kError | kWarning,
     "A multicast mask that names CTAs which the cluster does not have, or none.",
     Rule{"Bit i of the mask is the CTA with %cluster_ctarank i.", "9.7.9.25.4.1 cp.async.bulk"},
     Hardware{measured, "Bits past the cluster: error 719. A mask of 0 copies nothing."},
     Fix{"Make the mask from %cluster_nctarank.", "uint16_t all = (1u << cluster_size) - 1;"}},
    {"proxy-fence-missing", kError | kWarning,
     "A bulk copy or an MMA accesses memory after ordinary accesses to it, without a proxy fence between.",
     Rule{"Copies and MMAs read through the async proxy. Only fence.proxy.async makes ordinary stores visible to it; a "
          "barrier of threads does not. For tcgen05.mma, and for reads that a copy might overtake, tinygpu warns.",
          "9.7.13.4 membar, fence"},
     Hardware{published,
              "It may read old data: seen in 86 of 100 runs of one kernel on a B300. CUTLASS's 01_mma_sm100 has no "
              "such fence, and its results are right on a B200. tinygpu has no stale copies to read."},
     Fix{"Fence in every storing thread, between its stores and the barrier; or in the issuing thread, after the "
         "barrier.",
         "st.shared …;  fence.proxy.async.shared::cta;  bar.sync 0;\n"
         "@elected cp.async.bulk.tensor …"}},
    {"tensor-coordinate-misaligned", kError, "A tile that does not start at a multiple of 16 bytes along dimension 0.",
     Rule{"Without interleave, coordinate 0 times the size of an element is a multiple of 16, also if it is negative. "
          "The encoding of the map cannot check that.",
          "9.7.9.27.1.1 Restriction on Tensor Copy instructions"},
     Hardware{measured, "Error 715; 200 of 200 such loads."},
     Fix{"Step along dimension 0 in whole 16 bytes; the other dimensions may start anywhere."}},
    {"tensor-coordinate-negative", kError,
     "A tensor store or reduction starts before the tensor, at a negative "
     "coordinate.",
     Rule{"Loads fill what lies outside of the tensor. Stores and reductions start at 0 or later in every dimension.",
          "9.7.9.27.1.2 cp.async.bulk.tensor"},
     Hardware{measured, "Error 715."},
     Fix{"Clip the box, or let the map begin where the tensor does. Past the tensor's end no clipping is needed."}},
    {"tensor-reduce-type", kError, "A tensor reduction whose operation does not exist for the map's type.",
     Rule{"add: UINT32, INT32, UINT64 and floats. min, max: 32- and 64-bit integers, FLOAT16, BFLOAT16. inc, dec: "
          "UINT32. and, or, xor: UINT32, INT32, UINT64.",
          "9.7.9.27.1.3 cp.reduce.async.bulk.tensor"},
     Hardware{measured, "Error 715."}, Fix{"Encode the map with a type that has the operation."}},
    {"tensormap-gather", kError, "gather4 or scatter4 through a map that does not fit.",
     Rule{"The instruction names four rows; the map's box is one row, without interleave.",
          "5.5.3.4 .tile::scatter4 and .tile::gather4 modes"},
     Hardware{unknown}, Fix{"Encode it with boxDim[1] = 1 and CU_TENSOR_MAP_INTERLEAVE_NONE."}},
    {"tensormap-invalid", kError, "The 128 bytes are no tensor map that a copy can use.",
     Rule{"Only cuTensorMapEncodeTiled or Im2col make a map, and only tensormap.replace changes it.",
          "5.5.8 Tensor-map"},
     Hardware{measured,
              "Error 715; a global address that is not aligned is 716. Some invalid maps pass: notes/evidence.md has "
              "the bits."},
     Fix{"Check the result of the encoding call, and pass the object itself.",
         "__global__ void k(const __grid_constant__ CUtensorMap map);"}},
    {"tensormap-load-only", kError, "A tensor store through a map of 16U4_ALIGN16B.",
     Rule{"This type has 8 bytes of padding in shared memory for 8 bytes of data: loads can use it, stores cannot.",
          "5.5.1.1 Sub-byte Types"},
     Hardware{unknown}, Fix{"Store through a map of 16U4_ALIGN8B."}},
    {"tensormap-misaligned", kError, "A tensor map at an address that is no multiple of 64.",
     Rule{"CUtensorMap is 128 bytes, aligned to 64.", "5.5.8 Tensor-map"}, Hardware{measured, "Error 716."},
     Fix{"Pass it as a parameter of its own type; align copies of it.",
         "__global__ void k(const __grid_constant__ CUtensorMap map);\n"
         "__device__ alignas(64) CUtensorMap copy;"}},
    {"tensormap-mode", kError, "The instruction is of another mode than the map: tile, im2col or im2col::w.",
     Rule{"A map is encoded for one mode.", "5.5.2 Tensor Access Modes"},
     Hardware{measured, "Error 715, for tile and im2col."},
     Fix{"Encode with cuTensorMapEncodeTiled for .tile, Im2col for .im2col, Im2colWide for .im2col::w and ::w::128."}},
    {"tensormap-not-acquired", kError, "A tensor map is used that was changed after the last acquire.",
     Rule{"TMA reads maps through the tensormap proxy, which has a cache. A fence releases a change, and the thread "
          "that uses the map acquires it.",
          "9.7.13.4 membar, fence"},
     Hardware{measured, "The copy uses the old map, without an error. tinygpu stops, as the data would be wrong."},
     Fix{"Execute both halves of the fence, even in one thread.",
         "fence.proxy.tensormap::generic.release.gpu;               // after the change; then synchronise\n"
         "fence.proxy.tensormap::generic.acquire.gpu [map], 128;    // before the copy"}},
    {"tensormap-rank", kError, "The instruction has another number of dimensions than the map.",
     Rule{"The form .1d to .5d is the rank that the map was encoded with.", "9.7.9.27.1.2 cp.async.bulk.tensor"},
     Hardware{measured, "Error 715."}, Fix{"Use the form of that rank, with as many coordinates."}},
    {"tensormap-space", kError, "A tensor map in shared or local memory.",
     Rule{"A map is read from global or constant memory, or from a kernel's parameters.",
          "9.7.9.27.1.2 cp.async.bulk.tensor"},
     Hardware{measured, "Error 700."},
     Fix{"Take the parameter's own address: a copy by value lands in local memory.",
         "__global__ void k(const __grid_constant__ CUtensorMap map);"}},
};

}  // namespace tinygpu::diagnosis
