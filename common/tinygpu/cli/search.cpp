// gen5 search: the best kernels for a product or for attention, found without a GPU.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "common/tinygpu/cli/commands.h"
#include "common/tinygpu/search/bench.h"
#include "common/tinygpu/search/emit.h"
#include "common/tinygpu/search/landscape.h"
#include "common/tinygpu/search/search.h"
#include "common/tinygpu/timing/profile.h"

namespace tinygpu::cli {

// A namespace of its own: files are compiled together, and this one uses all names of tinygpu::search.
namespace kernel_search {
namespace {

using namespace search;
using nlohmann::json;

struct Words {
  Problem problem;
  std::string machine = "b200", type = "bf16", out_type, out, cache, json_file, plot, report;
  std::optional<std::string> explain;
  std::vector<std::string> points;
  uint32_t top = 8, measure = 16, jobs = 0, random = 0;
  uint64_t seed = 1;
  uint32_t queries = 0;
  bool no_proof = false, whole = false;
};

constexpr uint32_t kDots = 40;  // of a tile, in a picture

std::atomic<bool> stopped = false;
void stop(int) { stopped = true; }

/// Multiplications and additions; those that masks hide do not count.
double operations(const Problem& p) {
  if (p.operation == Operation::gemm) return 2.0 * p.m * p.n * p.k;
  const double below = std::min(p.m, p.n);  // queries that see one key more than the one before
  const double seen = p.causal ? below * (below + 1) / 2 + (p.m - below) * p.n : double(p.m) * p.n;
  return 4.0 * p.heads * seen * p.k;
}

/// A kept point, and what tinygpu says of it.
struct Kept {
  Ranked ranked;
  std::optional<Bench::Time> time;
  std::string failed;
  double cycles() const { return time ? time->cycles : ranked.estimate.cycles; }
};

/// One line of standard error that is written again and again, where somebody looks.
class Progress {
 public:
  void show(const std::string& text) {
    if (!terminal_) return;
    const std::lock_guard lock(mutex_);
    fmt::print(stderr, "\r\x1b[K{}", text);
    std::fflush(stderr);
  }
  void clear() { show(""); }

 private:
  const bool terminal_ = isatty(2);
  std::mutex mutex_;
};

/// What the command prints, kept for a report.
class Said {
 public:
  template <class... T>
  void operator()(fmt::format_string<T...> format, T&&... values) {
    const std::string text = fmt::format(format, std::forward<T>(values)...);
    fmt::print("{}", text);
    all_ += text;
  }
  const std::string& all() const { return all_; }

 private:
  std::string all_;
};

void show_rules(Said& say, const Legal& legal, const Ranking& r) {
  say("{} points; {} are legal; the rules took {:.1f} s\n\n", r.points, r.legal, r.seconds_rules);
  say("{:>9}  {:<27} {:<22} {}\n", "points", "rule", "diagnosis", "an example, and its numbers");
  for (const Pruned& p : r.pruned)
    if (p.points)
      say("{:>9}  {:<27} {:<22} {}\n", p.points, p.rule->name, p.rule->code ? p.rule->code : "-",
          p.rule->why(legal, p.example));
}

void show_ranking(Said& say, const Space& space, const MachineSpec& spec, const Problem& problem,
                  const std::vector<Kept>& kept) {
  say("{:>3} {:>9} {:>9} {:>8} {:>9} {:>7}  {:<22} {}\n", "", "cycles", "us", "TFLOP/s", "tiny", "tensor", "limited by",
      "point");
  for (size_t i = 0; i < kept.size(); ++i) {
    const Kept& k = kept[i];
    const double us = microseconds(spec, k.cycles());
    say("{:>3} {:>9} {:>9.2f} {:>8.1f} {:>9.0f} {:>5.0f} %  {:<22} {}{}\n", i + 1,
        k.time ? fmt::format("{:.0f}", k.time->cycles) : "-", us, operations(problem) / us * 1e-6,
        k.ranked.estimate.cycles, 100 * k.ranked.estimate.tensor, k.ranked.estimate.limit, space.text(k.ranked.point),
        k.failed.empty() ? "" : "  (" + k.failed + ")");
  }
}

/// The first `count` on tinygpu's clock, by several threads.
void measure(Bench& bench, std::vector<Kept>& kept, size_t count, uint32_t jobs, Progress& progress) {
  std::atomic<size_t> next = 0, done = 0;
  const auto work = [&] {
    for (size_t i; !stopped && (i = next++) < count;) {
      try {
        kept[i].time = bench.time(kept[i].ranked.point);
      } catch (const SearchError& e) {
        if (!stopped) kept[i].failed = e.what();
      }
      progress.show(fmt::format("on tinygpu's clock: {} of {}", ++done, count));
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t j = 1; j < std::min<size_t>(jobs, count); ++j) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  progress.clear();
}

json as_json(const Space& space, const MachineSpec& spec, const Bench* bench, const Kept& k) {
  json j{{"point", space.text(k.ranked.point)},
         {"tiny_cycles", k.ranked.estimate.cycles},
         {"us", microseconds(spec, k.cycles())},
         {"limit", k.ranked.estimate.limit},
         {"tensor", k.ranked.estimate.tensor}};
  for (const Parameter& p : space.parameters()) j["parameters"][p.name] = p.text(k.ranked.point);
  if (k.time) {
    j["cycles"] = k.time->cycles;
    j["kept"] = k.time->kept;
    j["sampled"] = k.time->sampled;
  }
  if (bench) j["key"] = bench->key(k.ranked.point, k.time && k.time->sampled);
  if (!k.failed.empty()) j["failed"] = k.failed;
  return j;
}

/// Points that the command line names, estimated; each has to be legal.
Ranking named(const Space& space, const Legal& legal, const std::vector<std::string>& points) {
  Ranking r;
  const std::unique_ptr<Model> model = make_model(legal.spec, legal.problem);
  for (const std::string& text : points) {
    const Point p = space.parse(text, plain_point(space.kind()));
    const Rule* rule = broken(rules(space.kind()), legal, p);
    if (rule && rule->fails)  // others have another name, but they run
      throw SearchError(fmt::format("{}: {}: {}", space.text(p), rule->name, rule->why(legal, p)));
    r.best.push_back({p, model->estimate(p)});
  }
  r.points = r.legal = r.estimated = points.size();
  return r;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw SearchError(path + " cannot be written");
}

/// The problem that the words describe. Throws SearchError.
Problem problem_of(const Words& w, const MachineSpec& spec, Template t) {
  Problem p = w.problem;
  for (const In in : {In::bf16, In::f16, In::fp8, In::mxf8, In::mxf4, In::nvf4})
    if (name(in) == w.type) p.in = in;
  p.out = w.out_type == "f32"   ? Out::f32
          : w.out_type == "f16" ? Out::f16
          : w.out_type.empty()  ? (p.in == In::f16 ? Out::f16 : Out::bf16)
                                : Out::bf16;
  if (p.operation == Operation::attention) p.m = w.queries ? w.queries : p.n;
  if (const auto why = impossible(p, t)) throw SearchError(*why);
  if (const auto why = too_large(p, spec)) throw SearchError(*why);
  return p;
}

void run(const Words& w) {
  const MachineSpec spec = load_profile(w.machine);
  const Space space(template_of(spec, w.problem.operation));
  const Problem problem = problem_of(w, spec, space.kind());
  const char* operation = is_attention(space.kind()) ? "attention" : "gemm";
  if (w.explain) {
    fmt::print("{}", search::explain(space, spec, problem, space.parse(*w.explain, plain_point(space.kind()))));
    return;
  }
  Bench::Options where;
  where.machine = w.machine;
  where.gen5 = std::filesystem::read_symlink("/proc/self/exe");
  where.folder = w.cache;
  where.whole = w.whole;
  std::optional<Bench> bench;
  const uint32_t measured = w.random ? 0 : w.points.empty() || !w.measure ? w.measure : uint32_t(w.points.size());
  if (measured || !w.cache.empty()) bench.emplace(space, problem, where);

  const std::string title = fmt::format("gen5 search {}: {} on {}", operation, name(problem), spec.name);
  if (!w.plot.empty()) {
    write_file(w.plot, svg(landscape(space, spec, problem, kDots, w.seed), spec, title));
    fmt::print("{} is written\n", w.plot);
    return;
  }
  std::signal(SIGINT, stop);
  Said say;
  const Legal legal{spec, space.kind(), problem};
  Progress progress;
  RankOptions options;
  options.keep = std::max(w.top, measured);
  options.jobs = w.jobs ? w.jobs : std::max(1u, std::thread::hardware_concurrency());
  options.stop = &stopped;
  options.progress = [&](const char* what, uint64_t done, uint64_t of) {
    progress.show(fmt::format("{}: {} of {} points", what, done, of));
  };
  const Ranking r = !w.points.empty() ? named(space, legal, w.points)
                    : w.random        ? sample(space, spec, problem, w.random, w.seed)
                                      : rank(space, spec, problem, options);
  progress.clear();
  say("{} on {}: ", name(problem), spec.name);
  show_rules(say, legal, r);
  if (r.best.empty() && !stopped)
    throw SearchError("no point of the space is legal: the table says which rules took them");
  std::vector<Kept> kept;
  for (const Ranked& x : r.best) kept.push_back({x, {}, {}});
  say("\nthe tiny machine took {:.1f} s for {} points{}\n", r.seconds_estimates, r.estimated,
      r.estimated < r.legal ? "; the others cannot be among the best" : "");
  if (bench && !measured)
    for (Kept& k : kept) k.time = bench->kept(k.ranked.point);
  if (measured) {
    const size_t count = std::min<size_t>(measured, kept.size());
    measure(*bench, kept, count, options.jobs, progress);
    const auto measured_so = [&](bool Bench::Time::*how) {
      return std::count_if(kept.begin(), kept.end(), [&](const Kept& k) { return k.time && (*k.time).*how; });
    };
    say("tinygpu's clock: the first {}, {} of them from {}\n", count, measured_so(&Bench::Time::kept),
        (bench->folder() / "results.jsonl").string());
    if (const auto parts = measured_so(&Bench::Time::sampled))
      say("{} of the times are put together from parts of the problem; --whole runs all of it\n", parts);
    std::stable_sort(kept.begin(), kept.begin() + std::ptrdiff_t(count), [](const Kept& a, const Kept& b) {
      return a.time.has_value() != b.time.has_value() ? a.time.has_value() : a.cycles() < b.cycles();
    });
  }
  if (kept.size() > w.top && w.points.empty() && !w.random) kept.resize(w.top);
  say("\n");
  show_ranking(say, space, spec, problem, kept);
  if (!w.out.empty())
    for (size_t i = 0; i < kept.size(); ++i) {
      const Kept& k = kept[i];
      std::string about = fmt::format("//   The tiny machine of {}: {:.0f} cycles, limited by {}.\n", spec.name,
                                      k.ranked.estimate.cycles, k.ranked.estimate.limit);
      if (k.time)
        about += fmt::format("//   tinygpu: {:.0f} cycles, {:.2f} us at {} GHz.\n", k.time->cycles,
                             microseconds(spec, k.time->cycles), spec.clock_ghz);
      write_program(w.out, fmt::format("{}.cu", i + 1), program(space, problem, k.ranked.point, about));
    }
  json j{{"problem", name(problem)},
         {"machine", spec.name},
         {"points", r.points},
         {"legal", r.legal},
         {"estimated", r.estimated}};
  for (const Pruned& p : r.pruned)
    j["pruned"].push_back(
        {{"rule", p.rule->name}, {"points", p.points}, {"example", p.points ? p.rule->why(legal, p.example) : ""}});
  j["best"] = json::array();
  for (const Kept& k : kept) j["best"].push_back(as_json(space, spec, bench ? &*bench : nullptr, k));
  bool right = true;
  if (measured && !w.no_proof && !stopped && !kept.empty() && kept[0].time) {
    progress.show("the winner, in full, in every order");
    const Bench::Proof proof = bench->prove(kept[0].ranked.point);
    progress.clear();
    right = proof.right;
    say("\nproof: the first at {}, several tiles a CTA, timed, late and seeded: {}\n", name(proof.problem),
        proof.right ? "every bit is right, and gen5 check is silent" : "it fails\n" + proof.said);
    j["proof"] = proof.right;
  }
  if (!w.json_file.empty()) write_file(w.json_file, j.dump(1) + "\n");
  if (!w.report.empty()) {
    write_file(w.report, page(title, say.all(), svg(landscape(space, spec, problem, kDots, w.seed), spec, title)));
    fmt::print("{} is written\n", w.report);
  }
  if (stopped) say("stopped; what was measured is kept, and the next call goes on from it\n");
  if (stopped || !right) throw CLI::RuntimeError(stopped ? 130 : 1);
  if (measured && std::none_of(kept.begin(), kept.end(), [](const Kept& k) { return k.time.has_value(); }))
    throw SearchError("no kernel could be timed: " + kept[0].failed);
}

/// The parameters of a point and their values, of both machines' templates.
std::string parameters_text(Template blackwell, Template hopper) {
  std::string out = "Parameters of a point, and the values that are searched:";
  for (const Template t : {blackwell, hopper}) {
    out += t == blackwell ? "\nb200:" : "\nh200:";
    const Space space(t);
    for (const Parameter& p : space.parameters()) {
      std::string values;
      for (const Parameter::Value& v : p.values) values += (values.empty() ? "" : " ") + v.text;
      out += fmt::format("\n  {:<13} {}\n                {}", p.name, p.what, values);
    }
  }
  return out;
}

/// The options that every problem has.
void add_options(CLI::App& command, const std::shared_ptr<Words>& w) {
  command.add_option("--machine", w->machine, "Profile: b200 (tcgen05), h200 (wgmma), or a file")
      ->capture_default_str();
  command.add_option("--top", w->top, "Kernels that are shown")->check(CLI::Range(1, 4096))->capture_default_str();
  command
      .add_option("--measure", w->measure,
                  "So many of the best are compiled and run on tinygpu's clock; 0: none, and no nvcc is needed; what "
                  "the folder of --cache has of them is shown")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command.add_flag("--whole", w->whole, "Time all of the problem, also where a part tells what the whole takes");
  command.add_flag("--no-proof", w->no_proof, "Do not run the winner under gen5 check");
  command.add_option("--out", w->out,
                     "Write the shown kernels as 1.cu, 2.cu ... with what they include into this folder");
  command.add_option("--explain", w->explain, "Why a point is not legal, or not fast: 'tile=256x256 stages=6'");
  command.add_option(
      "--point", w->points,
      "Estimate this point, and measure it unless --measure is 0, instead of searching; may be given several times");
  command.add_option("--random", w->random,
                     "Take so many legal points at random instead of the best, to judge the ranking");
  command.add_option("--seed", w->seed, "Of --random")->capture_default_str();
  command.add_option("--jobs", w->jobs, "Threads; 0: all cores. The result is the same for any number")
      ->capture_default_str();
  command.add_option("--cache", w->cache, "Folder of results and programs; default ~/.cache/gen5/search");
  command.add_option("--plot", w->plot,
                     "Only draw the space into this SVG file: by tile, what which rule takes out, and how fast legal "
                     "points at random are on the tiny machine");
  command.add_option("--report", w->report, "Write what is printed, and the picture of --plot, into this HTML file");
  command.add_option("--json", w->json_file, "Write all of it into this file");
  command.callback([w] {
    try {
      run(*w);
    } catch (const SearchError& e) {
      fmt::print(stderr, "gen5: {}\n", e.what());
      throw CLI::RuntimeError(2);
    } catch (const ProfileError& e) {
      fmt::print(stderr, "gen5: {}\n", e.what());
      throw CLI::RuntimeError(2);
    }
  });
}

void add(CLI::App& app) {
  auto* command = app.add_subcommand("search", "Find the best kernels for a problem, without a GPU");
  command->require_subcommand(1);
  auto* gemm = command->add_subcommand("gemm", "D[m x n] = A[m x k] * B[n x k]^T, rows contiguous");
  auto w = std::make_shared<Words>();
  gemm->add_option("--m", w->problem.m, "Rows of D")->capture_default_str();
  gemm->add_option("--n", w->problem.n, "Columns of D")->capture_default_str();
  gemm->add_option("--k", w->problem.k, "Columns of A and B")->capture_default_str();
  gemm->add_option("--type", w->type,
                   "Of A and B; fp8 is e4m3; on b200 also with block scales: mxf8 (e4m3), mxf4 and nvf4 (e2m1)")
      ->check(CLI::IsMember({"bf16", "f16", "fp8", "mxf8", "mxf4", "nvf4"}))
      ->capture_default_str();
  gemm->add_option(
          "--out-type", w->out_type,
          "Of D; default f16 for f16, else bf16. Parts of K are added up in D, also by stream-K, only where it is f32")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  add_options(*gemm, w);
  gemm->footer(parameters_text(Template::blackwell, Template::hopper) +
               "\nNot searched: multicast between pairs, scales as results, the size of a pair's cluster.");

  auto* attention = command->add_subcommand(
      "attention", "O = softmax(Q * K^T / sqrt(d)) * V for each head, bf16, [heads][queries or keys][d] without gaps");
  auto a = std::make_shared<Words>();
  a->problem = {0, 8192, 128, In::bf16, Out::bf16, Operation::attention, 32, false};
  attention->add_option("--heads", a->problem.heads, "Heads of all batches")->capture_default_str();
  attention->add_option("--n", a->problem.n, "Keys of a head")->capture_default_str();
  attention->add_option("--queries", a->queries, "Queries of a head; default: as many as keys")
      ->check(CLI::PositiveNumber);
  attention->add_option("--d", a->problem.k, "Dimensions of a head: 64 or 128")->capture_default_str();
  attention->add_flag("--causal", a->problem.causal, "Query i sees keys 0 to i");
  add_options(*attention, a);
  attention->footer(
      parameters_text(Template::attention_blackwell, Template::attention_hopper) +
      "\nNot searched: keys split over CTAs, keys and values shared by several heads, other types than bf16, "
      "exponentials by polynomials.");
}

}  // namespace
}  // namespace kernel_search

void add_search(CLI::App& app) { kernel_search::add(app); }

}  // namespace tinygpu::cli
