// Cells of Tensor Memory that an operation touches, or a dealloc frees, while another one between issue and completion
// has to do with them: no wait lies between (PTX ISA 9.7.16.6). Warnings: whether the value is wrong depends on time.
// Two operations of the tensor core are not compared: its queue has an order of its own (unordered_operations.h).
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/machine/observe.h"

namespace tinygpu::checks {

class UnfinishedTensorMemory final : public Observer {
 public:
  UnfinishedTensorMemory() : Observer(operations | tensor_allocations) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<UnfinishedTensorMemory>(); }
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_issue(const AsyncOperation&) override;
  void on_complete(const AsyncOperation&) override;
  void on_tensor_allocation(const TmemAllocation&) override;

 private:
  struct Use {
    uint64_t operation;
    AsyncOperation::Kind kind;
    TmemRect cells;
    bool writes;
    Origin who;
    uint64_t issued;
  };
  /// `what` of `who` begins to read or write cells at `time`, with which `earlier` has not finished.
  static void tell(const Origin& who, uint64_t time, const char* what, bool writes, const Use& earlier);
  using Uses = std::unordered_map<uint32_t, std::vector<Use>>;  // by SM, in the order of issue
  std::vector<Uses> parts_;                                     // by SmPartition::index
};

}  // namespace tinygpu::checks
