// Who waits for whom in grids that go nowhere: every wait, what could end it, and where the chain begins.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/machine/chip/mbarrier_acts.h"
#include "common/tinygpu/machine/warp/group.h"

namespace tinygpu {

class Cluster;
class SmPartition;
class Launch;
class Warp;

class WaitGraph {
 public:
  explicit WaitGraph(const std::vector<const Launch*>& launches);

  /// The waits, equal ones once, those first on whose end the others wait. `most`: so many places.
  std::vector<LabelledPlace> places(size_t most) const;
  /// What is said of the first of them: `d` has its places already. Help, rule and further places.
  void explain(Diagnosis& d) const;

 private:
  /// Lanes of a warp that wait, or spin.
  struct Wait {
    const Launch* launch;
    const Warp* warp;
    const Group* group;
    bool blocked;
    uint32_t lanes;                 // of all groups of the warp that wait for the same
    std::vector<MbarrierAct> acts;  // on the mbarrier that they wait for
    std::vector<size_t> on;         // those whose lanes could end it
    uint32_t depth = 0;             // 0: a root; else so many waits away from one
    const Op& op() const;
  };
  void add(const Launch& launch, const SmPartition& partition);
  void find_mbarrier_edges(Wait& wait) const;
  void find_edges(Wait& wait) const;
  void find_depths();
  const Wait* root() const;
  std::string label(const Wait& wait) const;
  /// What its waits have seen of the mbarrier: how many phases, and the one behind the last of them.
  struct Seen {
    uint64_t phases = 0, next = 0;
  };
  static Seen seen_by(const Wait& wait);
  void explain_mbarrier(const Wait& wait, Diagnosis& d) const;

  std::vector<Wait> waits_;  // those of a warp follow each other
  std::unordered_map<const Cluster*, std::vector<size_t>> of_cluster_;
  const size_t launches_;
};

}  // namespace tinygpu
