#include "common/tinygpu/timing/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace tinygpu {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 6> kTrusts = {"measured",  "fitted", "documented",
                                                     "published", "weak",   "estimated"};

/// The names of CostClass, in its order.
constexpr std::array<std::string_view, size_t(CostClass::count_)> kClasses = {
    "alu",           "alu64",        "imul",          "fma",          "fma2",          "half",        "fp64",
    "cvt",           "sfu",          "idiv",          "fdiv",         "fdiv64",        "control",     "barrier",
    "warp_sync",     "mma_sync",     "shared_load",   "shared_store", "shared_atomic", "global_load", "global_store",
    "global_atomic", "local_memory", "constant_load", "param_load",   "ldmatrix",      "stmatrix",    "mbarrier",
    "async_issue",   "fence",        "special"};
static_assert(!kClasses.back().empty(), "a CostClass has no name here");

/// Classes whose latency is known only when they run (hits, misses, bank passes): their results release a scoreboard.
bool decided_at_run_time(CostClass c) {
  switch (c) {
    case CostClass::shared_load:
    case CostClass::shared_atomic:
    case CostClass::global_load:
    case CostClass::global_atomic:
    case CostClass::ldmatrix:
    case CostClass::mbarrier: return true;
    default: return false;
  }
}

class Reader {
 public:
  Reader(std::string path, Profile& profile) : path_(std::move(path)), profile_(profile) {}

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw ProfileError(fmt::format("{}: {}: {}", path_, key.empty() ? "the file" : key, what));
  }

  /// Member `name` of `parent`, an object.
  const Json& object(const Json& parent, const std::string& name) const {
    auto it = parent.find(name);
    if (it == parent.end()) fail(name, "is missing");
    if (!it->is_object()) fail(name, "must be an object");
    return *it;
  }

  std::string text(const Json& parent, const char* name, const std::string& key, bool required = true) const {
    auto it = parent.find(name);
    if (it == parent.end()) {
      if (required) fail(key, fmt::format("has no \"{}\"", name));
      return {};
    }
    if (!it->is_string()) fail(key, fmt::format("\"{}\" must be a string", name));
    return it->get<std::string>();
  }

  /// Reads {"value", "unit", "what", "source", "trust"} and files it under `key`.
  double number(const Json& j, const std::string& key) {
    if (!j.is_object()) fail(key, R"(must be an object {"value", "unit", "what", "source", "trust"})");
    for (auto& [field, unused] : j.items())
      if (field != "value" && field != "unit" && field != "what" && field != "source" && field != "trust" &&
          field != "low" && field != "high" && field != "spread")
        fail(key, fmt::format("has an unknown member \"{}\"", field));
    ProfileEntry e;
    e.key = key;
    auto value = j.find("value");
    if (value == j.end()) fail(key, "has no \"value\"");
    if (value->is_boolean()) {
      e.truth = true;
      e.value = value->get<bool>();
    } else if (value->is_number()) {
      e.value = value->get<double>();
    } else {
      fail(key, "\"value\" must be a number or true or false");
    }
    e.unit = text(j, "unit", key);
    e.what = text(j, "what", key, false);
    e.source = text(j, "source", key);
    if (e.source.empty()) fail(key, "\"source\" is empty: say where the number comes from");
    const std::string trust = text(j, "trust", key);
    auto found = std::find(kTrusts.begin(), kTrusts.end(), trust);
    if (found == kTrusts.end()) fail(key, fmt::format("trust \"{}\" is none of {}", trust, fmt::join(kTrusts, ", ")));
    e.trust = Trust(found - kTrusts.begin());
    read_spread(j, e);
    profile_.entries.push_back(e);
    return e.value;
  }

 private:
  /// {"low", "high", "spread"}: all or none.
  void read_spread(const Json& j, ProfileEntry& e) const {
    const auto low = j.find("low"), high = j.find("high");
    if (low == j.end() && high == j.end() && !j.contains("spread")) return;
    if (low == j.end() || high == j.end() || !low->is_number() || !high->is_number())
      fail(e.key, R"(a spread has two numbers, "low" and "high", and its reason, "spread")");
    e.low = low->get<double>();
    e.high = high->get<double>();
    e.spread = text(j, "spread", e.key);
    if (e.spread.empty()) fail(e.key, "\"spread\" is empty: say why the number lies between \"low\" and \"high\"");
    if (!(e.low <= e.value && e.value <= e.high))
      fail(e.key, fmt::format("{} lies outside its spread, {} to {}", e.value, e.low, e.high));
  }

  std::string path_;
  Profile& profile_;
};

/// Reads device.KEY into a field and remembers that the key is known.
class DeviceReader {
 public:
  DeviceReader(Reader& reader, const Json& device) : reader_(reader), device_(device) {}

  template <class T>
  void operator()(const char* key, T& field) {
    known_.insert(key);
    auto it = device_.find(key);
    const std::string full = std::string("device.") + key;
    if (it == device_.end()) reader_.fail(full, "is missing");
    const double v = reader_.number(*it, full);
    if (v < 0) reader_.fail(full, "is negative");
    field = static_cast<T>(v);
  }
  void no_others() const {
    for (auto& [key, unused] : device_.items())
      if (!known_.count(key)) reader_.fail("device." + key, "is not a key that the machine knows");
  }

 private:
  Reader& reader_;
  const Json& device_;
  std::set<std::string> known_;
};

}  // namespace

std::string_view to_string(Trust t) { return kTrusts[size_t(t)]; }

Profile parse_profile(std::string_view json, const std::string& path) {
  Profile p;
  p.path = path;
  Reader read(path, p);
  Json root;
  try {
    root = Json::parse(json);
  } catch (const Json::parse_error& e) {
    throw ProfileError(fmt::format("{}: not JSON: {}", path, e.what()));
  }
  if (!root.is_object()) read.fail("", "must hold one object");
  p.spec.name = read.text(root, "name", "the file");
  p.gpu = read.text(root, "gpu", "the file");
  p.note = read.text(root, "note", "the file", false);

  DeviceReader device(read, read.object(root, "device"));
  MachineSpec& s = p.spec;
  device("compute_major", s.compute_major);
  device("compute_minor", s.compute_minor);
  device("sms", s.sms);
  device("clock_ghz", s.clock_ghz);
  device("global_bytes", s.global_bytes);
  device("l2_bytes", s.l2_bytes);
  device("shared_per_sm", s.shared_per_sm);
  device("shared_per_block_optin", s.shared_per_block_optin);
  device("shared_per_block", s.shared_per_block);
  device("reserved_shared_per_block", s.reserved_shared_per_block);
  device("registers_per_sm", s.registers_per_sm);
  device("max_threads_per_sm", s.max_threads_per_sm);
  device("max_warps_per_sm", s.max_warps_per_sm);
  device("max_blocks_per_sm", s.max_blocks_per_sm);
  device("max_threads_per_block", s.max_threads_per_block);
  device("max_cluster", s.max_cluster);
  device("portable_cluster", s.portable_cluster);
  device("sms_per_gpc", s.sms_per_gpc);
  device("memory_clock_khz", s.memory_clock_khz);
  device("memory_bus_bits", s.memory_bus_bits);
  device("host_link_bytes_per_second", s.host_link_bytes_per_second);
  device("copy_bytes_per_second", s.copy_bytes_per_second);
  device("has_tmem", s.has_tmem);
  device("has_wgmma", s.has_wgmma);
  device.no_others();
  if (s.sms < 1) read.fail("device.sms", "must be at least 1");
  for (auto [key, value] : {std::pair{"clock_ghz", s.clock_ghz},
                            {"sms_per_gpc", double(s.sms_per_gpc)},
                            {"host_link_bytes_per_second", s.host_link_bytes_per_second},
                            {"copy_bytes_per_second", s.copy_bytes_per_second}})
    if (value <= 0) read.fail(std::string("device.") + key, "must be positive");

  const Json& instructions = read.object(root, "instructions");
  for (auto& [name, unused] : instructions.items())
    if (std::find(kClasses.begin(), kClasses.end(), name) == kClasses.end())
      read.fail("instructions." + name, "is not a cost class (common/tinygpu/program/op.h)");
  for (size_t c = 0; c < kClasses.size(); ++c) {
    const std::string name(kClasses[c]), key = "instructions." + name;
    auto it = instructions.find(name);
    if (it == instructions.end() || !it->is_object()) read.fail(key, R"(must be an object {"issue", "latency"})");
    for (auto& [field, unused] : it->items())
      if (field != "issue" && field != "latency") read.fail(key, fmt::format("has an unknown member \"{}\"", field));
    OpCost& cost = s.costs[c];
    for (auto [field, into] : {std::pair{"issue", &cost.issue}, std::pair{"latency", &cost.latency}}) {
      auto number = it->find(field);
      const std::string full = key + "." + field;
      if (number == it->end()) read.fail(full, "is missing");
      const double v = read.number(*number, full);
      if (v < 1 || v > 255 + (field[0] == 'l' ? 65280 : 0) || v != double(uint16_t(v)))
        read.fail(full,
                  fmt::format("{} is not a whole number of cycles from 1 to {}", v, field[0] == 'l' ? 65535 : 255));
      *into = uint16_t(v);
    }
    cost.variable = decided_at_run_time(CostClass(c));
  }

  for (auto& [key, value] : read.object(root, "numbers").items()) s.numbers[key] = read.number(value, key);
  for (auto& [key, unused] : root.items())
    if (key != "name" && key != "gpu" && key != "note" && key != "device" && key != "instructions" && key != "numbers")
      read.fail(key, "is not a part of a profile");
  return p;
}

}  // namespace tinygpu
