#include "common/tinygpu/cuda/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "common/tinygpu/api/matrix_products.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/diagnosis/place_json.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/observe/place_clock.h"
#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/sm_timeline.h"
#include "common/tinygpu/observe/trace.h"

using nlohmann::json;
using nlohmann::ordered_json;
using tinygpu::Diagnosis;
using tinygpu::cuda::State;
namespace api = tinygpu::api;
namespace observe = tinygpu::observe;

namespace {

/// More than a reader looks at; a program that goes wrong everywhere must not fill the host's memory.
constexpr size_t kMostKept = 1000;

struct Stretch {
  std::unique_ptr<observe::Profile> profile;
  std::unique_ptr<observe::SmTimeline> timeline;
  std::unique_ptr<observe::PlaceClock> clock;
  std::ostringstream trace_document;
  std::unique_ptr<observe::Trace> trace;
};

/// Never destroyed, as State: launches may come from atexit handlers.
struct Session {
  std::unique_ptr<Stretch> stretch;
  std::vector<json> diagnoses;
  uint64_t dropped = 0;
  std::string why_not, options, machine, taken, profile, trace, timeline;
};
Session& session() {
  static Session& s = *new Session;
  return s;
}

/// Keeps a text for the caller.
const char* give(std::string& place, std::string text) {
  place = std::move(text);
  return place.c_str();
}
template <class Json>
const char* give(std::string& place, const Json& document) {
  return give(place, document.dump(-1, ' ', false, Json::error_handler_t::replace));
}

/// f(state) under the lock, when all that was submitted is done.
template <class F>
auto settled(F&& f) {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  return f(s);
}

json described(const Diagnosis& d, const std::string& text) {
  json places = json::array();
  const auto add = [&](const tinygpu::Where& w, const std::string& label) {
    json place(tinygpu::diagnosis::place_json(w));
    if (const Stretch* stretch = session().stretch.get(); stretch && stretch->clock)
      if (const auto clock = stretch->clock->of(w)) place["clock"] = *clock;
    place["label"] = label;
    places.push_back(std::move(place));
  };
  add(d.where, d.label);
  for (const tinygpu::LabelledPlace& p : d.others) add(p.where, p.label);
  return {{"code", d.code},
          {"severity", tinygpu::diagnosis::name_of(d.severity)},
          {"message", d.message},
          {"help", d.help},
          {"kernel", d.where.kernel},
          {"file", d.where.cuda_file},
          {"line", d.where.cuda_line},
          {"column", d.where.cuda_column},
          {"places", std::move(places)},
          {"text", text}};
}

void keep(const Diagnosis& d, const std::string& text) {
  Session& s = session();
  if (s.diagnoses.size() < kMostKept)
    s.diagnoses.push_back(described(d, text));
  else
    ++s.dropped;
}

void attach(State& s) {
  std::vector<tinygpu::Observer*> observers;
  if (Stretch* stretch = session().stretch.get()) {
    if (stretch->profile) observers.push_back(stretch->profile.get());
    if (stretch->timeline) observers.push_back(stretch->timeline.get());
    if (stretch->clock) observers.push_back(stretch->clock.get());
    if (stretch->trace) observers.push_back(stretch->trace.get());
  }
  s.observers.set_session(std::move(observers));
}

void begin_trace(Stretch& stretch) {
  stretch.trace.reset();
  stretch.trace_document.str({});
  stretch.trace = std::make_unique<observe::Trace>(stretch.trace_document, observe::TimelineLimits{});
}

void end_stretch(State& s) {
  tinygpu::cuda::print_by(nullptr);
  session().stretch.reset();
  attach(s);
  s.machine.run_by(s.options);
  s.observers.check_by(std::nullopt);
}

}  // namespace

extern "C" {

const char* tinygpu_session_open(const char* machine) try {
  const std::string wanted = machine ? machine : "";
  const tinygpu::MachineSpec spec = api::spec_of({.machine = wanted});
  static const bool first = [&] {
    setenv("GEN5_MACHINE", wanted.c_str(), 1);
    return true;
  }();
  (void)first;
  State& s = State::get();
  if (s.machine.spec().name != spec.name)
    return give(session().why_not, fmt::format("this process already runs on the machine {}; start another one for {}",
                                               s.machine.spec().name, spec.name));
  s.host_reads_memory = true;
  tinygpu::cuda::listen(keep);
  return nullptr;
} catch (const std::exception& e) {
  return give(session().why_not, std::string(e.what()));
}

const char* tinygpu_session_begin(const char* options) try {
  return settled([&](State& s) {
    const json o = json::parse(options && *options ? options : "{}");
    constexpr std::string_view kKept[] = {"profile", "trace", "timeline", "diagnoses"};
    const api::Options run = api::with_json(s.options, o, kKept);
    auto stretch = std::make_unique<Stretch>();
    if (o.value("profile", false)) stretch->profile = std::make_unique<observe::Profile>();
    if (o.value("timeline", false)) stretch->timeline = std::make_unique<observe::SmTimeline>();
    if (o.value("trace", false)) begin_trace(*stretch);
    const bool diagnoses = o.value("diagnoses", false);
    if (diagnoses) stretch->clock = std::make_unique<observe::PlaceClock>();
    end_stretch(s);
    s.machine.run_by(run);
    if (o.contains("check")) s.observers.check_by(run.observation.checks);
    session().stretch = std::move(stretch);
    attach(s);
    if (diagnoses) tinygpu::cuda::print_by(keep);
    return static_cast<const char*>(nullptr);
  });
} catch (const std::exception& e) {
  return give(session().why_not, std::string(e.what()));
}

void tinygpu_session_end() { settled(end_stretch); }

const char* tinygpu_session_options() {
  json all = json::array();
  const auto text = [](const char* t) { return t ? json(t) : json(); };
  for (const api::Option& o : api::option_table())
    all.push_back({{"variable", o.variable},
                   {"flag", text(o.flag)},
                   {"key", text(o.key)},
                   {"values", text(o.values)},
                   {"help", o.help}});
  return give(session().options, all);
}

const char* tinygpu_session_machine(const char* machine) try {
  const tinygpu::MachineSpec spec = api::spec_of({.machine = machine ? machine : ""});
  json peaks;
  for (const char* key : {"mem.shared.bytes_per_cycle", "mem.l2.bytes_per_cycle", "mem.dram.bytes_per_cycle",
                          "peak.f16", "peak.tf32", "peak.f8", "peak.f4"})
    if (key != std::string_view("peak.f4") || spec.has_tmem) peaks[key] = spec.number(key);
  return give(session().machine,
              json{{"name", spec.name}, {"sms", spec.sms}, {"clock_ghz", spec.clock_ghz}, {"peaks", std::move(peaks)}});
} catch (const std::exception& e) {
  return give(session().machine, json{{"error", e.what()}});
}

const char* tinygpu_session_take() {
  return settled([](State& s) {
    s.synchronize();
    Session& own = session();
    const json out = {{"error", int(s.sticky)},
                      {"launches", s.machine.launches()},
                      {"cycles", s.machine.clock()},
                      {"dropped", own.dropped},
                      {"diagnoses", std::exchange(own.diagnoses, {})}};
    own.dropped = 0;
    return give(own.taken, out);
  });
}

void tinygpu_session_recover() {
  settled([](State& s) { s.sticky = CUDA_SUCCESS; });
}

const char* tinygpu_session_profile() {
  return settled([](State&) -> const char* {
    const Stretch* stretch = session().stretch.get();
    if (!stretch || !stretch->profile) return nullptr;
    ordered_json out = ordered_json::array();
    for (const auto& k : stretch->profile->kernels()) out.push_back(k.json());
    return give(session().profile, out);
  });
}

const char* tinygpu_session_trace() {
  return settled([](State& s) -> const char* {
    Stretch* stretch = session().stretch.get();
    if (!stretch || !stretch->trace) return nullptr;
    stretch->trace.reset();  // completes the document
    give(session().trace, stretch->trace_document.str());
    begin_trace(*stretch);
    attach(s);
    return session().trace.c_str();
  });
}

const char* tinygpu_session_timeline() {
  return settled([](State&) -> const char* {
    const Stretch* stretch = session().stretch.get();
    if (!stretch || !stretch->timeline || stretch->timeline->json().is_null()) return nullptr;
    return give(session().timeline, stretch->timeline->json());
  });
}

const char* tinygpu_session_name(const char* launches) try {
  return settled([&](State& s) {
    const std::string name = launches ? launches : "";
    tinygpu::cuda::name_launches(name);
    s.observers.name_launches(name);
    return static_cast<const char*>(nullptr);
  });
} catch (const std::exception& e) {
  return give(session().why_not, std::string(e.what()));
}

const char* tinygpu_session_spans(const char* timeline) try {
  return settled([&](State& s) {
    s.observers.add_program_timeline(timeline ? timeline : "");
    return static_cast<const char*>(nullptr);
  });
} catch (const std::exception& e) {
  return give(session().why_not, std::string(e.what()));
}

uint64_t tinygpu_session_host_address(uint64_t address, uint64_t written) {
  return settled([&](State& s) -> uint64_t {
    api::Memory& memory = s.machine.memory();
    uint8_t* at = memory.find(address) ? memory.at(address, std::max<uint64_t>(written, 1)) : nullptr;
    if (at && written) memory.written(address, written);
    return reinterpret_cast<uint64_t>(at);
  });
}

void tinygpu_session_blocks(uint64_t bytes) {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  s.machine.memory().set_blocks(bytes);
}

void tinygpu_session_product(const void* a, uint32_t rows, uint32_t a_element, const void* b, uint32_t columns,
                             uint32_t b_element, uint32_t depth, uint32_t promoted, float* d) {
  api::tensor_core_product({a, rows, api::Element(a_element)}, {b, columns, api::Element(b_element)}, depth, promoted,
                           d);
}

uint64_t tinygpu_session_cycles() {
  return settled([](State& s) { return s.machine.clock(); });
}

void tinygpu_session_clear_l2() {
  settled([](State& s) { s.machine.memory().flush_l2(); });
}
}
