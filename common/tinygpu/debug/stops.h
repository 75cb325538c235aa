// When a run is to stop, as the debugger asks for it, and whether it has come to that.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/debug/lines.h"
#include "common/tinygpu/debug/wire.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::debug {

/// A warp that a stop is about.
struct WarpName {
  uint64_t grid = 0;
  Dim3 cta;
  uint32_t warp = 0;
  bool is(const Warp& w) const;
};
void to_json(Json& j, const WarpName& w);
void from_json(const Json& j, WarpName& w);

/// `warp == 1`, `cta.x >= 3`, `lane == 0`, `cycle > 1000`: of a warp that is about to run.
struct Condition {
  std::string what, comparison;
  int64_t value = 0;
};
void from_json(const Json& j, Condition& c);

struct Breakpoint {
  int id = 0;
  std::string file;  // "": no line of a file
  int line = 0;
  int ptx_line = 0;    // of the kernel's module
  std::string kernel;  // whose name contains this; alone: its first instruction
  std::vector<Condition> conditions;
  uint64_t skip = 0;  // hits
};
void from_json(const Json& j, Breakpoint& b);

/// The first warp to execute one more instruction, or to come to another line.
struct Step {
  WarpName warp;
  bool line = false;
  bool over = false;  // calls: not deeper than `depth`
  SourceLine from;
  size_t depth = 0, inlined = 0;  // of calls; of those that the compiler has inlined there
};

/// Bytes or cells that are touched. They are looked at when accesses are told of, behind the step that touches them.
struct Watch {
  int id = 0;
  std::string space;  // "shared", "global", "tmem"
  std::optional<Dim3> cta;
  uint64_t begin = 0, end = 0;                            // bytes
  uint32_t lane = 0, lanes = 0, column = 0, columns = 0;  // cells
  bool reads = false;
};
void from_json(const Json& j, Watch& w);

/// A group of lanes that is about to run, and why the run stops there.
struct Hit {
  std::string why;  // "breakpoint", "step", "limit", "event", "watchpoint"
  int id = 0;       // of the breakpoint
  std::string text;
};

class Stops {
 public:
  explicit Stops(SourceLines& lines) : lines_(lines) {}
  /// {"breakpoints": […], "watches": […], "events": ["complete", "phase" …], "step": {…}, "limit": position,
  /// "cycle": since the launch began, "diagnosis": the least severity, "diagnoses_behind": how many do not count}
  void set(const Json& wanted);
  uint64_t limit() const { return limit_; }
  /// The diagnosis that was given as number `number` (from 1 on) is to stop the run.
  bool wants(const Diagnosis& d, size_t number) const {
    return diagnosis_ >= 0 && int(d.severity) >= diagnosis_ && number > diagnoses_behind_;
  }
  bool none() const { return breakpoints_.empty() && watches_.empty() && events_.empty() && !step_ && cycle_ < 0; }

  /// Warp `w` has come to a new place, from op `from` of the same function (null: at its start, or by a call).
  std::optional<Hit> arrived(const Warp& w, const Group& g, const Op* from);
  /// Something else has happened: it is remembered until the next step.
  void happened(const AsyncOperation& operation);
  void happened(const Sync& sync);
  void touched(const MemoryAccess& access);
  void touched(const TmemAccess& access);
  std::optional<Hit> take_event() { return std::exchange(event_, {}); }

 private:
  /// Of a function: which breakpoints may stop at which op. There may be thousands of them.
  struct Marks {
    std::vector<bool> ops;
    std::unordered_map<uint32_t, std::vector<uint32_t>> breakpoints;  // by op
    std::vector<std::vector<SourceLine>>
        lines;  // of a breakpoint, in each file of that name: its own, or the next one that has code
  };
  const Marks& marks(const Launch& launch, const Function& f);
  bool holds(const Condition& c, const Warp& w, const Group& g) const;

  SourceLines& lines_;
  std::vector<Breakpoint> breakpoints_;
  std::vector<Watch> watches_;
  std::vector<std::string> events_;
  std::optional<Step> step_;
  uint64_t limit_ = ~0ull;
  int64_t cycle_ = -1;
  int diagnosis_ = -1;
  size_t diagnoses_behind_ = 0;
  std::optional<Hit> event_;
  Json marked_;  // the breakpoints that marks_ are of
  std::unordered_map<const Function*, Marks> marks_;
};

}  // namespace tinygpu::debug
