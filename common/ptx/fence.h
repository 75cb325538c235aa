// Fences between threads' views of memory and between proxies (PTX ISA 9.7.13.4).
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Makes this thread's mbarrier.init visible to the cluster and to the asynchronous units.
GEN5_PTX void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/// Orders this thread's ordinary accesses before its (or, after a barrier, others') asynchronous ones, and back: every
/// space.
GEN5_PTX void fence_proxy_async() { asm volatile("fence.proxy.async;" ::: "memory"); }

/// Orders ordinary accesses to this CTA's shared memory and asynchronous ones: between st.shared and tcgen05.mma, say.
GEN5_PTX void fence_proxy_async_shared() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// fence.proxy.async for global memory.
GEN5_PTX void fence_proxy_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

}  // namespace gen5::ptx
