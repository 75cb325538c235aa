// A model's numbers: on the host, and in device memory.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chapters/16_megakernel/plan.h"
#include "common/harness/cuda_check.h"

namespace megakernel {

using Words = std::vector<uint16_t>;  // bf16

/// What a layer is given. Weights are rows of K numbers; Wqkv's rows are those of kv head 0 (q of each of its heads, k,
/// v), then those of kv head 1 …; Wgate's come before Wup's.
struct Weights {
  Words qkv, out, gate_up, down;  // of all layers, one behind the other
  Words gains;                    // [layers][2][hidden]
  Words x;                        // [rows][hidden]
  Words keys, values;             // [layers][batch][kv heads][keys][dim]; the new keys' places are empty
};
/// Numbers whose sums stay near 1.
Weights make_weights(const Sizes& sizes, uint64_t seed);

/// All that the kernels have left in memory, in the order of Arguments.
struct Results {
  Words residual, normed, q, keys, values, attended, gated;
  friend bool operator==(const Results&, const Results&) = default;
};

/// Cosine and sine of the new keys' positions, each for all pairs of a head's numbers.
std::vector<float2> rotation_of(const Sizes& sizes);

/// A model in device memory, with room for everything that its layers make, and the tasks of its plan.
class DeviceModel {
 public:
  /// Without weights (on a machine that only keeps time) memory is left as it is, until fill(). Schedules of `plan`:
  /// `dealt` of step 4, `pairs` of step 6.
  DeviceModel(const Sizes& sizes, const Plan& plan, const Schedule& dealt, const Schedule& pairs,
              const Weights* weights);
  ~DeviceModel();
  DeviceModel(const DeviceModel&) = delete;
  DeviceModel& operator=(const DeviceModel&) = delete;

  /// NaN wherever nothing has been written yet.
  void clear();
  /// Starts a step's kernels, and returns at once. `notes_times`: tasks shall write down their times.
  void launch(const Step& step, bool notes_times = false);
  /// What the step's next launch is given.
  Work work(const Step& step, bool notes_times = false) const;
  Results results() const;
  std::vector<Ran> ran() const;

  /// Numbers for a measurement at full size: of the sizes that make_weights() makes, a million of each tensor repeated.
  void fill(uint64_t seed);
  /// bf16 numbers in device memory.
  struct Tensor {
    std::string name;
    uint16_t* data;
    size_t count;
    double scale, middle;  // of what fill() gives it; scale 0: nothing
  };
  std::vector<Tensor> tensors() const;

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
  Work work_;
};

}  // namespace megakernel
