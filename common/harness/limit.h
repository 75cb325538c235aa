// What a kernel's time went for, as seen from the tensor core: it works, or something keeps it waiting.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gen5::harness {

struct TensorCoreTime {
  double busy = 0;  // a share of the kernel's cycles
  struct Idle {
    std::string what;  // "loads", "epilogue" …
    double share = 0;
  };
  std::vector<Idle> idle;  // why it was not, the most first

  /// What limited the kernel: the tensor core if it was busy for more than half of the time, else the most of `idle`.
  Idle limit() const;
  /// "The tensor core was busy for 36 % of the kernel's cycles. 25 %: it waited for loads to land. 12 %: …"
  std::string sentence() const;
};

/// `profile` is a kernel's in Watched::profile. False where it has no MMA.
bool has_tensor_core_time(const nlohmann::json& profile);
TensorCoreTime tensor_core_time(const nlohmann::json& profile);

}  // namespace gen5::harness
