// cp.async.bulk and cp.async.bulk.tensor (PTX ISA 9.7.9.25 to 9.7.9.28): copies by the TMA unit.
// One thread issues a copy. Loads end by complete_tx on an mbarrier, stores and reductions by bulk groups.
#pragma once
#include <cuda.h>

#include "common/ptx/address.h"

namespace gen5::ptx {

/// Warms the cache of tensor maps. `map` lies in global, constant or kernel-parameter memory.
GEN5_PTX void prefetch_tensormap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Loads the box at element coordinates (x, y), x along the rows, into shared memory at `dst` and completes its bytes
/// (always the whole box, elements outside the tensor are filled) on `bar`.
GEN5_PTX void tensor_load_2d(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          dst),
      "l"(map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}

/// Loads the box into every CTA of the cluster whose rank's bit is set in `mask`, at offsets `dst` and `bar` in each.
GEN5_PTX void tensor_load_2d_multicast(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar,
                                       uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, "
      "{%2, %3}], [%4], %5;" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(bar), "h"(mask)
      : "memory");
}

/// Into this CTA's shared memory, but `bar` may lie in either CTA of the pair (an address made by mapa): the MMAs of a
/// pair wait in one place for the loads of both. Blackwell only.
GEN5_PTX void tensor_load_2d_pair(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(dst),
      "l"(map), "r"(x), "r"(y), "r"(bar)
      : "memory");
}

/// Stores the box at `src` to element coordinates (x, y); what lies outside the tensor is not written.
GEN5_PTX void tensor_store_2d(const CUtensorMap* map, int x, int y, uint32_t src) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
               "r"(y), "r"(src)
               : "memory");
}

/// Copies `bytes` bytes (a multiple of 16) from global to this CTA's shared memory, both 16-byte aligned.
GEN5_PTX void bulk_load(uint32_t dst, const void* src, uint32_t bytes, uint32_t bar) {
  asm volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst),
               "l"(src), "r"(bytes), "r"(bar)
               : "memory");
}

/// Copies `bytes` bytes (a multiple of 16) from shared to global memory, both 16-byte aligned.
GEN5_PTX void bulk_store(void* dst, uint32_t src, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dst), "r"(src), "r"(bytes)
               : "memory");
}

/// Loads four rows, (x, rows.x) to (x, rows.w), of a map whose box is one row. Blackwell only.
GEN5_PTX void tensor_gather4_2d(uint32_t dst, const CUtensorMap* map, int x, int4 rows, uint32_t bar) {
#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
      "%5, %6}], [%7];" ::"r"(dst),
      "l"(map), "r"(x), "r"(rows.x), "r"(rows.y), "r"(rows.z), "r"(rows.w), "r"(bar)
      : "memory");
#endif
}

/// Loads pixels of an image N × W × C by im2col: from channel c, base position w, image n, each pixel moved by
/// `offset`.
GEN5_PTX void tensor_load_im2col_3d(uint32_t dst, const CUtensorMap* map, int c, int w, int n, uint16_t offset,
                                    uint32_t bar) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5], {%6};" ::"r"(dst),
      "l"(map), "r"(c), "r"(w), "r"(n), "r"(bar), "h"(offset)
      : "memory");
}

/// Adds the box at `src` to the elements at (x, y), as the map's type says.
GEN5_PTX void tensor_reduce_add_2d(const CUtensorMap* map, int x, int y, uint32_t src) {
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
               "r"(x), "r"(y), "r"(src)
               : "memory");
}

/// Copies `bytes` bytes of this CTA's shared memory to `dst` in another CTA of the cluster; `bar` is there too.
GEN5_PTX void bulk_copy_to_cluster(uint32_t dst, uint32_t src, uint32_t bytes, uint32_t bar) {
  asm volatile(
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst),
      "r"(src), "r"(bytes), "r"(bar)
      : "memory");
}

/// Closes a group of this thread's bulk stores.
GEN5_PTX void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/// Waits until at most `Pending` of this thread's groups are unfinished; finished: written.
template <int Pending>
GEN5_PTX void bulk_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}

/// Waits until at most `Pending` of this thread's groups still read their source; the others' may be overwritten.
template <int Pending>
GEN5_PTX void bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

}  // namespace gen5::ptx
