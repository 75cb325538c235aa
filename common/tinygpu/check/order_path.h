// Why does nothing go wrong between two source lines? In the first cluster of each grid: the chain of synchronisation
// by which what line A does comes before what line B does, as PTX ISA 8.9 has it, or where the chain breaks. Warps
// count as one thread each.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/tinygpu/base/source_place.h"
#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::checks {

class OrderPath final : public Observer {
 public:
  OrderPath(SourcePlace a, SourcePlace b);
  std::unique_ptr<Observer> another() override { return std::make_unique<OrderPath>(lines_[0], lines_[1]); }
  void on_launch(const Launch& launch) override;
  void on_end(const Launch& launch, const LaunchStats* stats) override;
  void on_issue(const AsyncOperation& o) override;
  void on_sync(const Sync& s) override;
  void on_access(const MemoryAccess& a) override;

 private:
  using Id = uint32_t;
  static constexpr Id kNone = ~0u;
  /// Something that a warp or an operation does, and what comes before it. Those later in the list never do.
  struct Event {
    Origin who;
    uint64_t time;
    const char* what;  // null: an access, an issue
    std::vector<Id> before;
  };
  struct Operation {
    Id effect = kNone;  // what its end promises, to those who wait for it
    AsyncOperation::Kind kind;
    int warp;
    CtaKey cta;
  };
  /// Memory that an event of one of the lines is about.
  struct Touch {
    const Cta* shared = nullptr;  // whose; null: global memory, or cells
    uint64_t low = 0, high = 0;
    TmemRect cells = {};  // of SM `low`, where it has any
    bool meets(const Touch& o) const;
  };
  struct Marked {
    Id event;
    std::vector<Touch> touches;  // none: not known
    bool meets(const Marked& o) const;
  };
  using Object = std::pair<const Cta*, uint32_t>;  // an mbarrier by its offset, a barrier by its number
  /// Of a barrier of threads.
  struct Round {
    std::vector<Id> arrivals;
    std::vector<Origin> waits;                               // warps
    std::map<std::pair<CtaKey, int>, std::vector<Id>> over;  // and those that come to the wait when it has ended
  };

  bool followed(const CtaKey& cta) const { return cta.id.x < first_.x && cta.id.y < first_.y && cta.id.z < first_.z; }
  Id add(const Origin& who, uint64_t time, const char* what, std::vector<Id> before = {});
  /// The same in the program of its warp.
  Id in_program(const Origin& who, uint64_t time, const char* what, std::vector<Id> before = {});
  bool at(size_t line, const Origin& who);
  void keep(size_t line, const Origin& who, Id event, std::vector<Touch> touches);
  void end_round(Round& round, uint64_t time, const char* what);
  void tell_chain(const std::vector<Id>& chain, uint64_t pairs);
  void tell_break(Id a, Id b, const std::vector<bool>& from_a, uint64_t pairs);
  LabelledPlace place(Id event, const std::string& label) const;
  std::string name_of(const Origin& who) const;

  const SourcePlace lines_[2];
  Dim3 first_;
  std::vector<Event> events_;
  std::vector<Marked> marked_[2];  // the events of each line
  std::unordered_map<const Op*, uint8_t> known_;
  std::map<std::pair<CtaKey, int>, Id> last_;  // of each warp
  std::unordered_map<uint64_t, Operation> operations_;
  std::map<std::pair<CtaKey, int>, std::vector<Id>> tensor_;  // effects of what each warp has issued to the tensor core
  std::map<Object, Round> rounds_;
  std::map<const Cluster*, Round> clusters_;
  std::map<Object, std::vector<Id>> arrivals_;        // in the phase in progress
  std::map<std::pair<Object, uint64_t>, Id> phases_;  // by number
  std::map<uint64_t, Id> released_;                   // by strong writes, by address
};

}  // namespace tinygpu::checks
