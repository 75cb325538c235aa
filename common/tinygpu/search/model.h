// What every problem's model on the tiny machine answers.
#pragma once
#include <memory>

#include "common/tinygpu/search/legality.h"
#include "common/tinygpu/search/tiny_machine.h"

namespace tinygpu::search {

struct Estimate {
  Cycles cycles = 0;
  /// Shares of the cycles: the tensor core worked; it waited for loads, for the epilogue or for softmax; the rest is
  /// starts and ends.
  double tensor = 0, loads = 0, epilogue = 0;
  const char* limit = "";  // "tensor core", "loads (L2)", …
  uint32_t waves = 0, clusters = 0, slots = 0;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual Estimate estimate(const Point& p) const = 0;
  /// No estimate of the point is below: what the SM's units take for its work, one after the other.
  virtual Cycles least(const Point& p) const = 0;
};

std::unique_ptr<Model> make_model(const MachineSpec& spec, const Problem& problem);

}  // namespace tinygpu::search
