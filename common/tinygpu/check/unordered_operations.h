// Operations of the tensor core that touch the same cells of Tensor Memory, although nothing orders them: PTX ISA
// 9.7.16.6.2 lists the pairs whose execution follows issue order.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/machine/observe.h"

namespace tinygpu::checks {

class UnorderedOperations final : public Observer {
 public:
  UnorderedOperations() : Observer(operations) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<UnorderedOperations>(); }
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_issue(const AsyncOperation&) override;
  void on_complete(const AsyncOperation&) override;

 private:
  using Pending = std::shared_ptr<const AsyncOperation>;
  struct Part {
    std::unordered_map<uint32_t, std::vector<Pending>> queues;  // by SM of the tensor core, in issue order
    std::vector<uint64_t> before;  // of the operation that is issued: all that has to execute before it
  };
  std::vector<Part> parts_;  // by SmPartition::index
};

}  // namespace tinygpu::checks
