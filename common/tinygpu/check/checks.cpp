#include "common/tinygpu/check/checks.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/tinygpu/check/beyond_first_cluster.h"
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

bool is_of_order(const Diagnosis& d) {
  constexpr std::string_view kCodes[] = {"data-race",          "lane-order-missing",    "mbarrier-init-not-published",
                                         "scope-too-narrow",   "race-check-incomplete", "shared-uninitialised",
                                         "tmem-fence-missing", "tmem-unordered",        "tmem-load-not-waited"};
  const bool counts = d.message.starts_with("…");  // says how many others there are
  return d.severity == Severity::note && !counts && std::ranges::find(kCodes, d.code) != std::end(kCodes);
}

AllChecks::AllChecks(Level level) {
  if (level == Level::none) return;
  owned_.push_back(std::make_unique<Phases>());
  owned_.push_back(std::make_unique<MbarrierBooks>());
  owned_.push_back(std::make_unique<EmptyCommits>());
  if (level == Level::races) {
    owned_.push_back(std::make_unique<races::Races>());
    owned_.push_back(std::make_unique<OperandLayouts>());
    owned_.push_back(std::make_unique<WgmmaRegisters>());
  } else if (level != Level::clock_alone) {
    const bool all = level == Level::without_races;
    if (!all) owned_.push_back(std::make_unique<races::Races>(races::Follow::first_cluster));
    const auto add = [&](std::unique_ptr<Observer> check) {
      owned_.push_back(all ? std::move(check) : std::make_unique<BeyondFirstCluster>(std::move(check)));
    };
    add(std::make_unique<CopiesInFlight>());
    add(std::make_unique<ProxyFences>());
    add(std::make_unique<UnfinishedTensorMemory>());
    add(std::make_unique<UnorderedOperations>());
  }
  for (const auto& check : owned_) observers_.push_back(check.get());
}

AllChecks::~AllChecks() = default;
AllChecks::AllChecks(AllChecks&&) noexcept = default;
AllChecks& AllChecks::operator=(AllChecks&&) noexcept = default;

}  // namespace tinygpu::checks
