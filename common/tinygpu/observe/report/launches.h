// What was launched: shapes, counts of matrix operations, and the tensor maps that copies used.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/engines/tma/tensor_box.h"
#include "common/tinygpu/machine/dim3.h"
#include "common/tinygpu/machine/per_partition.h"

namespace tinygpu::observe {

struct LaunchRecord {
  Dim3 grid, block, cluster;
  uint32_t registers = 0;  // a thread's
  uint32_t static_shared = 0, dynamic_shared = 0;
  bool finished = false;
  uint64_t cycles = 0;    // of a finished one
  std::string fault;      // the code of what ended it
  int64_t timeline = -1;  // which one shows it
};

/// Boxes of one form, which lie in shared memory alike.
struct BoxUse {
  TensorBox box;        // the first one
  uint32_t shared = 0;  // where it began
  uint64_t loads = 0, stores = 0;
  std::set<std::string> places;  // of the copies
};

/// All launches of one kernel, by its readable name.
struct KernelRecord {
  std::string name;
  std::vector<LaunchRecord> launches;  // the first ones
  uint64_t launches_left_out = 0;
  uint64_t operations = 0;  // of matrix instructions: a multiplication and an addition are two
  double cold = 0,
         sustained = 0;  // seconds of all launches at the clocks that power leaves: each alone, each in a loop
  std::set<std::string>
      matrix_kinds;  // as in the machine profile's peaks: "f16", "f8" …; "other": it has none for some
  std::vector<BoxUse> boxes;
};

class Launches final : public Observer {
 public:
  Launches() : Launches(std::make_shared<Book>()) {}
  /// In the order of their first launch.
  const std::vector<KernelRecord>& kernels() const { return book_->kernels; }

  std::unique_ptr<Observer> another() override { return std::unique_ptr<Observer>(new Launches(book_)); }
  /// Of the launch that has ended last: it is shown in this timeline.
  void set_timeline(int64_t index);
  /// A diagnosis has been made; it may be what ended a launch.
  void add(const Diagnosis& d);

  void on_launch(const Launch&) override;
  void on_end(const Launch&, const LaunchStats*) override;
  void on_complete(const AsyncOperation&) override;

 private:
  /// Element, swizzle and its atoms, interleave, mode, extents.
  using BoxKey = std::array<uint32_t, 11>;
  /// What one host thread writes.
  struct Part {
    std::map<BoxKey, BoxUse> boxes;
    std::set<std::string> matrix_kinds;
    std::set<const void*> seen;  // instructions whose kind is known
  };
  /// What all share that watch launches beside each other.
  struct Place {
    size_t kernel, launch;
    bool operator==(const Place&) const = default;
  };
  struct Book {
    std::vector<KernelRecord> kernels;
    std::vector<Place> open;    // launches that have not finished
    std::optional<Place> last;  // that has ended
    LaunchRecord& at(const Place& p) { return kernels[p.kernel].launches[p.launch]; }
  };
  explicit Launches(std::shared_ptr<Book> book) : Observer(operations), book_(std::move(book)) {}
  PerPartition<Part> parts_;
  std::shared_ptr<Book> book_;
  size_t kernel_ = 0;           // of the launch
  std::optional<Place> place_;  // null: it is left out
};

}  // namespace tinygpu::observe
