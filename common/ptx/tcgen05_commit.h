// tcgen05.commit and tcgen05.fence (PTX ISA 9.7.16.11, 9.7.16.12): when is asynchronous tensor-core work done?
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// One arrival on `bar` when every tcgen05.mma, cp and shift that this thread issued so far has completed.
GEN5_PTX void tcgen05_commit(uint32_t bar) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(bar) : "memory");
}

/// One arrival on the barrier at the offset of `bar` in each CTA of the cluster whose rank's bit is set in `mask`, when
/// what this thread has issued for its own CTA (.cta_group::1) has completed.
GEN5_PTX void tcgen05_commit_multicast(uint32_t bar, uint16_t mask) {
  asm volatile(
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar),
      "h"(mask)
      : "memory");
}

/// One arrival on the barrier at the offset of `bar` in each CTA of the cluster whose rank's bit is set in `mask`, when
/// what this thread has issued for its CTA pair (.cta_group::2) has completed.
GEN5_PTX void tcgen05_commit_pair(uint32_t bar, uint16_t mask) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(bar),
      "h"(mask)
      : "memory");
}

/// Before a barrier or arrive: this thread's earlier tcgen05 work comes before what others do after it.
GEN5_PTX void tcgen05_fence_before_thread_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }

/// After a barrier or wait: this thread's later tcgen05 work comes after what others did before it.
GEN5_PTX void tcgen05_fence_after_thread_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

}  // namespace gen5::ptx
