#include "exercises/exercise.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <stdexcept>

#include "common/harness/difference.h"
#include "common/harness/fused_sum.h"
#include "common/harness/inputs.h"
#include "common/harness/output.h"
#include "common/harness/watch.h"
#include "exercises/picture.h"
#include "projects/project.h"

namespace exercise {

using gen5::harness::difference;
using gen5::harness::Shown;

namespace {

struct Entry {
  const char* name;
  void (*judge)();
};

/// Filled before main: a file of its own for each program, or all exercises in one for the tests.
std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

void refuse(const std::string& difference) {
  if (!difference.empty()) throw std::runtime_error(difference);
}

bool run(const Entry& e) {
  try {
    e.judge();
  } catch (const std::exception& error) {
    fmt::print("{}: {}\n", e.name, error.what());
    return false;
  }
  fmt::print("{}: right\n", e.name);
  return true;
}

}  // namespace

Registration::Registration(const char* name, void (*judge)()) { entries().push_back({name, judge}); }

void finish() {
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
}

void expect(const char* name, const Words& got, const Words& want, uint32_t columns) {
  refuse(difference(name, got, want, columns));
}
void expect(const char* name, const Halves& got, const Halves& want, uint32_t columns) {
  refuse(difference(name, got, want, columns));
}
void expect_floats(const char* name, const Words& got, const Words& want, uint32_t columns) {
  refuse(difference(name, got, want, columns, Shown::floats));
}
void differ(const char* name, double got, double want, uint32_t i) {
  throw std::runtime_error(difference(fmt::format("{}[{}]", name, i), got, want));
}
void expect(bool holds, const char* sentence) {
  if (!holds) throw std::runtime_error(sentence);
}

Words counted(size_t count, uint32_t step) {
  Words words(count);
  for (size_t i = 0; i < count; ++i) words[i] = uint32_t(i) * step;
  return words;
}

Halves bf16(size_t count, uint64_t seed) {
  return gen5::harness::make_inputs(gen5::harness::Format::bf16, gen5::harness::Pattern::uniform, count, seed);
}

Words product(const Halves& a, const Halves& b, uint32_t m, uint32_t n, uint32_t k) {
  return gen5::harness::fused_gemm({gen5::harness::Format::bf16, m, n, k, a.data(), b.data()});
}

}  // namespace exercise

namespace {

int judge(int argc, char** argv) {
  CLI::App app("An exercise of scripts/learn: runs its kernel and says whether the results are right");
  std::string name;
  bool timeline = false;
  app.add_option("NAME", name, "Of several exercises in one program, this one alone");
  app.add_flag("--timeline", timeline, "Draw who did what when; tinygpu only");
  CLI11_PARSE(app, argc, argv);
  bool right = true, found = false;
  for (const exercise::Entry& e : exercise::entries()) {
    if (!name.empty() && name != e.name) continue;
    found = true;
    gen5::harness::Watch watch;
    right &= exercise::run(e);
    const auto watched = watch.stop();
    if (timeline && watched) fmt::print("\n{}", exercise::picture(*watched));
  }
  if (!found) fmt::print(stderr, "there is no exercise {}\n", name);
  return right && found ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int code = project::run(argc, argv);
  return gen5::harness::code_with_output(code >= 0 ? code : judge(argc, argv));
}
