// Where a run that is not over has left the machine.
#pragma once
#include <nlohmann/json.hpp>

#include "common/tinygpu/debug/views.h"

namespace tinygpu::web {

/// Watches a run, and keeps what there is to see when a fault ends it.
class Watcher final : public Observer {
 public:
  Watcher() : Observer(operations) {}
  void on_launch(const Launch& l) override { alive_.launches.insert(&l); }
  void on_end(const Launch& l, const LaunchStats* stats) override;
  void on_issue(const AsyncOperation& o) override { alive_.operations[{o.who.launch, o.id}] = o.shared_from_this(); }
  void on_complete(const AsyncOperation& o) override { alive_.operations.erase({o.who.launch, o.id}); }

  /// {"warps": [{"name", "place", "waits_for", "lanes"}], "registers": of one warp, "barriers", "inflight", "shared":
  /// bytes of its CTA, "tmem"}; the warp is the first in whose CTA `who` happened, or the first of all.
  debug::Json seen(const Where& who = {});
  debug::Json at_fault;

 private:
  debug::Alive alive_;
  debug::SourceLines lines_;
};

}  // namespace tinygpu::web
