// Kernels that capture.py wrote down as other people's libraries launched them: PTX and arguments, loaded and launched
// through the driver API. Their results are not checked: there is no reference but the library itself.
#include <cuda.h>
#include <cuda_fp16.h>

#include <bit>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/prediction/ptx_kernel.h"
#include "tests/prediction/strangers/strangers.h"

namespace prediction {
namespace {

using nlohmann::json;

constexpr const char* kMadeBy = "capture.py writes it";

/// One number of a tensor of `type`, as its bytes.
uint64_t bits_of(const std::string& type, float v) {
  if (type == "*fp32") return std::bit_cast<uint32_t>(v);
  if (type == "*fp64") return std::bit_cast<uint64_t>(double(v));
  if (type == "*bf16") return std::bit_cast<uint32_t>(v) >> 16;
  if (type == "*fp16") return __half_as_ushort(__float2half(v));
  return 0x38;  // 1 in fp8e4nv
}

uint32_t bytes_of(const std::string& type) {
  static const std::map<std::string, uint32_t> sizes = {
      {"*fp64", 8}, {"*i64", 8}, {"*u64", 8}, {"*fp32", 4}, {"*i32", 4}, {"*u32", 4},     {"*bf16", 2},
      {"*fp16", 2}, {"*i16", 2}, {"*i8", 1},  {"*u8", 1},   {"*i1", 1},  {"*fp8e4nv", 1}, {"*fp8e5", 1}};
  const auto found = sizes.find(type);
  if (found == sizes.end()) throw std::runtime_error("nothing is known of tensors of " + type);
  return found->second;
}

/// Numbers by which a large tensor is filled, again and again.
constexpr size_t kPeriod = 65521;

/// What a storage holds, as the first argument that lies in it says.
void fill(std::vector<uint8_t>& storage, const json& argument, uint64_t seed) {
  const std::string type = argument.at("type");
  const uint32_t size = bytes_of(type);
  const json& content = argument.at("content");
  const auto put = [&](size_t at, uint64_t bits) {
    if (at + size <= storage.size()) __builtin_memcpy(&storage[at], &bits, size);
  };
  if (!content.is_null() && content.contains("values")) {
    size_t at = argument.at("offset");
    for (const auto& v : content.at("values")) put(at, uint64_t(v.get<int64_t>())), at += size;
    return;
  }
  const size_t first = std::min(storage.size() / size, kPeriod);
  for (size_t i = 0; i < first; ++i) {
    if (content.is_null()) {
      put(i * size, bits_of(type, value_at(i, seed)));
    } else {
      const int64_t least = content.at("least"), most = content.at("most");
      put(i * size, uint64_t(least + int64_t(hash_at(i, seed) % uint64_t(most - least + 1))));
    }
  }
  for (size_t at = first * size; at < storage.size(); at += first * size)
    __builtin_memcpy(&storage[at], storage.data(), std::min(first * size, storage.size() - at));
}

Instance instance(const std::string& folder, const json& k) {
  const int shared = k.at("shared");
  const CUfunction function = load(read(folder + "/" + std::string(k.at("ptx")), kMadeBy), k.at("kernel"), shared);

  struct State {
    std::vector<Buffer<uint8_t>> memory;
    std::vector<uint64_t> words;
  };
  auto s = std::make_shared<State>();
  std::map<int, Buffer<uint8_t>> storages;
  for (const auto& a : k.at("arguments")) {
    const std::string type = a.at("type");
    uint64_t word = 0;
    if (type[0] == '*' && !a.value("null", false)) {
      Buffer<uint8_t>& storage = storages[a.at("storage")];
      if (!storage) {
        std::vector<uint8_t> bytes(std::max<size_t>(16, a.at("bytes")));
        fill(bytes, a, storages.size());
        s->memory.push_back(storage = buffer_of(bytes));
      }
      word = reinterpret_cast<uint64_t>(storage->get()) + uint64_t(a.at("offset"));
    } else if (type == "fp32") {
      word = std::bit_cast<uint32_t>(float(a.at("value")));
    } else if (type == "fp64") {
      word = std::bit_cast<uint64_t>(double(a.at("value")));
    } else if (type[0] != '*') {
      word = uint64_t(int64_t(a.at("value")));
    }
    s->words.push_back(word);
  }
  const std::vector<uint32_t> grid = k.at("grid");
  // Triton adds two pointers: scratch memory, in which kernels make tensor descriptors, and its profiler's.
  for (const char* scratch : {"scratch", "profile_scratch"}) {
    uint64_t word = 0;
    if (const size_t bytes = k.at(scratch)) {
      s->memory.push_back(empty<uint8_t>(bytes * grid[0] * grid[1] * grid[2]));
      word = reinterpret_cast<uint64_t>(s->memory.back()->get());
    }
    s->words.push_back(word);
  }
  const uint32_t threads = k.at("threads");
  return {[=] {
            std::vector<void*> pointers;
            for (uint64_t& w : s->words) pointers.push_back(&w);
            GEN5_CUDA(GEN5_DRIVER(cuLaunchKernel)(function, grid[0], grid[1], grid[2], threads, 1, 1, uint32_t(shared),
                                                  nullptr, pointers.data(), nullptr));
          },
          [] { return std::string(); }};
}

}  // namespace

void add_captured(Cases& cases, const std::string& folder) {
  for (const auto& k : json::parse(read(folder + "/manifest.json", kMadeBy)))
    cases.push_back({k.at("name"), k.at("group"), k.at("tensor"), [=] { return instance(folder, k); }});
}

}  // namespace prediction
