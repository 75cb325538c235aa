// What an instruction says about the order of its memory operation (PTX ISA 8.4, 8.5).
#pragma once
#include <cstdint>

namespace tinygpu::ptx {

struct Instruction;

enum class Semantics : uint8_t { weak, relaxed, acquire, release, acq_rel };
enum class Scope : uint8_t { none, cta, cluster, gpu, sys };

struct MemoryOrder {
  Semantics semantics = Semantics::weak;
  Scope scope = Scope::none;  // of a strong operation
  bool strong() const { return semantics != Semantics::weak; }
  bool acquires() const { return semantics == Semantics::acquire || semantics == Semantics::acq_rel; }
  bool releases() const { return semantics == Semantics::release || semantics == Semantics::acq_rel; }
  bool operator==(const MemoryOrder&) const = default;
};

/// Of a load, store, atomic, fence, or operation on an mbarrier; with the opcode's default for what is not written.
MemoryOrder memory_order(const Instruction& i);

}  // namespace tinygpu::ptx
