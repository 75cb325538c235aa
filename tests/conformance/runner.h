// Runs numbered cases on whatever GPU the program finds and writes or checks a golden file. A case that faults ends its
// process (the error is sticky), so cases run in child processes that hand their results over in shared memory.
#pragma once
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/platform.h"

namespace conformance {

/// What one case left behind. The bytes it produced are hashed in eight equal parts, so that a difference has a place.
struct Result {
  int32_t status = -1;  // cudaError_t of the launch, 1000 + CUresult of a refused encoding, -1 not run
  uint32_t count = 0;   // bytes counted by an mbarrier, or another number of the case
  uint32_t hash[8] = {};

  void hash_bytes(const void* data, size_t size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    const size_t part = (size + 7) / 8;
    for (size_t k = 0; k < 8; ++k) {
      uint32_t h = 2166136261u;  // FNV-1a
      for (size_t i = k * part; i < size && i < (k + 1) * part; ++i) h = (h ^ bytes[i]) * 16777619u;
      hash[k] = h;
    }
  }
  bool operator==(const Result&) const = default;
};

struct Suite {
  std::string name;
  size_t cases = 0;
  /// Runs one case in the calling process; a status that is a sticky error ends the process.
  std::function<void(size_t, Result&)> run;
  /// One line that names the case.
  std::function<std::string(size_t)> describe;
};

/// True for statuses after which a process can do no more on the GPU.
inline bool is_sticky(int32_t status) { return status > 0 && status < 1000; }

inline int conformance_main(const Suite& suite, int argc, char** argv) {
  std::string write, check;
  size_t first = 0, last = suite.cases;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--write" && i + 1 < argc)
      write = argv[++i];
    else if (a == "--check" && i + 1 < argc)
      check = argv[++i];
    else if (a == "--only" && i + 1 < argc)
      first = size_t(std::atoll(argv[++i])), last = first + 1;
    else if (a == "--from" && i + 1 < argc)
      first = size_t(std::atoll(argv[++i]));
    else if (a == "--to" && i + 1 < argc)
      last = size_t(std::atoll(argv[++i]));
    else if (a == "--list")
      list = true;
    else {
      std::fprintf(stderr,
                   "usage: %s [--write GOLDEN | --check GOLDEN] [--only CASE | --from CASE --to CASE] [--list]\n",
                   argv[0]);
      return 2;
    }
  }
  if (list) {
    for (size_t i = first; i < last; ++i) std::printf("%zu %s\n", i, suite.describe(i).c_str());
    return 0;
  }
  struct Shared {
    size_t next;
    char platform[256];
    Result results[1];
  };
  const size_t bytes = sizeof(Shared) + suite.cases * sizeof(Result);
  auto* shared = static_cast<Shared*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (shared == MAP_FAILED) return 2;
  for (size_t i = 0; i < suite.cases; ++i) shared->results[i] = Result{};
  const bool quiet = last - first > 1 && !std::getenv("CONFORMANCE_VERBOSE");
  for (shared->next = first; shared->next < last;) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      if (quiet && !std::freopen("/dev/null", "w", stderr)) _exit(2);
      if (!shared->platform[0]) std::snprintf(shared->platform, sizeof shared->platform, "%s", platform_line().c_str());
      while (shared->next < last) {
        Result r;
        suite.run(shared->next, r);
        shared->results[shared->next] = r;
        shared->next++;
        if (is_sticky(r.status)) break;
      }
      _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return 2;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
      std::fprintf(stderr, "%s: case %zu (%s) killed its process\n", suite.name.c_str(), shared->next,
                   suite.describe(shared->next).c_str());
      shared->results[shared->next].status = -2;
      shared->next++;
    }
  }
  size_t ran = 0, faulted = 0;
  for (size_t i = first; i < last; ++i)
    ran += shared->results[i].status >= 0, faulted += is_sticky(shared->results[i].status);
  std::printf("%s: %zu cases on %s, %zu of them end in a fault\n", suite.name.c_str(), ran, shared->platform, faulted);
  if (last - first == 1) {
    const Result& r = shared->results[first];
    std::printf("case %zu (%s): status %d, count %u, hashes", first, suite.describe(first).c_str(), r.status, r.count);
    for (uint32_t h : r.hash) std::printf(" %08x", h);
    std::printf("\n");
  }
  if (!write.empty()) {
    FILE* f = std::fopen(write.c_str(), "wb");
    if (!f) return 2;
    std::fprintf(f, "%s %zu %s\n", suite.name.c_str(), suite.cases, shared->platform);
    std::fwrite(shared->results, sizeof(Result), suite.cases, f);
    std::fclose(f);
  }
  if (check.empty()) return 0;
  FILE* f = std::fopen(check.c_str(), "rb");
  char header[512] = {};
  std::vector<Result> golden(suite.cases);
  if (!f || !std::fgets(header, sizeof header, f) ||
      std::fread(golden.data(), sizeof(Result), suite.cases, f) != suite.cases) {
    std::fprintf(stderr, "%s: cannot read %s, or it is of another number of cases\n", suite.name.c_str(),
                 check.c_str());
    return 2;
  }
  std::fclose(f);
  std::printf("golden: %s", header);
  size_t differ = 0;
  std::map<std::string, size_t> by_group;  // described up to the first number
  for (size_t i = first; i < last; ++i) {
    const Result &want = golden[i], &got = shared->results[i];
    if (want == got) continue;
    // What a refused encoding leaves in the map does not matter.
    if (want.status == got.status && want.status >= 1000) continue;
    ++differ;
    const std::string text = suite.describe(i);
    if (++by_group[text.substr(0, text.find_first_of("0123456789:,"))] > 8) continue;
    std::printf("case %zu (%s): ", i, suite.describe(i).c_str());
    if (want.status != got.status) {
      std::printf("status %d, golden %d\n", got.status, want.status);
    } else if (want.count != got.count) {
      std::printf("count %u, golden %u\n", got.count, want.count);
    } else {
      size_t part = 0;
      while (want.hash[part] == got.hash[part]) ++part;
      std::printf("bytes differ first in part %zu of 8\n", part);
    }
  }
  for (const auto& [group, n] : by_group) std::printf("%s: %zu differ\n", group.c_str(), n);
  std::printf("%zu of %zu cases differ\n", differ, last - first);
  return differ ? 1 : 0;
}

}  // namespace conformance
