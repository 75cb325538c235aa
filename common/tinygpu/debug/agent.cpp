#include "common/tinygpu/debug/agent.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "common/tinygpu/debug/progress.h"
#include "common/tinygpu/debug/repeated_output.h"
#include "common/tinygpu/debug/stops.h"
#include "common/tinygpu/debug/views.h"
#include "common/tinygpu/debug/wire.h"
#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::debug {
namespace {

using Clock = std::chrono::steady_clock;

class Attached final : public Agent {
 public:
  Attached(std::string socket, Wire wire, uint32_t interests, std::function<void()> copied)
      : Agent(interests),
        socket_(std::move(socket)),
        copied_(std::move(copied)),
        progress_(Progress::at(socket_, false)),
        wire_(std::move(wire)),
        stops_(lines_),
        views_(alive_, lines_) {
    greet("program");
    serve();
  }
  /// The debugger has another program already: this one runs freely.
  bool freed() const { return freed_; }

  void on_launch(const Launch& l) override { alive_.launches.insert(&l); }
  void on_end(const Launch& l, const LaunchStats*) override {
    alive_.launches.erase(&l);
    std::erase_if(alive_.operations, [&](const auto& o) { return o.first.first == &l; });
    parked_.clear();
    warp_ = nullptr;
  }
  void on_issue(const AsyncOperation& o) override {
    alive_.operations[{o.who.launch, o.id}] = o.shared_from_this();
    alive_.boxes.issued(o);
  }
  void on_complete(const AsyncOperation& o) override {
    alive_.operations.erase({o.who.launch, o.id});
    stops_.happened(o);
  }
  void on_sync(const Sync& s) override { stops_.happened(s); }
  void on_access(const MemoryAccess& a) override { stops_.touched(a); }
  void on_tensor_access(const TmemAccess& a) override { stops_.touched(a); }

  void on_cta(const Cta& cta, bool starts, uint64_t) override {
    if (!starts) {
      alive_.boxes.gone(cta);
      return;
    }
    for (const auto& warp : cta.warps)
      for (const Group& g : warp->groups()) step(*warp, g, nullptr, false, false);
  }
  void on_instruction(const Executed& e) override {
    const Group* current = &e.warp.group();
    const bool done = !current->mask || e.again;
    step(e.warp, *current, current->function == &e.function ? &e.op : nullptr, done, e.op.cost == CostClass::control);
  }

  void told(const Diagnosis& d) override {
    Json out = {{"event", "diagnosis"}, {"position", position_},       {"number", ++told_},        {"code", d.code},
                {"message", d.message}, {"severity", int(d.severity)}, {"place", json_of(d.where)}};
    for (const LabelledPlace& p : d.others) out["others"].push_back({{"place", json_of(p.where)}, {"label", p.label}});
    wire_.send(out);
    if (!stops_.wants(d, told_)) return;
    warp_ = nullptr;  // the launch may be over
    std::fflush(nullptr);
    wire_.send({{"event", "stopped"},
                {"why", "diagnosis"},
                {"id", told_},
                {"text", d.code + ": " + d.message},
                {"position", position_}});
    serve();
  }
  void finish() override {
    if (recorded_) wire_.send({{"event", "recorded"}, {"position", *recorded_}, {"hit", recorded_text_}});
    wire_.send({{"event", "ended"}, {"position", position_}});
  }

 private:
  static constexpr uint64_t kLook = 1024;  // steps between two looks at the clock, and at what the debugger says

  void greet(const char* role) {
    wire_.send({{"event", "hello"}, {"role", role}, {"pid", getpid()}, {"position", position_}});
  }

  /// A group that has not stood there before.
  bool park(const Warp& w, const Group& g) {
    const std::pair<uint32_t, uint32_t> place{g.mask, g.pc};
    auto& known = parked_[&w];
    std::erase_if(known, [&](const auto& k) {
      return std::ranges::none_of(w.groups(), [&](const Group& o) { return o.mask == k.first && o.pc == k.second; });
    });
    if (std::ranges::find(known, place) != known.end()) return false;
    known.push_back(place);
    return true;
  }

  /// `branched`: lanes may have gone elsewhere, and stand at a place of their own.
  void step(const Warp& w, const Group& current, const Op* from, bool no_arrival, bool branched) {
    ++position_;
    warp_ = &w;
    group_ = &current;
    if (progress_) progress_->position = position_;
    output_.at(position_);
    bool pause = false;
    if (position_ % kLook == 0) [[unlikely]] {
      if (period_.count() && Clock::now() - kept_ > period_) keep();
      pause = wire_.readable();
    }
    std::optional<Hit> hit = stops_.none() ? std::nullopt : stops_.take_event();
    if (!hit && !no_arrival && !stops_.none()) hit = stops_.arrived(w, current, from);
    if (branched)
      for (const Group& g : w.groups())
        if (&g != &current && g.mask && g.state == Group::State::runnable && park(w, g) && !hit)
          if ((hit = stops_.arrived(w, g, nullptr))) group_ = &g;
    if (hit && record_ && position_ < stops_.limit()) {
      recorded_ = position_;
      if (progress_) progress_->recorded = position_;
      recorded_text_ = hit->text;
      hit.reset();
    }
    if (!hit && position_ >= stops_.limit()) hit = Hit{"limit", 0, ""};
    if (!hit && pause) hit = Hit{"pause", 0, ""};
    if (hit) stop(*hit);
  }

  void stop(const Hit& hit) {
    Json out = {{"event", "stopped"}, {"why", hit.why}, {"id", hit.id}, {"text", hit.text}, {"position", position_}};
    if (recorded_) out.update({{"recorded", *recorded_}, {"hit", recorded_text_}});
    add_focus(out);
    recorded_.reset();
    std::fflush(nullptr);  // what it has printed is to be seen, and is lost if this process does not go on
    wire_.send(out);
    serve();
  }

  void add_focus(Json& out) {
    if (!warp_) return;
    const Group* g = group_->mask ? group_ : Views::group_of(*warp_, -1);  // all of its lanes may have gone elsewhere
    if (g) out["focus"] = views_.focus(*warp_, *g);
  }

  /// Answers until it is told to go on.
  void serve() {
    while (const auto request = wire_.receive()) {
      const std::string what = request->value("do", "");
      if (what == "quit") break;
      if (what == "pause") continue;  // it stands already
      if (what == "free") {
        freed_ = true;
        return;
      }
      if (what == "keep") {
        if (keep()) return;
        wire_.send({{"done", "keep"}});
      } else if (what == "mute") {
        output_.take();
        output_.mute(request->value("until", uint64_t(0)));
      } else if (what == "run") {
        go(*request);
        if (stops_.limit() > position_) return;
        Json out = {{"event", "stopped"}, {"why", "limit"}, {"position", position_}};
        add_focus(out);
        wire_.send(out);
      } else if (request->contains("view")) {
        const Warp* w = warp_;  // its CTA may begin at this step, and is not on its SM yet
        if (request->contains("focus"))
          if (const WarpName name = (*request)["focus"]; !w || !name.is(*w)) w = views_.find(name);
        wire_.send(views_.view(*request, w, request->value("focus_lane", -1)));
      } else {
        wire_.send({{"error", "no such request"}});
      }
    }
    _exit(0);  // so it was told, or the debugger is gone
  }

  void go(const Json& request) {
    stops_.set(request.value("stops", Json::object()));
    record_ = request.value("record", false);
    recorded_.reset();
    if (progress_) progress_->recorded = 0;
    period_ = std::chrono::milliseconds(request.value("keep_every", 0));
    kept_ = Clock::now();
  }

  /// A copy of the process stays here; this one goes on. The copy shares the pages that neither changes. When it is
  /// told to go on itself, it leaves a copy of its own. True: this is such a copy, and it has been told to run.
  bool keep() {
    std::fflush(nullptr);
    int ready[2];
    if (pipe2(ready, O_CLOEXEC)) return false;
    // Without the program's own handlers of fork(). The copy is a child of one that ends at once: so the debugger
    // inherits it, and the program, which may wait for children, does not know it.
    const pid_t between = _Fork();
    if (between == 0 && _Fork() != 0) _exit(0);
    close(ready[between ? 1 : 0]);
    if (between != 0) {
      while (between > 0 && waitpid(between, nullptr, 0) < 0 && errno == EINTR) continue;
      // It has reported, or is gone: the debugger hears of it before it hears more of this process.
      char none;
      while (between > 0 && read(ready[0], &none, 1) < 0 && errno == EINTR) continue;
      close(ready[0]);
      kept_ = Clock::now();
      return false;
    }
    copied_();
    wire_ = Wire::connect(socket_);
    if (!wire_.open()) _exit(0);
    greet("snapshot");
    close(ready[1]);
    for (;;) {
      const auto request = wire_.receive();
      if (!request || request->value("do", "") == "quit") _exit(0);
      if (request->value("do", "") != "wake") continue;
      if (keep()) return true;
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // its parent is the debugger now
      output_.mute(request->value("printed", position_));
      wire_.send({{"event", "awake"}, {"position", position_}, {"pid", getpid()}});
      serve();
      return true;
    }
  }

  const std::string socket_;
  const std::function<void()> copied_;
  Progress* const progress_;
  Wire wire_;
  Alive alive_;
  SourceLines lines_;
  Stops stops_;
  Views views_;
  uint64_t position_ = 0;
  const Warp* warp_ = nullptr;  // that is about to run; null: nothing was launched yet, or a launch has ended
  const Group* group_ = nullptr;
  RepeatedOutput output_;
  bool freed_ = false;
  size_t told_ = 0;      // diagnoses
  bool record_ = false;  // hits are remembered, the last one counts
  std::optional<uint64_t> recorded_;
  std::string recorded_text_;
  std::unordered_map<const Warp*, std::vector<std::pair<uint32_t, uint32_t>>> parked_;
  std::chrono::milliseconds period_{0};  // between snapshots; 0: none are made
  Clock::time_point kept_;
};

}  // namespace

std::unique_ptr<Agent> attach(const std::string& socket, bool accesses, std::function<void()> copied) {
  Wire wire = Wire::connect(socket);
  if (!wire.open()) return nullptr;
  uint32_t interests = Observer::instructions | Observer::operations | Observer::synchronisation;
  if (accesses) interests |= Observer::accesses | Observer::tensor_accesses;
  auto agent = std::make_unique<Attached>(socket, std::move(wire), interests, std::move(copied));
  if (agent->freed()) return nullptr;
  return agent;
}

}  // namespace tinygpu::debug
