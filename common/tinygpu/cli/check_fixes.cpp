#include "common/tinygpu/cli/check_fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>

#include "common/tinygpu/diagnosis/render.h"

namespace tinygpu::cli {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The same fault in another text: lines of PTX may have moved.
auto key_of(const Diagnosis& d) {
  return std::tuple(d.code, d.where.kernel, d.where.ptx_text, d.others.empty() ? "" : d.others[0].where.ptx_text);
}
using Keys = std::set<decltype(key_of(Diagnosis()))>;

std::string place_of(const Where& w, const std::string& folder) {
  return w.cuda_line > 0 ? fmt::format("{}:{}", diagnosis::path_from(folder, w.cuda_file), w.cuda_line)
                         : fmt::format("ptx line {}", w.ptx_line);
}

/// What is wrong with the program when it runs so.
std::vector<Diagnosis> findings_of(RunPlan plan, const fs::path& folder, EndSignals& signals) {
  fs::create_directories(folder);
  diagnosis::Findings found;
  CheckRuns runs(folder, false, signals);
  const Run& run = runs.run({std::move(plan)}, 0, 1, found);
  std::vector<Diagnosis> out;
  for (const diagnosis::Finding& f : found.all()) out.push_back(f.diagnosis);
  if (!run.launches) out.push_back({.code = "module-not-loaded", .message = "no kernel was launched"});
  return out;
}

/// The program's PTX with the edits, in a folder for --replace-ptx. False: no text has all of the lines.
bool write_edited(const std::vector<diagnosis::Edit>& edits, const fs::path& from, const fs::path& to) {
  fs::create_directories(to);
  for (const auto& file : fs::directory_iterator(from)) {
    const std::string text = text_of(file.path());
    if (text.find(edits[0].at.kernel) == std::string::npos) continue;
    const auto changed = diagnosis::edited(text, edits);
    if (!changed) continue;
    std::ofstream(to / file.path().filename(), std::ios::binary) << *changed;
    return true;
  }
  return false;
}

}  // namespace

std::vector<TriedFix> try_fixes(const diagnosis::Findings& findings, const fs::path& folder,
                                const std::function<RunPlan(const diagnosis::Finding&)>& plan_of,
                                diagnosis::SourceFiles& files, EndSignals& signals) {
  constexpr size_t kMost = 10;
  std::vector<TriedFix> out;
  Keys before;
  for (const diagnosis::Finding& f : findings.all()) {
    before.insert(key_of(f.diagnosis));
    if (out.size() < kMost)
      if (std::vector<diagnosis::Edit> edits = diagnosis::edits_of(f.diagnosis); !edits.empty())
        out.push_back({.finding = &f, .edits = std::move(edits)});
  }
  const fs::path dumped = folder / "ptx";
  for (size_t i = 0; i < out.size(); ++i) {
    TriedFix& fix = out[i];
    RunPlan plan = plan_of(*fix.finding);
    const fs::path own = folder / fmt::format("fix {}", i + 1);
    if (!fs::exists(dumped)) {
      RunPlan dump = plan;
      dump.environment.emplace_back("GEN5_DUMP_PTX", dumped.string());
      findings_of(std::move(dump), folder / "dump", signals);
    }
    if (!fs::exists(dumped) || !write_edited(fix.edits, dumped, own / "ptx")) continue;
    plan.environment.emplace_back("GEN5_REPLACE_PTX", (own / "ptx").string());
    fix.tried = fix.gone = true;
    for (const Diagnosis& d : findings_of(std::move(plan), own, signals)) {
      const bool same = key_of(d) == key_of(fix.finding->diagnosis);
      const bool worse = d.severity == Severity::error && !before.contains(key_of(d));
      if (!same && !worse) continue;
      fix.gone = false;
      fix.instead = same ? "the diagnosis stays" : fmt::format("{} comes instead", d.code);
      if (worse) break;
    }
    if (!fix.gone) continue;
    if (auto sources = diagnosis::source_edits(fix.edits, files)) fix.sources = std::move(*sources);
  }
  return out;
}

void print_fixes(const std::vector<TriedFix>& fixes, const std::string& folder) {
  for (const TriedFix& f : fixes) {
    fmt::print("fix of {} at {}:\n", f.finding->diagnosis.code, place_of(f.finding->diagnosis.where, folder));
    for (const diagnosis::Edit& e : f.edits) {
      using Put = diagnosis::Edit::Put;
      const char* where = e.put == Put::before    ? "ahead of"
                          : e.put == Put::behind  ? "behind"
                          : e.put == Put::instead ? "in place of"
                                                  : "ahead of each ret of the kernel of";
      fmt::print("  {}\n    {} {}\n", e.ptx, where, place_of(e.at, folder));
    }
    fmt::print("  {}\n\n", !f.tried ? "not tried: the PTX that it changes was not found"
                           : f.gone ? "tried on the PTX: the diagnosis is gone"
                                    : fmt::format("tried on the PTX: {}", f.instead));
  }
}

std::string diff_of(const std::vector<TriedFix>& fixes, diagnosis::SourceFiles& files, const std::string& folder) {
  std::vector<diagnosis::SourceEdit> all;
  for (const TriedFix& f : fixes) all.insert(all.end(), f.sources.begin(), f.sources.end());
  return diagnosis::diff_of(std::move(all), files, folder);
}

}  // namespace tinygpu::cli
