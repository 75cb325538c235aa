// A product on the tiny machine: the template's roles in the machine's instructions, for one SM that has as many tiles
// as any.
#pragma once
#include "common/tinygpu/search/legality.h"
#include "common/tinygpu/search/tiny_machine.h"

namespace tinygpu::search {

struct Estimate {
  Cycles cycles = 0;
  /// Shares of the cycles: the tensor core worked; it waited for loads, for the epilogue; the rest is starts and ends.
  double tensor = 0, loads = 0, epilogue = 0;
  const char* limit = "";  // "tensor core", "loads (L2)", …
  uint32_t waves = 0, clusters = 0, slots = 0;
};

class GemmModel {
 public:
  GemmModel(const MachineSpec& spec, const Problem& problem)
      : spec_(spec), numbers_(spec), kind_(template_of(spec)), problem_(problem) {}
  Estimate estimate(const Point& p) const;
  /// No estimate of the point is below: what the SM's units take for its tiles, one after the other.
  Cycles least(const Point& p) const;

 private:
  struct Plan;
  Plan plan(const Point& p) const;

  const MachineSpec& spec_;
  const Numbers numbers_;
  const Template kind_;
  const Problem problem_;
};

}  // namespace tinygpu::search
