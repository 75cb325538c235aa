#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/base/source_place.h"
#include "common/tinygpu/base/temporary_folder.h"
#include "common/tinygpu/cli/check_fixes.h"
#include "common/tinygpu/cli/check_minimise.h"
#include "common/tinygpu/cli/check_runs.h"
#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/cli/program.h"
#include "common/tinygpu/diagnosis/grouping.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/diagnosis/sarif.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cli {

namespace {

namespace fs = std::filesystem;

// What is asked for, and printed apart from what was found.
constexpr const char *kOrder = "order-explained", *kCoverage = "check-coverage";

struct CheckOptions {
  Settings settings;
  uint32_t seeds = 5, jobs = 1;
  bool keep_going = false, show_output = false, werror = false, notes = false;
  std::string sarif, fix;
  std::vector<std::string> sizes, explain_order;
  std::vector<std::string> command;
};

std::string plural(size_t n, const char* word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

/// Of "M=128,256" the name and the values.
struct Size {
  std::string name;
  std::vector<std::string> values;
};
/// Empty, or what is wrong with `text`.
std::string read_size(const std::string& text, Size& out) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) return "write NAME=VALUE,VALUE…";
  out.name = text.substr(0, equals);
  for (size_t at = equals + 1; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    out.values.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return {};
}

/// Every order of completion for every choice of sizes, the smallest first: {NAME} in an argument stands for its value.
std::vector<RunPlan> plans_of(const CheckOptions& o) {
  std::vector<std::string> orders = {"timed"};
  if (o.explain_order.empty()) {
    orders.emplace_back("late");
    for (uint32_t seed = 1; seed <= o.seeds; ++seed) orders.push_back(fmt::format("seed {}", seed));
  }
  RunPlan first{.order = "", .command = o.command};
  if (o.explain_order.empty())
    first.environment.emplace_back("GEN5_COVERAGE", "1");
  else
    first.environment.emplace_back("GEN5_EXPLAIN_ORDER", fmt::format("{}", fmt::join(o.explain_order, ",")));
  std::vector<RunPlan> shapes = {first};
  for (const std::string& text : o.sizes) {
    Size size;
    read_size(text, size);
    std::vector<RunPlan> more;
    for (const RunPlan& shape : shapes)
      for (const std::string& value : size.values) {
        RunPlan& plan = more.emplace_back(shape);
        plan.sizes += fmt::format("{}{}={}", plan.sizes.empty() ? "" : " ", size.name, value);
        const std::string name = "{" + size.name + "}";
        for (std::string& word : plan.command)
          for (size_t at = 0; (at = word.find(name, at)) != std::string::npos; at += value.size())
            word.replace(at, name.size(), value);
      }
    shapes = std::move(more);
  }
  std::vector<RunPlan> out;
  for (const RunPlan& shape : shapes)
    for (const std::string& order : orders) out.emplace_back(shape).order = order;
  return out;
}

/// As a shell takes it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "-_./=+:,@%";
  const bool plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || kPlain.find(c) != kPlain.npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

/// How this program was started, from this folder: "gen5", or "build/default/bin/gen5".
std::string own_name() { return diagnosis::path_from(fs::current_path().string(), program_invocation_name); }

/// One command that does what the run did.
std::string repeating(const RunPlan& plan, const Settings& settings) {
  std::string out;
  for (const auto& [name, value] : settings) out += fmt::format("{}={} ", name, quoted(value));
  out += own_name() + " run --check races";
  if (!plan.late_only.empty())
    out += " --late-only " + quoted(plan.late_only);
  else if (plan.order.starts_with("seed "))
    out += " --seed " + plan.order.substr(5);
  else if (plan.order != "timed")
    out += " --order " + plan.order;
  for (const std::string& word : plan.command) out += " " + quoted(word);
  return out;
}

/// Says which lines have to be late for the run to fail, if that can be found out.
void print_minimised(const Run& failed, const diagnosis::Findings& findings, const fs::path& folder, double seconds,
                     const Settings& settings, EndSignals& signals) {
  constexpr size_t kMost = 200;
  const auto found = minimise(failed, findings, folder, seconds, kMost, signals);
  if (!found) return;
  fmt::print("\nIt fails when the effects of {} of {} lines alone are late{}:\n", found->lines.size(), found->of,
             found->least ? "" : " (perhaps fewer would do: the search has ended early)");
  for (const Where& w : found->lines) fmt::print("    {}  {}\n", late_name_of(w), w.ptx_text);
  fmt::print("To repeat it so: {}\n", repeating(found->plan, settings));
}

void print_end_of(const fs::path& output) {
  constexpr size_t kLines = 20;
  std::ifstream in(output);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  const size_t first = lines.size() - std::min(lines.size(), kLines);
  fmt::print("    the end of its output:\n");
  for (size_t i = first; i < lines.size(); ++i) fmt::print("    | {}\n", lines[i]);
}

void print(const diagnosis::Findings& findings, const std::string& folder, size_t runs, bool notes) {
  using diagnosis::Group;
  diagnosis::SourceFiles files(image::read_source);
  std::set<std::string> told;
  const auto print_one = [&](const diagnosis::Finding& f) {
    diagnosis::RenderOptions options;
    options.color = diagnosis::in_color(STDOUT_FILENO);
    options.folder = folder;
    options.files = &files;
    options.more = told.empty();
    options.general = told.insert(f.diagnosis.code).second;
    options.launch = f.launch;
    options.runs = f.orders.size() == runs ? "all" : fmt::format("{}", fmt::join(f.orders, ", "));
    fmt::print("{}\n", diagnosis::render(f.diagnosis, options));
  };
  const auto print_all = [&](Group group, const char* heading) {
    bool first = true;
    for (const diagnosis::Finding& f : findings.all()) {
      if (diagnosis::group_of(f.diagnosis) != group || diagnosis::is_of_the_run(f.diagnosis)) continue;
      if (std::exchange(first, false) && *heading) fmt::print("{}\n\n", heading);
      print_one(f);
    }
  };
  print_all(Group::own, "");
  print_all(Group::generated, "In code that a compiler generated, or that a package brings:");
  if (notes) return print_all(Group::kept, "Promised by no manual, and kept by hardware:");
  const auto kept =
      std::ranges::count(findings.all(), Group::kept, [](const auto& f) { return diagnosis::group_of(f.diagnosis); });
  if (kept)
    fmt::print("{} of what no manual promises and hardware is known to keep: --notes shows more.\n\n",
               plural(size_t(kept), "note"));
}

/// What no run has put to the test.
void print_coverage(const diagnosis::Findings& findings, size_t runs) {
  bool first = true;
  for (const diagnosis::Finding& f : findings.all()) {
    if (f.diagnosis.code != kCoverage || f.orders.size() < runs) continue;
    if (std::exchange(first, false)) fmt::print("Not put to the test (--sizes runs the program with several sizes):\n");
    fmt::print("  {}: {}\n", launch_label(f.launch, f.diagnosis.where.kernel), f.diagnosis.message);
  }
  if (!first) fmt::print("\n");
}

/// Says by what chain one line comes before another; 1: neither was seen.
int explain_order(const CheckOptions& o, const fs::path& folder, EndSignals& signals) {
  diagnosis::Findings findings;
  CheckRuns runs(folder, o.show_output, signals);
  const Run& run = runs.run(plans_of(o), 0, 1, findings);
  diagnosis::SourceFiles files(image::read_source);
  bool any = false;
  for (const diagnosis::Finding& f : findings.all()) {
    if (f.diagnosis.code != kOrder) continue;
    any = true;
    fmt::print("{}\n", diagnosis::render(f.diagnosis, {.color = diagnosis::in_color(STDOUT_FILENO),
                                                       .folder = fs::current_path().string(),
                                                       .files = &files}));
  }
  if (any) return 0;
  fmt::print("gen5 check: neither {} nor {} has done anything in the first cluster of {} launch{}\n",
             o.explain_order[0], o.explain_order[1], run.launches, run.launches == 1 ? "" : "es");
  return 1;
}

/// What the runs came to.
struct Checked {
  diagnosis::Findings findings;
  std::vector<std::string> failures;
  std::optional<Run> failed;  // the first
  uint64_t launches = 0;
  double seconds = 0;
  size_t done = 0;
  bool depends = false;  // the exit code, on the order
};

Checked run_all(const CheckOptions& o, const std::vector<RunPlan>& plans, const fs::path& folder, EndSignals& signals) {
  size_t width = 8;
  for (const RunPlan& plan : plans) width = std::max(width, plan.name().size());
  Checked c;
  CheckRuns runs(folder, o.show_output, signals);
  while (c.done < plans.size()) {  // told of in this order, however many run at once
    Run& run = runs.run(plans, c.done++, o.jobs, c.findings);
    c.launches += run.launches;
    c.seconds += run.seconds;
    fmt::print("  {:<{}} {:<12} {:>7.1f} s  {}, {}\n", run.plan.name(), width, run.end(), run.seconds,
               plural(run.errors, "error"), plural(run.warnings, "warning"));
    std::fflush(stdout);
    if (!run.exited(0)) {
      c.failures.push_back(fmt::format("{}: {}", run.plan.name(), run.end()));
      if (!o.show_output && !run.errors) print_end_of(run.output);
    }
    c.depends |= run.status != runs.all()[0].status && run.plan.sizes == runs.all()[0].plan.sizes;
    if (!run.errors && run.exited(0)) continue;
    if (!c.failed) c.failed = run;
    if (o.keep_going) continue;
    runs.stop(c.done);
    break;
  }
  return c;
}

void print_summary(const CheckOptions& o, const Checked& c, size_t plans, const fs::path& folder, EndSignals& signals) {
  fmt::print("gen5 check: {} of {}: {}, {}{}", plural(c.done, "run"), o.command[0],
             plural(c.findings.count(Severity::error), "error"), plural(c.findings.count(Severity::warning), "warning"),
             c.failures.empty() ? "" : fmt::format("; {} failed", plural(c.failures.size(), "run")));
  fmt::print("\n");
  if (c.depends) fmt::print("The exit code depends on the order of completion.\n");
  if (c.done < plans)
    fmt::print("{} left out after the first that failed; --keep-going does them all.\n", plural(plans - c.done, "run"));
  if (c.failed) fmt::print("To repeat it: {}\n", repeating(c.failed->plan, o.settings));
  if (c.failed && c.failed->plan.order != "timed")
    print_minimised(*c.failed, c.findings, folder, std::max(20.0, 2 * c.seconds), o.settings, signals);
  if (!c.launches) fmt::print("No kernel was launched: nothing has been checked.\n");
  fmt::print(
      "What the program computes is compared by the program alone: gen5 check looks at exit codes and "
      "diagnoses.\n");
}

/// Whether it could be written.
bool write(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  if ((out << text).flush()) return true;
  fmt::print(stderr, "gen5: {} cannot be written\n", path);
  return false;
}

std::string sarif_of(const CheckOptions& o, const Checked& c, const std::vector<RunPlan>& plans,
                     const std::vector<TriedFix>& fixes, const std::string& folder) {
  std::vector<std::string> names;
  for (const RunPlan& plan : plans) names.push_back(plan.name());
  std::vector<diagnosis::Finding> all;
  for (const diagnosis::Finding& f : c.findings.all()) {
    if (diagnosis::is_of_the_run(f.diagnosis)) continue;
    all.push_back(f);
    const auto fix = std::ranges::find(fixes, &f, &TriedFix::finding);
    if (fix != fixes.end()) all.back().fix = fix->sources;
  }
  return diagnosis::sarif_of(all, {.command = fmt::format("{}", fmt::join(o.command, " ")),
                                   .folder = folder,
                                   .complete = c.failures.empty(),
                                   .launches = c.launches,
                                   .orders = names,
                                   .failures = c.failures})
             .dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

int check(const CheckOptions& o) {
  prepare(o.command, o.settings);
  const std::string folder = fs::current_path().string();
  EndSignals signals;
  const TemporaryFolder temporary("gen5-check-");
  if (temporary.path().empty()) {
    const int error = errno;
    const char* where = std::getenv("TMPDIR");
    fmt::print(stderr, "gen5: no folder can be made in {}: {}\n", where ? where : "/tmp", std::strerror(error));
    throw CLI::RuntimeError(1);
  }
  if (!o.explain_order.empty()) return explain_order(o, temporary.path(), signals);
  const std::vector<RunPlan> plans = plans_of(o);
  Checked c = run_all(o, plans, temporary.path(), signals);
  fmt::print("\n");
  print(c.findings, folder, c.done, o.notes);
  print_coverage(c.findings, c.done);
  print_summary(o, c, plans.size(), temporary.path(), signals);
  if (!c.launches) c.failures.push_back("no kernel was launched");
  bool written = true;
  std::vector<TriedFix> fixes;
  if (!o.fix.empty()) {
    diagnosis::SourceFiles files(image::read_source);
    const auto plan_of = [&](const diagnosis::Finding& f) {
      return *std::ranges::find(plans, f.orders.front(), [](const RunPlan& p) { return p.name(); });
    };
    fmt::print("\n");
    fixes = try_fixes(c.findings, temporary.path() / "fixes", plan_of, files, signals);
    print_fixes(fixes, folder);
    if (fixes.empty()) fmt::print("No fix is known for what was found.\n");
    written &= write(o.fix, diff_of(fixes, files, folder));
  }
  if (!o.sarif.empty()) written &= write(o.sarif, sarif_of(o, c, plans, fixes, folder));
  return !written || c.findings.count(Severity::error) || !c.failures.empty() ||
         (o.werror && c.findings.count(Severity::warning));
}

}  // namespace

void add_check(CLI::App& app) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* sub = app.add_subcommand(
      "check",
      "Run a CUDA program under several orders of completion with all checks. The exit code is 1 if there is an error, "
      "or a run that does not exit with 0. gen5 does not compare output: let the program check it");
  add_options(*sub, options->settings, Flags::of_check);
  sub->add_option("--seeds", options->seeds, "Random orders beside timed and late (default: 5)")
      ->check(CLI::Range(0, 100000));
  sub->add_option("--jobs", options->jobs, "Runs at once (default: 1); add --threads 1 to give each run one core")
      ->check(CLI::Range(1, 1024));
  sub->add_option("--sizes", options->sizes,
                  "NAME=VALUE,VALUE…: run everything with each value in place of {NAME} in the arguments, smallest "
                  "values first; may be given several times")
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        Size size;
        return read_size(text, size);
      });
  sub->add_option("--explain-order", options->explain_order,
                  "Two places, each LINE, FILE:LINE or ptx:LINE: print the chain of synchronisation that orders the "
                  "first before the second in the first cluster, or where the chain breaks; one run, as timed")
      ->expected(2)
      ->allow_extra_args(false)
      ->type_name("A B")
      ->check([](const std::string& text) {
        SourcePlace place;
        return SourcePlace::read(text, place);
      });
  sub->add_option(
      "--fix", options->fix,
      "Write fixes into this file as a diff of the CUDA sources. Each fix was tried on the program's PTX and removed "
      "its diagnosis");
  sub->add_flag("--keep-going", options->keep_going, "After a failed run, do the other runs too");
  sub->add_flag("--werror", options->werror, "Warnings count as errors in the exit code");
  sub->add_flag("--notes", options->notes,
                "Also show notes about behaviour that no manual promises but hardware is "
                "known to keep");
  sub->add_flag("--show-output", options->show_output,
                "Show all output of the program; by default only the end of a "
                "failed run's output is shown");
  sub->add_option("--sarif", options->sarif, "Write the findings into this file as SARIF 2.1.0");
  take_program(*sub);
  sub->callback([options, sub] {
    options->command = program_of(*sub);
    try {
      if (const int code = check(*options)) throw CLI::RuntimeError(code);
    } catch (const Interrupted& i) {  // all is tidied up: whoever waits for this process sees what ended it
      std::raise(i.signal);
    }
  });
}

}  // namespace tinygpu::cli
