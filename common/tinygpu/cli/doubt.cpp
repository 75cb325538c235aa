#include "common/tinygpu/cli/doubt.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "common/tinygpu/cli/counted_runs.h"
#include "common/tinygpu/timing/profile.h"

namespace tinygpu::cli {
namespace {

using Json = nlohmann::ordered_json;
using Entries = std::vector<const ProfileEntry*>;
namespace fs = std::filesystem;

/// Of the cycles: what changes them by less is not followed further.
constexpr double kLeast = 0.002;

/// A profile with some numbers changed, and what the program takes on it.
struct Variant {
  const Entries* changed;
  bool high;
  uint64_t cycles = 0;
};

class Runs {
 public:
  Runs(const Profile& profile, std::vector<std::string> command, uint32_t jobs)
      : runs_(std::move(command), {{"GEN5_TIMING_ONLY", "1"}}, jobs) {
    std::ifstream in(profile.path);
    json_ = Json::parse(in);
  }

  void take(std::span<Variant> variants) {
    std::vector<CountedRun> runs;
    for (const Variant& v : variants) {
      const fs::path profile = runs_.folder() / fmt::format("{}.json", profiles_++);
      Json json = json_;
      for (const ProfileEntry* e : *v.changed) place(json, e->key)["value"] = v.high ? e->high : e->low;
      std::ofstream(profile) << json;
      runs.push_back({.settings = {{"GEN5_MACHINE", profile.string()}}});
    }
    runs_.take(runs);
    for (size_t i = 0; i < runs.size(); ++i) variants[i].cycles = runs[i].cycles();
  }
  size_t count() const { return runs_.count(); }

 private:
  static Json& place(Json& json, const std::string& key) {
    for (const char* section : {"device", "instructions"})
      if (const std::string head = std::string(section) + "."; key.starts_with(head)) {
        const std::string rest = key.substr(head.size());
        if (section[0] == 'd') return json[section][rest];
        const size_t dot = rest.find('.');
        return json[section][rest.substr(0, dot)][rest.substr(dot + 1)];
      }
    return json["numbers"][key];
  }

  CountedRuns runs_;
  Json json_;
  size_t profiles_ = 0;
};

/// An estimate, or several that are varied together, with what both ends of the spreads do to the cycles.
struct Change {
  Entries entries;
  double low = 0, high = 0;  // cycles more than with the profile as it is
  double most() const { return std::max(std::abs(low), std::abs(high)); }
};

/// Numbers of one subject, times and rates apart, so that one's gain hides no other's loss.
std::vector<Change> grouped(const Profile& profile) {
  std::map<std::string, Entries> groups;
  for (const ProfileEntry& e : profile.entries)
    if (e.trust == Trust::estimated && e.low < e.high && !e.key.starts_with("power."))  // those are of seconds
      groups[e.key.substr(0, e.key.find('.')) + (e.unit == "cycle" ? " cycles" : "")].push_back(&e);
  std::vector<Change> out;
  for (auto& [name, entries] : groups) out.push_back({std::move(entries)});
  return out;
}

void vary(Runs& runs, std::vector<Change>& changes, uint64_t base) {
  std::vector<Variant> variants;
  for (const Change& c : changes)
    for (const bool high : {false, true}) variants.push_back({&c.entries, high});
  runs.take(variants);
  for (size_t i = 0; i < changes.size(); ++i) {
    changes[i].low = double(variants[2 * i].cycles) - double(base);
    changes[i].high = double(variants[2 * i + 1].cycles) - double(base);
  }
}

std::string number(double v) { return v == std::floor(v) ? fmt::format("{:.0f}", v) : fmt::format("{:g}", v); }

}  // namespace

void doubt(const std::string& machine, const std::vector<std::string>& command, uint32_t jobs) {
  const Profile profile = read_profile(machine);
  std::vector<Change> level = grouped(profile);
  size_t estimates = 0;
  for (const ProfileEntry& e : profile.entries) estimates += e.trust == Trust::estimated;
  if (level.empty())
    give_up(fmt::format("{}: none of its {} estimates has a spread (\"low\", \"high\" and \"spread\")", profile.path,
                        estimates));
  Runs runs(profile, command, jobs);
  const Entries none;
  Variant as_it_is{&none, false};
  runs.take({&as_it_is, 1});
  const uint64_t base = as_it_is.cycles;
  fmt::print("{} on {}: {} cycles\n", fmt::join(command, " "), profile.spec.name, base);
  std::fflush(stdout);

  std::vector<Change> found;
  size_t hardly = 0;
  while (!level.empty()) {
    vary(runs, level, base);
    std::vector<Change> next;
    for (Change& c : level) {
      const auto middle = c.entries.begin() + std::ptrdiff_t(c.entries.size() / 2);
      if (c.most() < kLeast * double(base)) {
        hardly += c.entries.size();
      } else if (c.entries.size() == 1) {
        found.push_back(std::move(c));
      } else {
        next.push_back({Entries(c.entries.begin(), middle)});
        next.push_back({Entries(middle, c.entries.end())});
      }
    }
    level = std::move(next);
  }
  std::ranges::stable_sort(found, std::greater(), &Change::most);
  fmt::print("\n{:<34} {:>10} {:>21} {:>24} {:>8}\n", "estimate", "value", "low and high", "change of cycles",
             "at most");
  double squares = 0;
  for (const Change& c : found) {
    const ProfileEntry& e = *c.entries[0];
    squares += c.most() * c.most();
    fmt::print("{:<34} {:>10} {:>10} {:>10} {:>+12.0f} {:>+11.0f} {:>6.1f} %  {}\n", e.key, number(e.value),
               number(e.low), number(e.high), c.low, c.high, 100 * c.most() / double(base), e.spread);
  }
  fmt::print(
      "\n{} of {} numbers are estimates. {} change the cycles by {:.1f} % or more within their spreads, each alone; "
      "{} do not, a group at a time. Together, if they err independently: ± {:.1f} %. {} runs, timing only.\n",
      estimates, profile.entries.size(), found.size(), 100 * kLeast, hardly, 100 * std::sqrt(squares) / double(base),
      runs.count());
}

}  // namespace tinygpu::cli
