#include "common/tinygpu/ptx/memory_order.h"

namespace tinygpu::ptx {
namespace {

/// What an instruction is that names neither semantics nor scope (PTX ISA 9.7.9, 9.7.13).
MemoryOrder default_order(std::string_view opcode) {
  if (opcode == "atom" || opcode == "red") return {Semantics::relaxed, Scope::gpu};
  if (opcode == "red.async") return {Semantics::relaxed, Scope::cluster};
  if (opcode == "mbarrier.arrive" || opcode == "mbarrier.arrive_drop") return {Semantics::release, Scope::cta};
  if (opcode == "mbarrier.expect_tx" || opcode == "mbarrier.complete_tx") return {Semantics::relaxed, Scope::cta};
  if (opcode == "fence" || opcode == "membar") return {Semantics::acq_rel, Scope::sys};
  if (opcode == "mbarrier.test_wait" || opcode == "mbarrier.try_wait") return {Semantics::acquire, Scope::cta};
  return {};
}

}  // namespace

MemoryOrder memory_order(const Instruction& i) {
  // PTX ISA 8.4.1: volatile is relaxed at system scope for what race-free programs can see; so is mmio.
  if (i.has("volatile") || i.has("mmio")) return {Semantics::relaxed, Scope::sys};
  MemoryOrder order = default_order(i.opcode);
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
