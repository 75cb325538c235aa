// Device memory that is read and neither a kernel nor the host has written. Fresh allocations get words that
// follow from their address; such a word was never written, but for a chance of 1 in 2^32.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "common/tinygpu/machine/memory/memory.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::checks {

/// [address, address + size) has been allocated.
void mark_unwritten(const GlobalMemory& memory, uint64_t address, uint64_t size);

class UnwrittenMemory final : public Observer {
 public:
  UnwrittenMemory() : Observer(global_accesses) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<UnwrittenMemory>(); }
  void on_launch(const Launch&) override;
  void on_access(const MemoryAccess&) override;

 private:
  std::mutex mutex_;
  std::set<const Op*> told_;  // once for an instruction of a launch
};

}  // namespace tinygpu::checks
