#include "common/tinygpu/check/checks.h"

#include "common/tinygpu/check/copies_in_flight.h"
#include "common/tinygpu/check/proxy_fences.h"

namespace tinygpu::check {

Checks::Checks() {
  owned_.push_back(std::make_unique<CopiesInFlight>());
  owned_.push_back(std::make_unique<ProxyFences>());
  for (const auto& check : owned_) observers_.push_back(check.get());
}

Checks::~Checks() = default;

}  // namespace tinygpu::check
