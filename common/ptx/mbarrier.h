// mbarrier (PTX ISA 9.7.13.15): an 8-byte object in shared memory that counts arrivals and bytes, in phases.
// `bar` is a 32-bit shared address; where it may lie in another CTA the function says so.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Makes 8 bytes an mbarrier whose phases end after `count` arrivals (1 to 2^20 − 1) and all expected bytes.
GEN5_PTX void mbarrier_init(uint32_t bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}

/// Ends the object's life: its bytes are ordinary memory again.
GEN5_PTX void mbarrier_inval(uint32_t bar) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}

/// One arrival, releasing this thread's earlier accesses to the CTA. Returns the state of the phase arrived at.
GEN5_PTX uint64_t mbarrier_arrive(uint32_t bar) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
  return state;
}

/// `count` arrivals at once.
GEN5_PTX uint64_t mbarrier_arrive(uint32_t bar, uint32_t count) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], %2;" : "=l"(state) : "r"(bar), "r"(count) : "memory");
  return state;
}

/// One arrival on an mbarrier anywhere in the cluster (an address made by mapa), releasing to the cluster.
GEN5_PTX void mbarrier_arrive_cluster(uint32_t bar) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}

/// One arrival on an mbarrier anywhere in the cluster with the default semantics, .release.cta. Enough to say that
/// asynchronous reads have completed; the form above makes a GPU-wide fence of its release (read from ptxas 13.0's
/// code).
GEN5_PTX void mbarrier_arrive_remote(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}

/// The phase shall also wait for `bytes` more bytes, then one arrival.
GEN5_PTX uint64_t mbarrier_arrive_expect_tx(uint32_t bar, uint32_t bytes) {
  uint64_t state;
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state)
               : "r"(bar), "r"(bytes)
               : "memory");
  return state;
}

/// The phase shall also wait for `bytes` more bytes; no arrival.
GEN5_PTX void mbarrier_expect_tx(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

/// `bytes` bytes have landed: what a bulk copy does by itself, done by software.
GEN5_PTX void mbarrier_complete_tx(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

/// One arrival now, and one fewer expected in every later phase: this thread leaves.
GEN5_PTX uint64_t mbarrier_arrive_drop(uint32_t bar) {
  uint64_t state;
  asm volatile("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
  return state;
}

/// Arrivals that may not end the phase; the returned state can be asked for what is pending.
GEN5_PTX uint64_t mbarrier_arrive_no_complete(uint32_t bar, uint32_t count) {
  uint64_t state;
  asm volatile("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;"
               : "=l"(state)
               : "r"(bar), "r"(count)
               : "memory");
  return state;
}

/// How many arrivals were pending before the arrive that returned `state`.
GEN5_PTX uint32_t mbarrier_pending_count(uint64_t state) {
  uint32_t count;
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
  return count;
}

/// Has the phase that `state` belongs to completed? Does not wait.
GEN5_PTX bool mbarrier_test_wait(uint32_t bar, uint64_t state) {
  uint32_t done;
  asm volatile(GEN5_PTX_SETS_P("mbarrier.test_wait.shared::cta.b64 p, [%1], %2;")
               : "=r"(done)
               : "r"(bar), "l"(state)
               : "memory");
  return done != 0;
}

/// Has the phase of this parity completed? Does not wait. True iff the current phase's parity differs from `parity`.
GEN5_PTX bool mbarrier_test_wait_parity(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile(GEN5_PTX_SETS_P("mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;")
               : "=r"(done)
               : "r"(bar), "r"(parity)
               : "memory");
  return done != 0;
}

/// Has the phase of this parity completed? May sleep for a while before it answers.
GEN5_PTX bool mbarrier_try_wait_parity(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile(GEN5_PTX_SETS_P("mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;")
               : "=r"(done)
               : "r"(bar), "r"(parity)
               : "memory");
  return done != 0;
}

/// Waits until the phase of this parity has completed; then everything released or copied into it can be read. It is a
/// loop, since mbarrier.try_wait may answer before.
GEN5_PTX void mbarrier_wait_parity(uint32_t bar, uint32_t parity) {
  while (!mbarrier_try_wait_parity(bar, parity)) {
  }
}

/// Such a loop that acquires what CTAs of the whole cluster released before they arrived.
GEN5_PTX void mbarrier_wait_parity_cluster(uint32_t bar, uint32_t parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile(GEN5_PTX_SETS_P("mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;")
                 : "=r"(done)
                 : "r"(bar), "r"(parity)
                 : "memory");
}

}  // namespace gen5::ptx
