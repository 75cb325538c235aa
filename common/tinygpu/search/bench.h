// The last levels of a search: points compiled by nvcc and run on tinygpu, for their cycles and for their bits. Results
// are kept in a file, by kernel, problem, machine profile and version.
#pragma once
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "common/tinygpu/search/sampling.h"

namespace tinygpu::search {

class Bench {
 public:
  struct Options {
    std::string machine = "b200";
    std::filesystem::path gen5;    // this program
    std::filesystem::path folder;  // of results.jsonl and of programs; empty: cache_folder()
    bool whole = false;            // times are never put together from parts (sampling.h)
  };
  /// Reads the results. Throws SearchError for a file that is none of ours.
  Bench(const Space& space, const Problem& problem, const Options& options);

  struct Time {
    double cycles = 0;
    bool kept = false;     // from the file
    bool sampled = false;  // put together from parts
  };
  /// On tinygpu's clock (`gen5 run --timing-only`). May be called by several threads. Throws SearchError with what nvcc
  /// or the run said.
  Time time(const Point& p);

  /// What the file has of a point, and the name under which it is.
  std::optional<Time> kept(const Point& p);
  std::string key(const Point& p, bool sampled) const;

  struct Proof {
    bool right = false;
    Problem problem;
    std::string said;
  };
  /// Runs the point under `gen5 check`, every order, on a smaller problem that has every edge, on a machine with few
  /// SMs, so that CTAs take several tiles: every bit is right, and nothing is diagnosed.
  Proof prove(const Point& p);

  static std::filesystem::path cache_folder();
  const std::filesystem::path& folder() const { return options_.folder; }

 private:
  std::filesystem::path build(const Point& p);
  Sampling sampled(const Point& p) const;
  /// With all blocks of K; nothing where `part` does not tell what those take that it lacks.
  std::optional<double> run_cycles(const Point& p, const std::filesystem::path& binary, const Sample& part);
  std::optional<double> sampled_cycles(const Point& p, const std::filesystem::path& binary);
  void keep(const std::string& key, const Time& t);

  const Space& space_;
  const Problem problem_;
  Options options_;
  const MachineSpec spec_;
  std::string profile_;  // its text
  std::mutex mutex_;
  std::map<std::string, Time> kept_;
};

/// The smaller problem.
Problem scaled_down(const Problem& problem, const Point& p);

}  // namespace tinygpu::search
