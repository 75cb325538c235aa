// Triton's kernels: PTX from triton_kernels.py, loaded and launched through the driver API.
#include <cuda.h>
#include <cuda_fp16.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/prediction/cases.h"
#include "tests/prediction/ptx_kernel.h"

namespace prediction {
namespace {

using nlohmann::json;

constexpr const char* kMadeBy = "run tests/prediction/triton_kernels.py";

/// Device memory of every pointer, inputs filled by value_at with the argument's place as seed, the last one left
/// empty.
struct Arguments {
  std::vector<Buffer<uint8_t>> memory;
  std::vector<uint64_t> words;  // of each argument, as a kernel takes it
  size_t result = 0;            // its place in `memory`
};

Buffer<uint8_t> input(const std::string& type, size_t count, uint64_t seed) {
  std::vector<uint8_t> bytes(count * (type == "*fp16" ? 2 : 4));
  for (size_t i = 0; i < count; ++i) {
    const float v = value_at(i, seed);
    const __half h = __float2half(v);
    if (type == "*fp16")
      __builtin_memcpy(&bytes[2 * i], &h, 2);
    else
      __builtin_memcpy(&bytes[4 * i], &v, 4);
  }
  return buffer_of(bytes);
}

Arguments arguments_of(const json& kernel) {
  Arguments a;
  uint64_t seed = 0;
  for (const auto& argument : kernel.at("arguments")) {
    const std::string name = argument[0], type = argument[1];
    uint64_t word = 0;
    if (type[0] == '*') {
      const bool result = name == "out_ptr" || name == "o_ptr" || name == "c_ptr";
      if (result) a.result = a.memory.size();
      a.memory.push_back(result ? empty<uint8_t>(size_t(argument[2]) * 4) : input(type, argument[2], ++seed));
      word = reinterpret_cast<uint64_t>(a.memory.back()->get());
    } else if (type == "fp32") {
      const float f = argument[2];
      __builtin_memcpy(&word, &f, 4);
    } else {
      word = uint32_t(int(argument[2]));
    }
    a.words.push_back(word);
  }
  // Triton adds two pointers: scratch memory, in which kernels make tensor descriptors, and its profiler's.
  uint64_t ctas = 1, scratch = 0;
  for (const auto& g : kernel.at("grid")) ctas *= uint64_t(g);
  if (const size_t bytes = kernel.at("scratch")) {
    a.memory.push_back(empty<uint8_t>(bytes * ctas));
    scratch = reinterpret_cast<uint64_t>(a.memory.back()->get());
  }
  a.words.push_back(scratch);
  a.words.push_back(0);
  return a;
}

std::string check_attention(const json& k, const std::vector<float>& got) {
  const uint32_t heads = k.at("heads"), n = k.at("n"), d = k.at("d");
  for (uint32_t p = 0; p < 6; ++p) {
    const uint64_t head = uint64_t(p * 3 % heads) * n * d, row = p * (n / 6) + p;
    std::vector<double> s(n), want(d, 0.0);
    double most = -INFINITY, total = 0;
    for (uint32_t j = 0; j < n; ++j) {
      for (uint32_t i = 0; i < d; ++i)
        s[j] += double(value_at(head + row * d + i, 1)) * double(value_at(head + uint64_t(j) * d + i, 2));
      s[j] /= std::sqrt(double(d));
      most = std::max(most, s[j]);
    }
    for (uint32_t j = 0; j < n; ++j) {
      const double e = std::exp(s[j] - most);
      total += e;
      for (uint32_t i = 0; i < d; ++i) want[i] += e * double(value_at(head + uint64_t(j) * d + i, 3));
    }
    const auto wrong = compare(
        d, d, 2e-3, [&](size_t i) { return got[head + row * d + i]; }, [&](size_t i) { return want[i] / total; });
    if (!wrong.empty()) return text("row %llu: ", (unsigned long long)row) + wrong;
  }
  return "";
}

std::string check_row_kernel(const json& k, const std::vector<float>& got) {
  const uint32_t rows = k.at("rows"), columns = k.at("columns");
  const bool is_softmax = k.at("check") == "softmax";
  for (const uint64_t r : {uint64_t(0), uint64_t(rows - 1)}) {
    double sum = 0, squares = 0, exps = 0;
    for (uint32_t i = 0; i < columns; ++i) {
      const double x = value_at(r * columns + i, 1);
      sum += x, squares += x * x, exps += std::exp(x);
    }
    const double mean = sum / columns, deviation = std::sqrt(squares / columns - mean * mean + 1e-5);
    const auto wrong = compare(
        columns, columns, 1e-4, [&](size_t i) { return got[r * columns + i]; },
        [&](size_t i) {
          const double x = value_at(r * columns + i, 1);
          return is_softmax ? std::exp(x) / exps : (x - mean) / deviation * double(value_at(i, 2));
        });
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string check(const json& k, const std::vector<float>& got) {
  const std::string how = k.at("check");
  if (how == "product")
    return check_product<float>(
        got, [](float f) { return f; }, k.at("m"), k.at("n"), k.at("k"), 1, 2, 1e-3);
  if (how == "attention") return check_attention(k, got);
  if (how == "add")
    return compare(
        got.size(), 5000, 0, [&](size_t i) { return got[i]; },
        [](size_t i) { return value_at(i, 1) + value_at(i, 2); });
  return check_row_kernel(k, got);
}

Instance instance(const std::string& folder, const json& k) {
  const CUfunction function =
      load(read(folder + "/" + std::string(k.at("ptx")), kMadeBy), k.at("kernel"), k.at("shared"));
  auto a = std::make_shared<Arguments>(arguments_of(k));
  std::vector<uint32_t> grid = k.at("grid");
  grid.resize(3, 1);
  return {[=] {
            std::vector<void*> pointers;
            for (uint64_t& w : a->words) pointers.push_back(&w);
            GEN5_CUDA(GEN5_DRIVER(cuLaunchKernel)(function, grid[0], grid[1], grid[2], k.at("threads"), 1, 1,
                                                  k.at("shared"), nullptr, pointers.data(), nullptr));
          },
          [=] {
            const auto bytes = a->memory[a->result]->download();
            std::vector<float> got(bytes.size() / 4);
            __builtin_memcpy(got.data(), bytes.data(), bytes.size());
            return check(k, got);
          }};
}

}  // namespace

void add_triton(Cases& cases, const std::string& folder) {
  for (const json& kernel : json::parse(read(folder + "/manifest.json", kMadeBy)))
    cases.push_back(
        {kernel.at("name"), kernel.at("group"), kernel.at("tensor"), [=] { return instance(folder, kernel); }});
}

}  // namespace prediction
