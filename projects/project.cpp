#include "projects/project.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "common/harness/inputs.h"
#include "common/harness/numbers.h"
#include "projects/reference.h"

namespace project {
namespace {

using gen5::harness::DeviceBuffer;

struct Entry {
  const char* name;
  void (*gemm)(const Gemm&) = nullptr;
  void (*mlp)(const Mlp&) = nullptr;
  void (*decode)(const Decode&) = nullptr;
};

/// Filled before main: one, or all reference solutions for the tests.
std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

void finish() {
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
}

/// What the command line asks for.
struct Sizes {
  uint32_t m = 128, n = 128, k = 64;             // gemm
  uint32_t tokens = 128, hidden = 128;           // mlp
  uint32_t sequences = 1, heads = 1, most = 64;  // decode
  bool even = false;
};

std::vector<uint16_t> numbers(size_t count, uint64_t seed, float scale) {
  gen5::harness::Random random(seed);
  std::vector<uint16_t> words(count);
  for (uint16_t& w : words) w = gen5::harness::bf16_of(float(random.unit()) * scale);
  return words;
}

void judge(void (*launch)(const Gemm&), const Sizes& s) {
  if (s.n % 8 || s.k % 8) throw std::runtime_error("n and k are multiples of 8");
  const auto a = numbers(size_t(s.m) * s.k, 1, 1), b = numbers(size_t(s.n) * s.k, 2, 1);
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<float> d(size_t(s.m) * s.n);
  d.fill(0xff);  // NaN wherever nothing is written
  launch({s.m, s.n, s.k, da.get(), db.get(), d.get()});
  finish();
  check_gemm(a, b, d.download(), s.m, s.n, s.k);
}

void judge(void (*launch)(const Mlp&), const Sizes& s) {
  if (s.hidden % 64) throw std::runtime_error("hidden is a multiple of 64");
  // Hidden numbers are of the size of 1.
  const auto x = numbers(size_t(s.tokens) * Mlp::kModel, 1, 1);
  const auto up = numbers(size_t(s.hidden) * Mlp::kModel, 2, 0.1875f),
             down = numbers(size_t(s.hidden) * Mlp::kModel, 3, 1);
  DeviceBuffer<uint16_t> dx(x), dup(up), ddown(down);
  DeviceBuffer<float> y(size_t(s.tokens) * Mlp::kModel);
  y.fill(0xff);
  launch({s.tokens, s.hidden, dx.get(), dup.get(), ddown.get(), y.get()});
  finish();
  check_mlp(x, up, down, y.download(), s.tokens, s.hidden);
}

void judge(void (*launch)(const Decode&), const Sizes& s) {
  std::vector<uint32_t> lengths(s.sequences);
  for (uint32_t i = 0; i < s.sequences; ++i) lengths[i] = s.even ? s.most : std::max(1u, s.most - i * 97 % s.most);
  const size_t heads = size_t(s.sequences) * s.heads, group = Decode::kGroup * Decode::kDim;
  const auto q = numbers(heads * group, 1, 2);
  auto k = numbers(heads * s.most * Decode::kDim, 2, 1), v = numbers(heads * s.most * Decode::kDim, 3, 1);
  for (size_t h = 0; h < heads; ++h)
    for (size_t i = size_t(lengths[h / s.heads]) * Decode::kDim; i < size_t(s.most) * Decode::kDim; ++i)
      k[h * s.most * Decode::kDim + i] = v[h * s.most * Decode::kDim + i] = 0x7fc0;
  DeviceBuffer<uint32_t> dl(lengths);
  DeviceBuffer<uint16_t> dq(q), dk(k), dv(v);
  DeviceBuffer<float> o(heads * group);
  o.fill(0xff);
  launch({s.sequences, s.heads, s.most, dl.get(), dq.get(), dk.get(), dv.get(), o.get()});
  finish();
  check_decode(q, k, v, lengths, o.download(), s.heads, s.most);
}

bool run(const Entry& e, const Sizes& s) {
  try {
    if (e.gemm) judge(e.gemm, s);
    if (e.mlp) judge(e.mlp, s);
    if (e.decode) judge(e.decode, s);
  } catch (const std::exception& error) {
    fmt::print("{}: {}\n", e.name, error.what());
    return false;
  }
  fmt::print("{}: right\n", e.name);
  return true;
}

}  // namespace

Registration::Registration(const char* name, void (*launch)(const Gemm&)) { entries().push_back({name, launch}); }
Registration::Registration(const char* name, void (*launch)(const Mlp&)) {
  entries().push_back({name, nullptr, launch});
}
Registration::Registration(const char* name, void (*launch)(const Decode&)) {
  entries().push_back({name, nullptr, nullptr, launch});
}

int run(int argc, char** argv) {
  if (entries().empty()) return -1;
  CLI::App app("A project of scripts/learn: runs its kernels once and says whether the results are right");
  std::string name;
  Sizes s;
  app.add_option("NAME", name, "Of several solutions in one program, this one alone");
  const CLI::Range size(1u, 1u << 20);
  for (auto [option, value, what] : {std::tuple{"--m", &s.m, "Rows of D"},
                                     {"--n", &s.n, "Columns of D"},
                                     {"--k", &s.k, "Depth"},
                                     {"--tokens", &s.tokens, "Rows of X and Y"},
                                     {"--hidden", &s.hidden, "Rows of Up"},
                                     {"--sequences", &s.sequences, "Sequences"},
                                     {"--heads", &s.heads, "Heads of keys and values"},
                                     {"--keys", &s.most, "Keys of the longest sequence"}})
    app.add_option(option, *value, what)->check(size);
  app.add_flag("--even", s.even, "All sequences are equally long");
  CLI11_PARSE(app, argc, argv);
  bool right = true, found = false;
  for (const Entry& e : entries())
    if (name.empty() || name == e.name) {
      found = true;
      right &= run(e, s);
    }
  if (!found) fmt::print(stderr, "there is no solution {}\n", name);
  return right && found ? 0 : 1;
}

}  // namespace project
