// What a run of a kernel has not put to the test, and what breaks no rule and yet cannot be meant. Notes, for gen5
// check: of each launch the shape, of its first cluster what was loaded, multiplied and never used.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::checks {

class Coverage final : public Observer {
 public:
  Coverage() : Coverage(std::make_shared<Kernels>()) {}
  std::unique_ptr<Observer> another() override { return std::unique_ptr<Observer>(new Coverage(kernels_)); }
  /// Of all launches so far, and the lines whose effects an order of completion moves.
  std::vector<Diagnosis> shapes() const;
  void on_launch(const Launch& launch) override;
  void on_end(const Launch& launch, const LaunchStats* stats) override;
  void on_issue(const AsyncOperation& o) override;
  void on_sync(const Sync& s) override;
  void on_access(const MemoryAccess& a) override;

 private:
  /// What an instruction has brought: a copy into shared memory, an accumulator.
  template <class Place>
  struct Brought {
    Origin who;
    uint64_t time = 0;
    bool used = false;
    std::vector<Place> places;
  };
  struct Bytes {
    const Cta* cta;
    uint64_t low, high;
    bool operator==(const Bytes&) const = default;
  };
  struct Cells {
    uint32_t sm;
    TmemRect rect;
    bool operator==(const Cells&) const = default;
  };
  template <class Place>
  using ByInstruction = std::map<const Op*, Brought<Place>>;

  bool followed(const CtaKey& cta) const { return cta.id.x < first_.x && cta.id.y < first_.y && cta.id.z < first_.z; }
  void note_shape(const Launch& launch);
  void note_delayable(const Origin& who);

  /// Of a kernel, in all its launches.
  struct Shape {
    bool one_cta = true, at_once = true;  // grids are one CTA; they fit on the chip at once
    bool bytes = false, again = false;    // an mbarrier counts bytes; one of them in two phases
  };
  struct Kernels {
    std::mutex mutex;
    std::map<std::string, Shape> shapes;
    std::map<std::pair<std::string, int>, Where> delayable;  // by file and line
  };
  explicit Coverage(std::shared_ptr<Kernels> kernels)
      : Observer(operations | synchronisation | shared_accesses), kernels_(std::move(kernels)) {}

  const std::shared_ptr<Kernels> kernels_;
  Dim3 first_;
  std::mutex delayable_mutex_;     // effects of all CTAs come, from any host thread
  std::set<const Op*> delayable_;  // seen before
  ByInstruction<Bytes> copies_;
  ByInstruction<Cells> products_;
  struct Mbarrier {
    bool bytes = false;
    uint64_t phases = 0;
  };
  std::map<std::pair<const Cta*, uint32_t>, Mbarrier> mbarriers_;
  /// Of a barrier of a CTA's threads: who has arrived in this round, and who made the first one.
  struct Rounds {
    std::map<int, Origin> now, first;  // by warp
    bool told = false;
  };
  std::map<std::pair<const Cta*, uint32_t>, Rounds> rounds_;
  static void end_round(Rounds& rounds, uint32_t barrier);
  Origin cancel_;         // the first try_cancel; no launch: there was none
  bool granted_ = false;  // clusters were left when one was issued
};

}  // namespace tinygpu::checks
