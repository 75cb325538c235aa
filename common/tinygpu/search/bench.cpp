#include "common/tinygpu/search/bench.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "common/tinygpu/base/fnv.h"
#include "common/tinygpu/base/temporary_folder.h"
#include "common/tinygpu/base/version.h"
#include "common/tinygpu/search/emit.h"
#include "common/tinygpu/search/legality.h"
#include "common/tinygpu/timing/profile.h"

namespace tinygpu::search {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kSampled = " by its pace";  // the end of such a result's key

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

uint64_t hash(std::string_view text) { return fnv1a({reinterpret_cast<const uint8_t*>(text.data()), text.size()}); }

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

struct Ran {
  int code = 0;
  std::string command, said;
  bool signalled = false;  // then `code` is the signal
};
Ran run(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& w : words) command += quoted(w) + " ";
  FILE* pipe = popen((command + "2>&1").c_str(), "r");
  if (!pipe) throw SearchError(words[0] + " cannot be started");
  Ran ran;
  ran.command = command.substr(0, command.size() - 1);
  char buffer[4096];
  for (size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.said.append(buffer, got);
  const int status = pclose(pipe);
  ran.signalled =
      WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) > 128);  // of the shell, of its child
  ran.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status) - (ran.signalled ? 128 : 0);
  return ran;
}

std::string first_line(const std::string& text, const char* with) {
  std::istringstream in(text);
  std::string line, first;
  while (std::getline(in, line)) {
    if (line.find(with) != std::string::npos) return line;
    if (first.empty()) first = line;
  }
  return first;
}

/// What a command that failed said; how it ended, where it said nothing or was killed.
std::string reason(const Ran& ran) {
  if (ran.signalled) return fmt::format("it was ended by signal {}: {}", ran.code, ran.command);
  const std::string line = first_line(ran.said, "error");
  if (line.find_first_not_of(" \t\r") != std::string::npos) return line;
  return fmt::format("it said nothing and ended with code {}: {}", ran.code, ran.command);
}

std::string nvcc() {
  if (const char* named = std::getenv("GEN5_NVCC")) return named;
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');)
    if (access((folder + "/nvcc").c_str(), X_OK) == 0) return folder + "/nvcc";
  const std::string usual = "/usr/local/cuda/bin/nvcc";
  if (access(usual.c_str(), X_OK) == 0) return usual;
  throw SearchError(
      "kernels are compiled to be timed, and there is no nvcc on the path: set GEN5_NVCC to CUDA 13's, or take "
      "--measure 0");
}

}  // namespace

fs::path Bench::cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return fs::path(cache) / "gen5" / "search";
  if (const char* home = std::getenv("HOME")) return fs::path(home) / ".cache" / "gen5" / "search";
  return fs::path("gen5-search");
}

Bench::Bench(const Space& space, const Problem& problem, const Options& options)
    : space_(space), problem_(problem), options_(options), spec_(load_profile(options.machine)) {
  if (options_.folder.empty()) options_.folder = cache_folder();
  profile_ = read(read_profile(options_.machine).path);
  std::error_code failed;
  fs::create_directories(options_.folder, failed);
  if (access(options_.folder.c_str(), W_OK) != 0)
    throw SearchError(fmt::format("{} cannot be written; name another folder with --cache", options_.folder.string()));
  const fs::path file = options_.folder / "results.jsonl";
  std::ifstream in(file);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const json j = json::parse(line, nullptr, false);
    if (!j.is_object() || !j.contains("key") || !j["key"].is_string() || !j.contains("cycles") ||
        !j["cycles"].is_number())
      throw SearchError(
          fmt::format("{}, line {}: not a result that gen5 search has written. It was left as it is; "
                      "delete the line, or name another folder with --cache",
                      file.string(), number));
    const std::string key = j["key"].get<std::string>();
    kept_[key] = {j["cycles"].get<double>(), true, key.ends_with(kSampled)};
  }
}

Sampling Bench::sampled(const Point& p) const {
  if (!options_.whole) return sampling(spec_, space_.kind(), problem_, p);
  Sampling none;
  none.why = "--whole";
  return none;
}

std::string Bench::key(const Point& p, bool sampled) const {
  return fmt::format("{} {:016x} {:016x} {}{}", kVersion, hash(profile_), hash(program(space_, any_size(problem_), p)),
                     size_text(problem_), sampled ? kSampled : "");
}

void Bench::keep(const std::string& key, const Time& t) {
  const std::lock_guard lock(mutex_);
  kept_[key] = {t.cycles, true, t.sampled};
  std::ofstream out(options_.folder / "results.jsonl", std::ios::app);
  out << json{{"key", key}, {"cycles", t.cycles}}.dump() + "\n" << std::flush;
}

fs::path Bench::build(const Point& p) {
  const std::string text = program(space_, any_size(problem_), p);
  const std::string name = fmt::format("{:016x}", hash(text));
  const fs::path binary = options_.folder / name;
  if (fs::exists(binary)) return binary;
  write_program(options_.folder, name + ".cu", text);
  const fs::path part = options_.folder / fmt::format("{}.{}", name, getpid());
  std::vector<std::string> words{nvcc()};
  std::istringstream options(compiler_options(space_.kind()));
  for (std::string w; options >> w;) words.push_back(w);
  for (const std::string& w :
       {"-I" + options_.folder.string(), (options_.folder / (name + ".cu")).string(), std::string("-o"), part.string()})
    words.push_back(w);
  const Ran ran = run(words);
  if (ran.code != 0) throw SearchError(fmt::format("{} does not compile: {}", space_.text(p), reason(ran)));
  fs::rename(part, binary);
  return binary;
}

std::optional<Bench::Time> Bench::kept(const Point& p) {
  const std::string names[] = {key(p, false), key(p, true)};
  const std::lock_guard lock(mutex_);
  for (const std::string& name : names)
    if (const auto it = kept_.find(name); it != kept_.end() && !(it->second.sampled && options_.whole))
      return it->second;
  return std::nullopt;
}

std::optional<double> Bench::run_cycles(const Point& p, const fs::path& binary, const Sample& part) {
  std::optional<TemporaryFolder> told;
  std::vector<std::string> words;
  if (part.stretch.missing) {
    told.emplace("gen5-search");
    words = {"env", "GEN5_MMA_ENDS=" + (told->path() / "mma_ends").string()};
  }
  for (const std::string& w :
       std::initializer_list<std::string>{options_.gen5.string(), "run", "--machine", options_.machine, "--timing-only",
                                          "--check", "none", "--clock", "highest", "--threads", "1", binary.string(),
                                          "--no-check", "--csv", "--repeat", "1", "--problem", size_text(part.problem)})
    words.push_back(w);
  // Scores are not computed in such a run, and softmax must not find them to rise.
  if (is_attention(space_.kind())) words.insert(words.end(), {"--scale", "0"});
  if (part.most) {
    words.push_back(is_attention(space_.kind()) ? "--pieces" : "--tiles");
    words.push_back(std::to_string(part.most));
  }
  const Ran ran = run(words);
  // The line ends in the problem, the times in microseconds and a word.
  std::string numbers = "," + size_text(part.problem) + ",";
  std::replace(numbers.begin(), numbers.end(), 'x', ',');
  const size_t at = ran.said.find(numbers);
  double us = 0;
  if (ran.code != 0 || at == std::string::npos || std::sscanf(ran.said.c_str() + at + numbers.size(), "%lf", &us) != 1)
    throw SearchError(fmt::format("{} does not run: {}", space_.text(p), reason(ran)));
  const double cycles = us * spec_.clock_ghz * 1e3;
  if (!told) return cycles;
  std::ifstream ends(told->path() / "mma_ends");
  const Stretched s = stretched(read_mma_ends(ends), part.stretch);
  if (!s.steady) return std::nullopt;
  return cycles + s.longer;
}

std::optional<double> Bench::sampled_cycles(const Point& p, const fs::path& binary) {
  const Sampling parts = sampled(p);
  std::vector<double> cycles;
  for (const Sample& part : parts.runs) {
    const std::optional<double> of_part = run_cycles(p, binary, part);
    if (!of_part) return std::nullopt;
    cycles.push_back(*of_part);
  }
  if (cycles.empty()) return std::nullopt;
  return parts.whole(cycles);
}

Bench::Time Bench::time(const Point& p) {
  if (const auto known = kept(p)) return *known;
  const fs::path binary = build(p);
  const std::optional<double> parts = sampled_cycles(p, binary);
  Time t;
  t.sampled = parts.has_value();
  t.cycles = parts ? *parts : run_cycles(p, binary, {problem_}).value();
  keep(key(p, t.sampled), t);
  return t;
}

Problem scaled_down(const Problem& problem, const Point& p) {
  const auto round_up = [](uint32_t x, uint32_t to) { return (x + to - 1) / to * to; };
  Problem small = problem;
  if (problem.operation == Operation::attention) {
    small.heads = std::min(problem.heads, 3u);
    small.m = 2 * p.m + p.m / 2 + 3;
    // The ring's round and a half, and a block that keys fill in part. A mask hides keys of later queries, so there are
    // as many queries.
    small.n = (p.stages + p.stages / 2 + 1) * p.n + p.n / 3 + 1;
    if (problem.causal) small.m = small.n;
    return small;
  }
  const uint32_t rows = uint32_t(p.m) * p.cluster_m, columns = uint32_t(p.n) * p.cluster_n;
  small.m = 2 * rows + rows / 2 + 3;
  small.n = round_up(3 * columns + columns / 2, 16 / problem.out_bytes()) + 16 / problem.out_bytes();
  // A ring's round and a half for every part, and a block that K fills in part.
  const uint32_t of_part = p.stages + p.stages / 2 + 1, step = problem.elements(16);
  small.k = (of_part * p.split - 1) * problem.elements(p.block) + step;
  return small;
}

Bench::Proof Bench::prove(const Point& p) {
  Proof proof;
  proof.problem = scaled_down(problem_, p);
  const fs::path binary = build(p);
  // The same machine with so few SMs that each has several tiles.
  json profile = json::parse(profile_);
  const uint32_t sms = 2 * p.ctas();
  profile["device"]["sms"]["value"] = sms;
  for (auto& [name, number] : profile["numbers"].items())
    if (name.rfind("chip.cluster_sms.", 0) == 0) number["value"] = sms;
  const fs::path machine = options_.folder / fmt::format("{}.{}.json", fs::path(options_.machine).stem().string(), sms);
  std::ofstream(machine) << profile.dump();
  const Ran ran =
      run({options_.gen5.string(), "check", "--machine", machine.string(), "--show-output", "--werror", "--seeds", "2",
           "--threads", "1", binary.string(), "--repeat", "1", "--problem", size_text(proof.problem)});
  proof.right =
      ran.code == 0 && ran.said.find(": right (") != std::string::npos && ran.said.find("wrong (") == std::string::npos;
  proof.said = ran.said;
  return proof;
}

}  // namespace tinygpu::search
