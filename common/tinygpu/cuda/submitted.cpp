#include "common/tinygpu/cuda/submitted.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/memory.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/cuda/stream.h"
#include "common/tinygpu/machine/chip/device_launches.h"
#include "common/tinygpu/machine/chip/grid_scheduler.h"

namespace tinygpu::cuda {

namespace {

uint32_t condition(State& s, uint64_t address) {
  uint32_t value = 0;
  std::memcpy(&value, s.machine.memory().at(address, sizeof value), sizeof value);
  return value;
}
void set_condition(State& s, uint64_t address, uint32_t value) {
  std::memcpy(s.machine.memory().at(address, sizeof value), &value, sizeof value);
}

}  // namespace

// ---- What comes after what

size_t Submitted::last_of(const Stream& stream) const {
  const auto it = last_.find(&stream);
  return it == last_.end() ? kNone : it->second;
}

Submitted::Piece& Submitted::add(const Stream& stream) {
  Piece p;
  p.stream = &stream;
  const size_t before = last_of(stream);
  const auto behind = [&](size_t piece) {
    if (piece != kNone) p.after.push_back(piece);
  };
  behind(before);
  // The legacy default stream and those that block wait for each other.
  if (&stream == &legacy_) {
    for (const auto& [other, piece] : last_)
      if (other != &legacy_ && !(other->flags & CU_STREAM_NON_BLOCKING)) behind(piece);
  } else if (!(stream.flags & CU_STREAM_NON_BLOCKING)) {
    behind(last_of(legacy_));
  }
  if (before != kNone && p.after.size() == 1) {
    const Piece& b = pieces_[before];
    if (b.kernel) p.kernel_before = before;
    if (b.event) p.kernel_before = b.kernel_before;
  }
  last_[&stream] = pieces_.size();
  pieces_.push_back(std::move(p));
  return pieces_.back();
}

void Submitted::add(const Stream& stream, std::shared_ptr<const PreparedLaunch> kernel) {
  Piece& p = add(stream);
  if (kernel->request.programmatic && p.kernel_before != kNone) {
    p.primary = p.kernel_before;
    p.after = {p.primary};
    pieces_[p.primary].has_dependent = true;
  }
  p.kernel = std::move(kernel);
}

void Submitted::add(const Stream& stream, Work work) { add(stream).work = std::move(work); }

void Submitted::record(const Stream& stream, Event& event) {
  add(stream).event = &event;
  event.batch = batch_;
  event.piece = pieces_.size() - 1;
}

void Submitted::wait(const Stream& stream, const Event& event) {
  if (event.batch == batch_) add(stream).after.push_back(event.piece);
}

std::vector<size_t> Submitted::add_steps(std::deque<Piece>& pieces, const Stream& stream, const GraphExec& graph,
                                         size_t root) {
  std::vector<size_t> all;
  std::map<const GraphNode*, uint32_t> followers;
  for (const GraphNode& step : graph.steps)
    for (const GraphNode* a : step.after) ++followers[a];
  for (const GraphNode& step : graph.steps) {
    Piece p;
    p.stream = &stream;
    p.after.push_back(root);
    for (const GraphNode* a : step.after) p.after.push_back(root + 1 + graph.place.at(a));
    p.kernel = step.kernel;
    p.work = step.work;
    if (step.conditional) p.conditional = &step;
    // Captured as a programmatic launch behind one kernel, which lets one other start.
    const size_t before = step.after.size() == 1 ? p.after.back() : kNone;
    if (p.kernel && before != kNone && pieces[before].kernel && followers[step.after[0]] == 1)
      p.behind_kernel = pieces[before].before_kernel = true;
    if (p.kernel && p.kernel->request.programmatic && before != kNone && pieces[before].kernel &&
        !pieces[before].has_dependent) {
      p.primary = before;
      p.after = {before};
      pieces[before].has_dependent = true;
    }
    all.push_back(pieces.size());
    pieces.push_back(std::move(p));
  }
  return all;
}

void Submitted::add(const Stream& stream, const GraphExec& graph) {
  const size_t root = pieces_.size();
  add(stream).work = [conditions = graph.conditions](State& s) {
    for (const auto& c : conditions)
      if (c->at_launch) set_condition(s, c->address, *c->at_launch);
    return CUDA_SUCCESS;
  };
  const std::vector<size_t> all = add_steps(pieces_, stream, graph, root);
  Piece& end = add(stream);
  end.kernel_before = kNone;
  end.after.insert(end.after.end(), all.begin(), all.end());
}

void Submitted::clear() {
  pieces_.clear();
  last_.clear();
  ++batch_;
}

// ---- The run

/// Times are the machine's clock.
class Submitted::Run {
 public:
  Run(State& s, std::deque<Piece>& pieces) : s_(s), pieces_(pieces), begin_(s.gpu.clock), latest_(s.gpu.clock) {}

  CUresult run() {
    while (true) {
      const std::vector<size_t> kernels = start_all();
      if (scheduler_ && scheduler_->empty()) land();
      if (kernels.empty() && !scheduler_) break;
      if (!fly(kernels)) return error_;
    }
    s_.gpu.clock = latest_;
    return error_;
  }

 private:
  uint64_t ready(const Piece& p) const {
    uint64_t when = begin_;
    for (const size_t a : p.after) when = std::max(when, pieces_[a].end);
    return when;
  }
  void finish(Piece& p, uint64_t end) {
    p.over = true;
    p.end = end;
    latest_ = std::max(latest_, end);
  }

  bool may_start(const Piece& p) const {
    if (p.primary != kNone && pieces_[p.primary].lets_dependents_start) return true;
    return std::ranges::all_of(p.after, [&](size_t a) { return pieces_[a].over; });
  }

  /// Does all that is no kernel and whose time has come; the kernels whose time has come.
  std::vector<size_t> start_all() {
    std::vector<size_t> kernels;
    for (bool moved = true; moved;) {
      moved = false;
      kernels.clear();
      for (size_t i = first_; i < pieces_.size(); ++i) {
        Piece& p = pieces_[i];
        if (p.started || !may_start(p)) continue;
        if (p.kernel) {
          kernels.push_back(i);
          continue;
        }
        p.started = moved = true;
        const uint64_t when = ready(p);
        if (p.event && p.event->piece == i) stamp(*p.event, when);
        if (p.conditional) {
          go_on(i, when);
          continue;
        }
        finish(p, p.work ? do_work(p, when) : when);
        if (p.closes != kNone) close(p.closes, when);
      }
    }
    while (first_ < pieces_.size() && pieces_[first_].over) ++first_;
    return kernels;
  }

  // ---- Pieces for a piece that is not over before they are

  /// An empty piece that is over at `when`: what is added behind it begins then.
  size_t add_root(const Piece& of, uint64_t when) {
    Piece root;
    root.stream = of.stream;
    root.started = true;
    pieces_.push_back(std::move(root));
    finish(pieces_.back(), when);
    return pieces_.size() - 1;
  }
  void add_end(size_t of, std::vector<size_t> after) {
    Piece end;
    end.stream = pieces_[of].stream;
    end.after = std::move(after);
    end.closes = of;
    pieces_.push_back(std::move(end));
  }
  void close(size_t i, uint64_t when) {
    const GraphNode* const step = pieces_[i].conditional;
    if (step && step->conditional->type == CU_GRAPH_COND_TYPE_WHILE) return go_on(i, when);
    finish(pieces_[i], when);
  }

  /// A step that a condition decides, once and, of a loop, whenever its body is over.
  void go_on(size_t i, uint64_t when) {
    const GraphNode& step = *pieces_[i].conditional;
    const auto body = step.conditional->body(condition(s_, step.conditional->condition->address));
    if (!body || error_ != CUDA_SUCCESS) return finish(pieces_[i], when);
    const size_t root = add_root(pieces_[i], when);
    std::vector<size_t> all = add_steps(pieces_, *pieces_[i].stream, *step.bodies[*body], root);
    all.push_back(root);
    add_end(i, std::move(all));
  }

  /// What the grid of piece `i`, which ends now, has launched: work of one stream of a CTA in its order, other work
  /// side by side, and behind all the tail.
  void add_launched(size_t i, const std::vector<DeviceLaunch>& launches, uint64_t when) {
    const size_t root = add_root(pieces_[i], when);
    Module& module = *pieces_[i].kernel->request.kernel->module;
    std::map<std::pair<Dim3, uint64_t>, size_t> last;
    std::vector<size_t> all{root};
    const auto add = [&](const DeviceLaunch& d, std::vector<size_t> after) {
      Piece p;
      p.stream = pieces_[i].stream;
      p.after = std::move(after);
      if (!prepare_launched(module, d, p)) return false;
      pieces_.push_back(std::move(p));
      return true;
    };
    for (const DeviceLaunch& d : launches) {
      if (d.stream == kDeviceTailLaunch) continue;
      const auto before = last.find({d.by_cta, d.stream});
      if (!add(d, {before == last.end() ? root : before->second})) continue;
      all.push_back(pieces_.size() - 1);
      if (d.stream != kDeviceFireAndForget) last[{d.by_cta, d.stream}] = all.back();
    }
    for (const DeviceLaunch& d : launches)
      if (d.stream == kDeviceTailLaunch && add(d, all)) all.push_back(pieces_.size() - 1);
    add_end(i, std::move(all));
  }
  bool prepare_launched(Module& module, const DeviceLaunch& d, Piece& out) {
    if (d.kernel.empty()) {
      const auto pointer = [](uint64_t address) { return reinterpret_cast<const void*>(address); };
      out.work = [to = pointer(d.copy_to), from = pointer(d.copy_from), bytes = d.copy_bytes](State& s) {
        return copy(s, {to, Side::device}, {from, Side::device}, bytes);
      };
      return true;
    }
    LaunchRequest r;
    r.kernel = module.kernel(d.kernel);
    r.grid = d.grid;
    r.block = d.block;
    r.dynamic_shared = d.dynamic_shared;
    r.packed = d.parameters.data();
    r.packed_size = d.parameters.size();
    auto prepared = std::make_shared<PreparedLaunch>();
    const CUresult e = r.kernel ? prepare(s_, r, *prepared) : CUDA_ERROR_NOT_FOUND;
    if (e != CUDA_SUCCESS && error_ == CUDA_SUCCESS) error_ = e;
    out.kernel = std::move(prepared);
    return e == CUDA_SUCCESS;
  }

  void stamp(Event& e, uint64_t when) {
    if (scheduler_) return stamped_.emplace_back(&e, when), void();
    s_.gpu.clock = std::max(s_.gpu.clock, when);
    s_.events.record(&e, s_.now_ms());
  }

  /// Copies and fills follow each other. What they take is charged to the machine's clock.
  uint64_t do_work(const Piece& p, uint64_t when) {
    const uint64_t before = s_.gpu.clock, start = std::max(when, copies_until_);
    s_.gpu.clock = start;
    if (const CUresult e = p.work(s_); e != CUDA_SUCCESS && error_ == CUDA_SUCCESS) error_ = e;
    const uint64_t end = s_.gpu.clock;
    if (end > start) copies_until_ = end;
    s_.gpu.clock = before;
    return end == start ? when : end;
  }

  /// Starts these kernels beside those in flight, and waits until something happens to one.
  bool fly(const std::vector<size_t>& kernels) {
    if (!scheduler_) take_off();
    bool fine = true;
    on_clean_thread([&] {
      try {
        for (const size_t i : kernels) start(i);
        if (scheduler_->empty()) return;
        GridScheduler::Event event = scheduler_->run();
        const auto r = std::ranges::find(running_, event.launch, &RunningLaunch::launch);
        Piece& p = pieces_[r->piece];
        if (event.kind == GridScheduler::Event::Kind::lets_dependents_start) {
          p.lets_dependents_start = true;
          return;
        }
        uint64_t end = event.launch->start_time + event.stats.cycles;
        for (const size_t a : p.after) end = std::max(end, pieces_[a].end);
        if (event.launch->launched.empty())
          finish(p, end);
        else
          add_launched(r->piece, event.launch->launched, end);
        end_ = std::max(end_, end);
        end_launch(s_, *r, event.stats);
        done_.emplace_back(r->kernel->name, std::move(event.stats));
        running_.erase(r);
      } catch (const KernelFault& fault) {
        scheduler_.reset();
        for (const RunningLaunch& r : running_) release_workspace(s_, r);
        s_.fault(fault.diagnosis);
        fine = false;
      }
    });
    return fine;
  }

  void start(size_t i) {
    Piece& p = pieces_[i];
    p.started = true;
    RunningLaunch launch;
    if (const CUresult e = begin_launch(s_, *p.kernel, launch); e != CUDA_SUCCESS) {
      if (error_ == CUDA_SUCCESS) error_ = e;
      return finish(p, ready(p));
    }
    launch.config.behind_kernel = p.behind_kernel;
    launch.config.before_kernel = p.before_kernel;
    const auto primary = std::ranges::find(running_, p.primary, &RunningLaunch::piece);
    launch.launch =
        primary == running_.end()
            ? &scheduler_->add(launch.config, ready(p), p.stream->priority, p.has_dependent)
            : &scheduler_->add_dependent(launch.config, *primary->launch, p.stream->priority, p.has_dependent);
    launch.piece = i;
    start_ = std::min(start_, launch.launch->start_time);
    running_.push_back(std::move(launch));
  }

  void take_off() {
    scheduler_ = std::make_unique<GridScheduler>(s_.gpu);
    start_ = ~0ull;
    end_ = 0;
    l2_before_ = s_.gpu.chip_memory.l2_read();
    device_before_ = s_.gpu.chip_memory.device_bytes();
  }

  /// Nothing is in flight any more: it is known how long it took.
  void land() {
    scheduler_.reset();
    if (done_.empty()) return;
    LaunchStats all;
    all.cycles = end_ - start_;
    all.l2_bytes = s_.gpu.chip_memory.l2_read() - l2_before_;
    all.device_bytes = s_.gpu.chip_memory.device_bytes() - device_before_;
    s_.gpu.clock = std::max(s_.gpu.clock, start_);
    const double begin_ms = s_.now_ms(), each = s_.totals.add(done_, all);
    s_.gpu.clock = std::max(s_.gpu.clock, end_);
    const double end_ms = s_.now_ms();
    for (const auto& [event, when] : stamped_)
      s_.events.record(
          event, when >= end_ ? end_ms + s_.ms(when - end_) : begin_ms + double(when - std::min(when, start_)) * each);
    stamped_.clear();
    done_.clear();
  }

  State& s_;
  std::deque<Piece>& pieces_;
  const uint64_t begin_;
  uint64_t latest_, copies_until_ = 0;
  size_t first_ = 0;  // all before are over
  CUresult error_ = CUDA_SUCCESS;
  // Of those in flight:
  std::unique_ptr<GridScheduler> scheduler_;
  std::vector<RunningLaunch> running_;
  uint64_t start_ = 0, end_ = 0, l2_before_ = 0, device_before_ = 0;
  std::vector<std::pair<std::string, LaunchStats>> done_;
  std::vector<std::pair<Event*, uint64_t>> stamped_;
};

CUresult Submitted::run(State& s) {
  if (running_ || pieces_.empty()) return CUDA_SUCCESS;  // a host function of a graph calls
  running_ = true;
  CUresult e = CUDA_ERROR_UNKNOWN;
  try {
    e = Run(s, pieces_).run();
  } catch (...) {
    running_ = false;
    clear();
    throw;
  }
  running_ = false;
  clear();
  return e;
}

}  // namespace tinygpu::cuda
