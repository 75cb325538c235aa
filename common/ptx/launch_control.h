// Cluster launch control and dependent launches (PTX ISA 9.7.13.17, 9.7.13.13): a running kernel takes work from the
// part of its grid that has not been launched; a kernel starts before the one ahead of it has ended.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Asks for a cluster of this grid that has not been launched. The answer, 16 bytes, comes to shared address `response`
/// (aligned to 16) by the async proxy, and completes its 16 bytes on `bar`. Who has been refused must not ask again.
/// sm_100 and later.
GEN5_PTX void clc_try_cancel(uint32_t response, uint32_t bar) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" ::"r"(response),
      "r"(bar)
      : "memory");
}

/// A try_cancel whose answer every CTA of this cluster gets, at the offsets of `response` and `bar` in each.
GEN5_PTX void clc_try_cancel_all(uint32_t response, uint32_t bar) {
  asm volatile(
      "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
      "[%0], [%1];" ::"r"(response),
      "r"(bar)
      : "memory");
}

/// An answer.
struct Claim {
  uint32_t granted;  // 0: there is no more, and x, y, z mean nothing
  uint32_t x, y, z;  // %ctaid of the first CTA of the cluster that is now the asker's to do
};

/// Reads the answer at shared address `response`, behind the wait for its bytes.
GEN5_PTX Claim clc_query(uint32_t response) {
  Claim c;
  asm volatile(
      "{\n\t"
      ".reg .b128 answer;\n\t"
      ".reg .pred granted;\n\t"
      "ld.shared.b128 answer, [%4];\n\t"
      "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 granted, answer;\n\t"
      "selp.u32 %0, 1, 0, granted;\n\t"
      "mov.u32 %1, 0;\n\t"
      "mov.u32 %2, 0;\n\t"
      "mov.u32 %3, 0;\n\t"
      "@granted clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%1, %2, %3, _}, answer;\n\t"
      "}"
      : "=r"(c.granted), "=r"(c.x), "=r"(c.y), "=r"(c.z)
      : "r"(response)
      : "memory");
  return c;
}

/// This CTA no longer keeps the grids that depend on this one from starting; they start when all CTAs have said so or
/// ended. No promise about memory.
GEN5_PTX void griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

/// Waits until the grids that this one depends on have ended and their memory can be read.
GEN5_PTX void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

}  // namespace gen5::ptx
