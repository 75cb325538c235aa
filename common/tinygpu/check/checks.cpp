#include "common/tinygpu/check/checks.h"

#include "common/tinygpu/check/copies_in_flight.h"
#include "common/tinygpu/check/empty_commits.h"
#include "common/tinygpu/check/mbarrier_books.h"
#include "common/tinygpu/check/operand_layouts.h"
#include "common/tinygpu/check/phases.h"
#include "common/tinygpu/check/proxy_fences.h"
#include "common/tinygpu/check/races/races.h"
#include "common/tinygpu/check/unfinished_tensor_memory.h"
#include "common/tinygpu/check/unordered_operations.h"
#include "common/tinygpu/check/wgmma_registers.h"

namespace tinygpu::checks {

AllChecks::AllChecks(Level level) {
  owned_.push_back(std::make_unique<Phases>());
  owned_.push_back(std::make_unique<MbarrierBooks>());
  owned_.push_back(std::make_unique<EmptyCommits>());
  if (level == Level::races) {
    owned_.push_back(std::make_unique<races::Races>());
    owned_.push_back(std::make_unique<OperandLayouts>());
    owned_.push_back(std::make_unique<WgmmaRegisters>());
  } else {
    owned_.push_back(std::make_unique<CopiesInFlight>());
    owned_.push_back(std::make_unique<ProxyFences>());
    owned_.push_back(std::make_unique<UnfinishedTensorMemory>());
    owned_.push_back(std::make_unique<UnorderedOperations>());
  }
  for (const auto& check : owned_) observers_.push_back(check.get());
}

AllChecks::~AllChecks() = default;
AllChecks::AllChecks(AllChecks&&) noexcept = default;
AllChecks& AllChecks::operator=(AllChecks&&) noexcept = default;

}  // namespace tinygpu::checks
