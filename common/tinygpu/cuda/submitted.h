// What streams have been given and no call has needed yet. Kernels of streams that do not wait for each other share the
// chip, and so do kernels of a stream under programmatic dependent launch: a launch does not run when it is submitted,
// but when a call asks for what it does, and those that came meanwhile run beside it. All that is here runs then, in
// the order that streams and events ask for.
#pragma once
#include <cuda.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "common/tinygpu/cuda/launch.h"

namespace tinygpu::cuda {

class State;
struct Event;
struct GraphExec;
struct GraphNode;
struct Stream;
using Work = std::function<CUresult(State&)>;

class Submitted {
 public:
  explicit Submitted(const Stream& legacy) : legacy_(legacy) {}
  bool empty() const { return pieces_.empty(); }
  /// So many that the next one waits until these have run, as on hardware where a queue is full.
  bool full() const { return pieces_.size() >= kMost; }

  void add(const Stream& stream, std::shared_ptr<const PreparedLaunch> kernel);
  void add(const Stream& stream, Work work);
  /// The event is recorded when what the stream has so far is over.
  void record(const Stream& stream, Event& event);
  /// What the stream gets from here on comes behind the event, if its record is here.
  void wait(const Stream& stream, const Event& event);
  /// A graph's steps, those that do not come after each other side by side.
  void add(const Stream& stream, const GraphExec& graph);

  /// Runs everything. The first error of work that is no kernel; a kernel's fault is the state's.
  CUresult run(State& s);
  /// Forgets everything.
  void clear();

 private:
  static constexpr size_t kMost = 1024, kNone = ~size_t{0};
  struct Piece {
    const Stream* stream = nullptr;
    std::vector<size_t> after;
    std::shared_ptr<const PreparedLaunch> kernel;  // one of these, or nothing: then others come after it
    Work work;
    Event* event = nullptr;
    size_t kernel_before = kNone;  // the stream's last kernel, if nothing but events lies between
    size_t primary = kNone;        // programmatic dependent launch: the kernel that lets this one start
    bool has_dependent = false;    // it is the primary of another
    bool behind_kernel = false, before_kernel = false;  // as in LaunchConfig
    bool started = false, over = false;
    bool lets_dependents_start = false;
    uint64_t end = 0;  // when it is over
    // A step that a condition decides, and a kernel that has launched others: over when the piece is that `closes` it,
    // which comes behind those that were added for it.
    const GraphNode* conditional = nullptr;
    size_t closes = kNone;
  };
  class Run;
  Piece& add(const Stream& stream);
  /// The graph's steps behind the piece `root`, which is the last one. Their places.
  static std::vector<size_t> add_steps(std::deque<Piece>& pieces, const Stream& stream, const GraphExec& graph,
                                       size_t root);
  size_t last_of(const Stream& stream) const;

  const Stream& legacy_;
  std::deque<Piece> pieces_;  // a host function may submit while they run
  std::map<const Stream*, size_t> last_;
  uint64_t batch_ = 1;  // of what is here
  bool running_ = false;
};

}  // namespace tinygpu::cuda
