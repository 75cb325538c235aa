#include "common/tinygpu/cuda/session.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/trace.h"
#include "common/tinygpu/timing/profile.h"

using nlohmann::json;
using tinygpu::CompletionOrder;
using tinygpu::Diagnosis;
using tinygpu::cuda::State;

namespace {

/// Nobody reads more; a program that goes wrong everywhere must not fill the host's memory.
constexpr size_t kMostKept = 1000;

struct Stretch {
  std::unique_ptr<tinygpu::observe::Profile> profile;
  std::ostringstream timeline;
  std::unique_ptr<tinygpu::observe::Trace> trace;
};

/// Never destroyed, as State: launches may come from atexit handlers.
struct Session {
  std::unique_ptr<Stretch> stretch;
  std::vector<json> diagnoses;
  uint64_t dropped = 0;
  std::string said, taken, profile, trace;
};
Session& session() {
  static Session& s = *new Session;
  return s;
}

const char* say_why(const std::string& text) {
  session().said = text;
  return session().said.c_str();
}

json described(const Diagnosis& d, const std::string& text) {
  return {{"code", d.code},
          {"severity", tinygpu::diagnosis::name_of(d.severity)},
          {"message", d.message},
          {"help", d.help},
          {"kernel", d.where.kernel},
          {"file", d.where.cuda_file},
          {"line", d.where.cuda_line},
          {"column", d.where.cuda_column},
          {"text", text}};
}

void keep(const Diagnosis& d, const std::string& text) {
  Session& s = session();
  if (s.diagnoses.size() < kMostKept)
    s.diagnoses.push_back(described(d, text));
  else
    ++s.dropped;
}

/// What the environment says, changed by the options.
CompletionOrder order_of(const json& o, CompletionOrder order) {
  using Mode = CompletionOrder::Mode;
  if (o.contains("seed")) order = {.mode = Mode::seeded, .seed = o.at("seed").get<uint64_t>()};
  if (!o.contains("order")) return order;
  const std::string name = o.at("order").get<std::string>();
  if (name == "timed")
    order.mode = Mode::timed;
  else if (name == "late")
    order.mode = Mode::late;
  else if (name == "seeded")
    order.mode = Mode::seeded;
  else
    throw tinygpu::cuda::OptionError(fmt::format("order={}: write timed, late or seeded", name));
  return order;
}

bool races_of(const json& o) {
  const std::string check = o.value("check", "quick");
  if (check != "quick" && check != "races")
    throw tinygpu::cuda::OptionError(fmt::format("check={}: write quick or races", check));
  return check == "races";
}

void watch(State& s) {
  std::vector<tinygpu::Observer*> observers;
  if (Stretch* stretch = session().stretch.get()) {
    if (stretch->profile) observers.push_back(stretch->profile.get());
    if (stretch->trace) observers.push_back(stretch->trace.get());
  }
  s.watch(std::move(observers));
}

void begin_trace(Stretch& stretch) {
  stretch.trace.reset();
  stretch.timeline.str({});
  stretch.trace = std::make_unique<tinygpu::observe::Trace>(stretch.timeline, tinygpu::observe::TimelineLimits{});
}

void end_stretch(State& s) {
  session().stretch.reset();
  watch(s);
  s.gpu.options.order = s.options.order;
  s.gpu.options.max_cycles = s.options.max_cycles;
  s.gpu.options.threads = s.options.threads;
}

}  // namespace

extern "C" {

const char* tinygpu_session_open(const char* machine) try {
  const std::string wanted = machine ? machine : "";
  const tinygpu::MachineSpec spec = tinygpu::load_profile(wanted);
  static const bool first = [&] {
    setenv("GEN5_MACHINE", wanted.c_str(), 1);
    return true;
  }();
  (void)first;
  const State& s = State::get();
  if (s.gpu.spec.name != spec.name)
    return say_why(fmt::format("this process already runs on the machine {}; start another one for {}", s.gpu.spec.name,
                               spec.name));
  tinygpu::cuda::listen(keep);
  return nullptr;
} catch (const std::exception& e) {
  return say_why(e.what());
}

const char* tinygpu_session_begin(const char* options) try {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  const json o = json::parse(options && *options ? options : "{}");
  const CompletionOrder order = order_of(o, s.options.order);
  const bool races = races_of(o);
  end_stretch(s);
  auto stretch = std::make_unique<Stretch>();
  if (o.value("profile", false)) stretch->profile = std::make_unique<tinygpu::observe::Profile>();
  if (o.value("trace", false)) begin_trace(*stretch);
  s.gpu.options.order = order;
  s.gpu.options.max_cycles = o.value("max_cycles", s.options.max_cycles);
  s.gpu.options.threads = o.value("threads", s.options.threads);
  s.look_for_races(races);
  session().stretch = std::move(stretch);
  watch(s);
  return nullptr;
} catch (const std::exception& e) {
  return say_why(e.what());
}

void tinygpu_session_end() {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  end_stretch(s);
}

const char* tinygpu_session_take() {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  s.synchronize();
  Session& own = session();
  const json out = {{"error", int(s.sticky)},
                    {"launches", s.gpu.grids},
                    {"cycles", s.gpu.clock},
                    {"dropped", own.dropped},
                    {"diagnoses", std::exchange(own.diagnoses, {})}};
  own.dropped = 0;
  own.taken = out.dump(-1, ' ', false, json::error_handler_t::replace);
  return own.taken.c_str();
}

void tinygpu_session_recover() {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  s.sticky = CUDA_SUCCESS;
}

const char* tinygpu_session_profile() {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  const Stretch* stretch = session().stretch.get();
  if (!stretch || !stretch->profile) return nullptr;
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const auto& k : stretch->profile->kernels()) out.push_back(k.json());
  session().profile = out.dump(-1, ' ', false, json::error_handler_t::replace);
  return session().profile.c_str();
}

const char* tinygpu_session_trace() {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  Stretch* stretch = session().stretch.get();
  if (!stretch || !stretch->trace) return nullptr;
  stretch->trace.reset();  // completes the document
  session().trace = stretch->timeline.str();
  begin_trace(*stretch);
  watch(s);
  return session().trace.c_str();
}

void tinygpu_session_clear_l2() {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  // The cache is first in, first out: twice its size of other lines leaves nothing else.
  const uint64_t bytes = 2 * s.gpu.spec.l2_bytes;
  const uint64_t address = s.gpu.memory.allocate(bytes, 512, tinygpu::MemoryKind::device);
  if (!address) return;
  s.gpu.l2.written(address, bytes);
  s.gpu.memory.release(address);
}
}
