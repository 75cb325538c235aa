#include "web/machine/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "common/tinygpu/api/machine.h"
#include "common/tinygpu/cli/explain_instruction.h"
#include "common/tinygpu/diagnosis/diagnoses.h"
#include "common/tinygpu/diagnosis/place_json.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/observe/report/timeline_json.h"
#include "common/tinygpu/ptx/form_pattern.h"
#include "common/tinygpu/ptx/parser.h"
#include "common/tinygpu/timing/profile.h"
#include "web/machine/buffers.h"
#include "web/machine/moments.h"
#include "web/machine/recorded.h"
#include "web/machine/request_buffers.h"
#include "web/machine/snapshot.h"
#include "web/machine/written.h"

namespace tinygpu::web {
namespace {

constexpr size_t kWindow = 2048;  // bytes that are shown of a recorded region
/// A page's kernels are short: what runs longer has no end. (gen5 run has no such limit.)
constexpr uint64_t kMostCycles = 200'000'000;

Dim3 dims(const Json& request, const char* key, Dim3 otherwise) {
  if (!request.contains(key) || request[key].is_null()) return otherwise;
  const auto n = request[key].get<std::vector<uint32_t>>();
  if (n.empty() || n.size() > 3) throw WrongRequest(fmt::format("{}: write one to three numbers", key));
  return {n[0], n.size() > 1 ? n[1] : 1, n.size() > 2 ? n[2] : 1};
}

/// What a run has made of a recorded region: its elements from the first that has changed on.
Json region_json(const api::Machine& m, const Recorded::Region& r) {
  std::vector<uint8_t> bytes(r.before.size());
  m.memory().read(r.address, bytes);
  const auto [first, unused] = std::ranges::mismatch(bytes, r.before);
  const auto begin = size_t(first - bytes.begin()) / kWindow * kWindow;
  size_t changed = 0;
  for (size_t i = 0; i < bytes.size(); ++i) changed += bytes[i] != r.before[i];
  const size_t shown = changed ? std::min(kWindow, bytes.size() - begin) : 0;
  return {{"name", r.name.empty() ? fmt::format("{:#x}", r.address) : r.name},
          {"type", r.type},
          {"size", bytes.size()},
          {"changed", changed},
          {"begin", begin},
          {"bytes", base64(bytes.data() + begin, shown)},
          {"digest", digest(bytes.data(), bytes.size())}};
}

/// Lines of the sources that the request has.
ReadLine lines_of(const Json& sources) {
  std::map<std::string, std::vector<std::string>> files;
  for (const auto& [name, text] : sources.items()) {
    std::istringstream in(text.get<std::string>());
    for (std::string line; std::getline(in, line);) files[name].push_back(line);
  }
  return [files = std::move(files)](const std::string& file, int line) -> std::optional<std::string> {
    const auto found = files.find(file);
    if (found == files.end() || line < 1 || size_t(line) > found->second.size()) return std::nullopt;
    return found->second[size_t(line) - 1];
  };
}

class PageTimeline final : public observe::Timeline {
 public:
  PageTimeline() : Timeline({.sms = 4, .kernels = 1, .spans = kSpans}) {}
  Json json;

 private:
  static constexpr uint64_t kSpans = 20'000;
  void take(const Launch&, const observe::KernelTimeline& t) override { json = observe::timeline_json(t, kSpans); }
};

Json diagnosis_json(const Diagnosis& d) {
  Json out = {{"code", d.code},
              {"severity", diagnosis::name_of(d.severity)},
              {"message", d.message},
              {"help", d.help},
              {"label", d.label},
              {"rule", diagnosis::rule_of(d)},
              {"place", diagnosis::place_json(d.where)},
              {"others", Json::array()},
              {"text", diagnosis::render(d)}};
  for (const LabelledPlace& o : d.others)
    out["others"].push_back({{"place", diagnosis::place_json(o.where)}, {"label", o.label}});
  return out;
}

Json messages_json(const ptx::ParseError& e) {
  Json out = Json::array();
  for (const ptx::ParseMessage& p : e.messages)
    out.push_back({{"line", p.pos.line}, {"column", p.pos.col}, {"text", p.text}, {"help", p.help}});
  return out;
}

api::Options options_of(const Json& request) {
  Json wanted = Json::object();
  for (const char* key : {"order", "seed", "check", "tmem_checks"})
    if (request.contains(key) && !request[key].is_null()) wanted[key] = request[key];
  api::Options options = api::with_json({}, nlohmann::json::parse(wanted.dump()));
  options.machine = request.value("machine", "b200");
  options.memory_check = request.value("memory_check", false);
  options.max_cycles = std::clamp<uint64_t>(request.value("max_cycles", kMostCycles), 1, kMostCycles);
  options.threads = 1;
  return options;
}

api::LaunchRequest launch_of(api::Machine& m, const api::Kernel& kernel, const std::vector<Buffer>& buffers,
                             const Json& request) {
  api::LaunchRequest launch;
  launch.grid = dims(request, "grid", {1, 1, 1});
  launch.block = dims(request, "block", {32, 1, 1});
  if (request.contains("cluster") && !request["cluster"].is_null())
    launch.cluster = dims(request, "cluster", {1, 1, 1});
  launch.dynamic_shared = request.value("shared", uint64_t(0));
  launch.cooperative = request.value("cooperative", false);
  launch.parameters = request.contains("packed")
                          ? from_base64(request["packed"].get<std::string>())
                          : parameters_of(m, kernel, request.value("parameters", Json::array()), buffers);
  return launch;
}

/// How the launch has ended, or where it stands.
void tell_end(api::Machine& m, const api::Stop& stop, Watcher& watcher, Json& out) {
  switch (stop.why) {
    case api::Stop::Why::fault:
      out["status"] = "fault";
      out["message"] = stop.fault->message;
      out["seen"] = Json::parse(watcher.at_fault.dump());
      break;
    case api::Stop::Why::done:
      out["status"] = "done";
      for (const api::Finished& f : m.take_finished()) {
        out["cycles"] = f.stats.cycles;
        out["instructions"] = f.stats.instructions;
        out["counters"] = f.stats.counters;
        out["counters"].erase("matrix sums, scalar");  // how the host has added them
      }
      break;
    default: out["status"] = "stopped"; out["seen"] = Json::parse(watcher.seen().dump());
  }
}

Json run(const Json& request) {
  Json out = {{"status", "invalid"}, {"diagnoses", Json::array()}};
  const std::string text = request.value("ptx", "");
  try {
    ptx::parse(text);
  } catch (const ptx::ParseError& e) {
    out["message"] = "the PTX is wrong";
    out["messages"] = messages_json(e);
    return out;
  }
  // These outlive the machine, whose end ends the launches that are left.
  Watcher watcher;
  const bool timeline = request.value("timeline", false), registers = request.value("registers", false);
  PageTimeline spans;
  Moments moments;
  Written written;
  api::Machine m(options_of(request));
  m.on_diagnosis([&](const Diagnosis& d) { out["diagnoses"].push_back(diagnosis_json(d)); });
  if (request.contains("sources")) m.read_sources(lines_of(request["sources"]));
  std::vector<Observer*> observers{&watcher};
  if (timeline) observers.insert(observers.end(), {&spans, &moments});
  if (registers) observers.push_back(&written);
  m.attach(std::move(observers));
  Recorded recorded(m, request);
  api::Module& module = m.load(text);
  recorded.set_variables(module, request);
  std::string name = request.value("kernel", "");
  const std::vector<std::string> entries = module.entries();
  if (entries.empty()) throw WrongRequest("the PTX has no kernel (.entry)");
  if (name.empty()) name = entries.front();
  const api::Kernel& kernel = module.kernel(name);
  out["kernel"] = name;
  out["registers"] = kernel.registers;
  const std::vector<Buffer> buffers = buffers_of(m, request);
  m.launch(kernel, launch_of(m, kernel, buffers, request));
  const uint64_t begin = m.clock(), stop_at = request.value("stop_at", uint64_t(0));
  const api::Stop stop = stop_at ? m.run_until(begin + stop_at) : m.run();
  out["cycles"] = m.clock() - begin;
  tell_end(m, stop, watcher, out);
  out["output"] = m.take_output();
  out["buffers"] = Json::array();
  for (const Buffer& b : buffers) out["buffers"].push_back(buffer_json(m, b));
  for (const Recorded::Region& r : recorded.regions()) out["regions"].push_back(region_json(m, r));
  if (registers) out["written"] = written.json();
  if (timeline) {
    // Of a launch that was left the machine knows no end: it is not drawn.
    if (!spans.json.is_null()) out["timeline"] = std::move(spans.json);
    out["moments"] = moments.json();
    out["clock_ghz"] = m.spec().clock_ghz;
  }
  return out;
}

Json check(const Json& request) {
  Json out = {{"messages", Json::array()}, {"kernels", Json::array()}};
  try {
    const ptx::Module m = ptx::parse(request.value("ptx", ""));
    for (const auto& f : m.functions) {
      if (!f->entry) continue;
      Json parameters = Json::array();
      for (const auto& p : f->params)
        parameters.push_back({{"name", p.name}, {"type", std::string(ptx::name_of(p.type))}, {"bytes", p.size}});
      out["kernels"].push_back({{"name", f->name}, {"parameters", parameters}});
    }
    out["target"] = m.target;
  } catch (const ptx::ParseError& e) {
    out["messages"] = messages_json(e);
  }
  return out;
}

Json explain(const Json& request) {
  if (request.contains("code")) {
    const diagnosis::CodeInfo* c = diagnosis::find_code(request["code"].get<std::string>());
    if (!c) throw WrongRequest("no diagnosis has this code");
    return {{"code", c->code},
            {"what", c->what},
            {"rule", c->rule.text},
            {"section", c->rule.section},
            {"hardware", diagnosis::hardware_words(*c)},
            {"fix", c->fix.text},
            {"example", c->fix.example}};
  }
  const cli::Explained e = cli::explain_instruction(
      request.value("instruction", ""), request.value("target", "sm_100a"), request.value("version", "9.0"));
  return {{"text", e.text}, {"legal", e.legal}};
}

/// Modifiers in the order of the table, each once.
Json forms(const Json& request) {
  std::set<std::string> samples;
  std::map<std::string, std::vector<std::string>> opcodes;
  for (const ptx::forms::Form* f : ptx::forms::all_forms()) {
    std::vector<std::string>& modifiers = opcodes[std::string(ptx::name_of(f->opcode))];
    if (modifiers.empty())
      for (const ptx::forms::Pattern& row : ptx::forms::patterns_of(f->opcode))
        for (const ptx::forms::ModifierPattern& m : row.modifiers)
          for (const std::string& choice : m.choices)
            if (std::string name = ptx::forms::first_of(choice); !std::ranges::count(modifiers, name))
              modifiers.push_back(std::move(name));
    if (request.value("samples", false) && !ptx::forms::sample_instruction(*f).empty())
      samples.insert(ptx::forms::sample_module(*f));
  }
  return {{"opcodes", opcodes}, {"samples", samples}};
}

Json failed(const char* status, const std::string& message) { return {{"status", status}, {"message", message}}; }

}  // namespace

Json answer(const Json& request) try {
  const std::string what = request.value("do", "");
  if (what == "run") return run(request);
  if (what == "check") return check(request);
  if (what == "explain") return explain(request);
  if (what == "forms") return forms(request);
  return failed("invalid", fmt::format("there is nothing called \"{}\" to do", what));
} catch (const api::LaunchRefused& e) {
  return failed("refused", e.help.empty() ? e.what() : fmt::format("{}; {}", e.what(), e.help));
} catch (const std::bad_alloc&) {
  return failed("invalid", "the page has no memory left for this");
} catch (const std::exception& e) {
  return failed("invalid", e.what());
} catch (...) {
  return failed("invalid", "the machine has thrown what it should have caught");
}

std::string answer(const std::string& request) {
  const Json parsed = Json::parse(request, nullptr, false);
  const Json out = parsed.is_object() ? answer(parsed) : failed("invalid", "the request is no JSON object");
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tinygpu::web
