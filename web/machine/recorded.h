// A launch that GEN5_CAPTURE has written (cuda/launch_capture.h): its memory at the addresses that it had.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/api/machine.h"
#include "web/machine/request.h"

namespace tinygpu::web {

/// Throws WrongRequest.
std::vector<uint8_t> from_base64(std::string_view text);

class Recorded {
 public:
  /// Gives `m`, which has no memory yet, {"memory": [{"address": text, "bytes", "data": base64, zeros behind it,
  /// "name", "type"}]}.
  Recorded(api::Machine& m, const Json& request);
  /// {"variables": [{"name", "data"}]}: those that the module has.
  void set_variables(const api::Module& module, const Json& request);

  struct Region {
    std::string name, type;
    uint64_t address;
    std::vector<uint8_t> before;
  };
  const std::vector<Region>& regions() const { return regions_; }

 private:
  api::Machine& m_;
  std::vector<Region> regions_;
};

}  // namespace tinygpu::web
