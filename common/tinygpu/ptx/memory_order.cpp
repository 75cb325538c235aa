#include "common/tinygpu/ptx/memory_order.h"

#include "common/tinygpu/ptx/module.h"

namespace tinygpu::ptx {
MemoryOrder memory_order(const Instruction& i) {
  // PTX ISA 8.4.1: volatile is relaxed at system scope for what race-free programs can see; so is mmio.
  if (i.has("volatile") || i.has("mmio")) return {Semantics::relaxed, Scope::sys};
  MemoryOrder order = i.traits().order;
  if (i.has("weak")) order.semantics = Semantics::weak;
  if (i.has("relaxed")) order.semantics = Semantics::relaxed;
  if (i.has("acquire")) order.semantics = Semantics::acquire;
  if (i.has("release")) order.semantics = Semantics::release;
  if (i.has("acq_rel")) order.semantics = Semantics::acq_rel;
  if (i.has("cta")) order.scope = Scope::cta;
  if (i.has("cluster")) order.scope = Scope::cluster;
  if (i.has("gpu") || i.has("gl")) order.scope = Scope::gpu;
  if (i.has("sys")) order.scope = Scope::sys;
  if (!order.strong()) order.scope = Scope::none;
  return order;
}

}  // namespace tinygpu::ptx
