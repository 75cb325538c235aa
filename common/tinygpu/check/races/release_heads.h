// What strong writes to memory have released, for those who read them (PTX ISA 8.8, release and acquire patterns).
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/check/races/clock.h"
#include "common/tinygpu/ptx/memory_order.h"

namespace tinygpu::races {

/// Who releases or acquires.
struct Party {
  uint64_t cluster = 0;
  uint32_t cta = 0;  // in it
  ptx::Scope scope = ptx::Scope::none;
  /// Its scope has the other one in it.
  bool reaches(const Party& other) const {
    if (scope == ptx::Scope::cta) return cluster == other.cluster && cta == other.cta;
    return scope != ptx::Scope::cluster || cluster == other.cluster;
  }
};

class ReleaseHeads {
 public:
  struct Head {
    Party who;
    Views released;  // as for other clusters
  };
  bool empty() const { return by_address_.empty(); }
  /// A strong write has released something; `extends`: it read what was there before (an atomic).
  void put(uint64_t address, const Party& who, const Views& released, bool extends);
  /// Something else has been written.
  void forget(uint64_t address, uint64_t bytes);
  /// What a strong read of `address` finds.
  const std::vector<Head>* at(uint64_t address) const {
    const auto it = by_address_.find(address);
    return it == by_address_.end() ? nullptr : &it->second;
  }
  void clear() { by_address_.clear(); }

 private:
  std::unordered_map<uint64_t, std::vector<Head>> by_address_;
};

}  // namespace tinygpu::races
