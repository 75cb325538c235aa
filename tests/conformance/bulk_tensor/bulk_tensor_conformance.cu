// Conformance of bulk copies, tensor copies, tensor maps and distributed shared memory with a real GPU.
//
//   conformance_bulk_tensor --write h200.golden     on a GPU of compute capability 9.0
//   conformance_bulk_tensor --check h200.golden     anywhere: tinygpu (machine h200), or another GPU
// GCC 12 sees overlapping copies in std::string concatenation where there are none (PR 105651).
#pragma GCC diagnostic ignored "-Wrestrict"
#include <cuda.h>
#include <cuda_runtime.h>

#include "tests/conformance/bulk_tensor/kernels.cuh"
#include "tests/conformance/bulk_tensor/tensor_cases.h"
#include "tests/conformance/runner.h"

namespace conformance {
namespace {

enum Group : int {
  encode,
  tile_load,
  interleaved_load,
  tile_store,
  tile_reduce,
  im2col_load,
  im2col_store,
  bulk,
  cluster,
  dsmem,
  replace,
  modified,
  misuse,
  map_bits
};

constexpr size_t kMapBitCases = 1600;  // see map_bit_case: what is beyond its list does nothing

struct GroupSize {
  Group group;
  const char* name;
  size_t cases;
};
constexpr GroupSize kGroups[] = {
    {encode, "encode", 1500},
    {tile_load, "tile load", 600},
    {interleaved_load, "interleaved load", 200},
    {tile_store, "tile store", 300},
    {tile_reduce, "reduce", 400},
    {im2col_load, "im2col load", 300},
    {im2col_store, "im2col store", 120},
    {bulk, "bulk", 200},
    {cluster, "cluster", 260},
    {dsmem, "dsmem", 40},
    {replace, "replace", 200},
    {modified, "modified map", 20},
    {misuse, "misuse", 150},
    {map_bits, "map bits", kMapBitCases},
};

struct Place {
  Group group;
  size_t index;
};
Place place_of(size_t n) {
  for (const GroupSize& g : kGroups) {
    if (n < g.cases) return {g.group, n};
    n -= g.cases;
  }
  return {encode, 0};
}
Random random_of(Place p) { return Random(0x5eed + 0x100000ull * uint64_t(p.group) + 7919 * p.index); }

template <class F>
F entry(const char* name, unsigned version) {
  void* p = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion(name, &p, version, cudaEnableDefault, &found);
  return F(p);
}

int encode_map(const EncodeCase& c, uint64_t base, CUtensorMap& map) {
  static const auto tiled = entry<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled", 12000);
  static const auto im2col = entry<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col", 12000);
  static const auto wide = entry<decltype(&cuTensorMapEncodeIm2colWide)>("cuTensorMapEncodeIm2colWide", 12080);
  const auto type = CUtensorMapDataType(c.type);
  const auto interleave = CUtensorMapInterleave(c.interleave);
  const auto swizzle = CUtensorMapSwizzle(c.swizzle);
  const auto promotion = CUtensorMapL2promotion(c.promotion);
  const auto fill = CUtensorMapFloatOOBfill(c.fill);
  void* address = reinterpret_cast<void*>(base + c.address);
  if (c.kind == 0)
    return tiled(&map, type, c.rank, address, reinterpret_cast<const cuuint64_t*>(c.dims),
                 reinterpret_cast<const cuuint64_t*>(c.strides), c.box, c.steps, interleave, swizzle, promotion, fill);
  if (c.kind == 1)
    return im2col(&map, type, c.rank, address, reinterpret_cast<const cuuint64_t*>(c.dims),
                  reinterpret_cast<const cuuint64_t*>(c.strides), c.lower, c.upper, c.channels, c.pixels, c.steps,
                  interleave, swizzle, promotion, fill);
  return wide(&map, type, c.rank, address, reinterpret_cast<const cuuint64_t*>(c.dims),
              reinterpret_cast<const cuuint64_t*>(c.strides), c.lower[0], c.upper[0], c.channels, c.pixels, c.steps,
              interleave, CUtensorMapIm2ColWideMode(c.wide_mode), swizzle, promotion, fill);
}

/// Device memory of one process, made on first use.
struct Device {
  uint8_t* global = nullptr;
  uint32_t* out = nullptr;  // dumped shared memory, of up to 4 CTAs
  uint64_t* word = nullptr;
  std::vector<uint8_t> pristine, host;
  std::vector<uint32_t> shared;
  uint64_t words[16] = {};

  static Device& get() {
    static Device d;
    return d;
  }
  Device() : pristine(kGlobalRegion), host(kGlobalRegion), shared(4 * kSharedRegion / 4) {
    Random r(42);
    for (size_t i = 0; i < pristine.size(); i += 8) {
      const uint64_t x = r.next();
      std::memcpy(pristine.data() + i, &x, 8);
    }
    cudaMalloc(&global, kGlobalRegion);
    cudaMalloc(&out, 4 * kSharedRegion);
    cudaMalloc(&word, sizeof words);
    for (const void* k :
         {reinterpret_cast<const void*>(tensor_kernel), reinterpret_cast<const void*>(bulk_kernel),
          reinterpret_cast<const void*>(cluster_kernel), reinterpret_cast<const void*>(modified_map_kernel)})
      cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedRegion);
  }
  void reset() {
    cudaMemcpy(global, pristine.data(), kGlobalRegion, cudaMemcpyHostToDevice);
    cudaMemset(out, 0, 4 * kSharedRegion);
    cudaMemset(word, 0, sizeof words);
  }
  /// Waits for the kernel; on success brings its results back and hashes them.
  void finish(Result& r, bool with_global, uint32_t ctas = 1) {
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    r.status = int(error);
    if (error != cudaSuccess) return;
    std::vector<uint8_t> all(ctas * kSharedRegion + (with_global ? kGlobalRegion : 0));
    cudaMemcpy(all.data(), out, ctas * kSharedRegion, cudaMemcpyDeviceToHost);
    if (with_global) cudaMemcpy(all.data() + ctas * kSharedRegion, global, kGlobalRegion, cudaMemcpyDeviceToHost);
    cudaMemcpy(words, word, sizeof words, cudaMemcpyDeviceToHost);
    for (uint32_t i = 0; i < ctas; ++i) {
      int32_t field = int32_t(words[i] >> 21 & 0x1fffff);
      if (field >= 1 << 20) field -= 1 << 21;
      r.count = r.count * 31 + uint32_t(int32_t(kExpected) + field);
    }
    r.hash_bytes(all.data(), all.size());
    if (const char* path = std::getenv("CONFORMANCE_DUMP"))
      if (FILE* f = std::fopen(path, "wb")) {
        std::fwrite(all.data(), 1, all.size(), f);
        std::fclose(f);
      }
  }
};

cudaLaunchConfig_t launch_config(unsigned ctas, cudaLaunchAttribute* attribute) {
  cudaLaunchConfig_t c{};
  c.gridDim = dim3(ctas);
  c.blockDim = dim3(128);
  c.dynamicSmemBytes = kSharedRegion;
  attribute->id = cudaLaunchAttributeClusterDimension;
  attribute->val.clusterDim = {ctas, 1, 1};
  c.attrs = attribute;
  c.numAttrs = 1;
  return c;
}

Issue issue_of(const TensorCase& c, uint32_t seed) {
  Issue p;
  p.variant = int(c.copy) * 100 + int(c.operation) * 10 + int(c.map.rank);
  std::copy(c.at, c.at + 5, p.at);
  std::copy(c.offset, c.offset + 3, p.offset);
  p.box = c.box;
  p.region = kSharedRegion;
  p.seed = seed;
  return p;
}

TensorCase tensor_of(Place p) {
  Random r = random_of(p);
  switch (p.group) {
    case tile_load: return tensor_case(r, Copy::load, 0);
    case interleaved_load: return tensor_case(r, Copy::load, 1);
    case tile_store: return tensor_case(r, Copy::store, p.index % 4 == 0);
    case tile_reduce: return tensor_case(r, Copy::reduce, p.index % 5 == 0);
    case im2col_load: return tensor_case(r, Copy::im2col_load, p.index % 4 == 0);
    default: return tensor_case(r, Copy::im2col_store, p.index % 4 == 0);
  }
}

void run_tensor(const TensorCase& c, Result& r, uint32_t seed) {
  Device& d = Device::get();
  alignas(64) CUtensorMap map;
  if (const int refused = encode_map(c.map, reinterpret_cast<uint64_t>(d.global), map)) {
    r.status = 1000 + refused;
    return;
  }
  d.reset();
  tensor_kernel<<<1, 128, kSharedRegion>>>(map, issue_of(c, seed), nullptr, d.out, d.word);
  d.finish(r, c.copy != Copy::load && c.copy != Copy::im2col_load);
}

void run_encode(size_t index, Result& r) {
  Random random(0xe4c0de + index);
  const EncodeCase c = encode_case(random);
  if (c.kind == 2) {  // only compute capability 10.0 has it
    r.status = 0;
    return;
  }
  cudaFree(nullptr);
  alignas(64) CUtensorMap map;
  std::memset(&map, 0xcd, sizeof map);
  const int refused = encode_map(c, 0, map);
  r.status = refused ? 1000 + refused : 0;
  r.hash_bytes(&map, sizeof map);
}

void run_bulk(Place place, Result& r) {
  Random random = random_of(place);
  Device& d = Device::get();
  d.reset();
  Issue p;
  const int kind = int(place.index) % 32;
  p.variant = kind < 2 ? kind : kind == 31 ? 0 : 100 + (kind - 2) % kGlobalReductions;
  p.bytes = uint32_t(16 * (random.one_in(12) ? 0 : random.between(1, random.one_in(4) ? 1000 : 40)));
  p.box = uint32_t(16 * random.below(100));
  p.region = kSharedRegion;
  p.seed = uint32_t(random.below(1000));
  bulk_kernel<<<1, 128, kSharedRegion>>>(p, d.global + 16 * random.below(2000), d.out, d.word);
  d.finish(r, true);
}

void run_cluster(Place place, Result& r) {
  Random random = random_of(place);
  Device& d = Device::get();
  d.reset();
  Issue p;
  const unsigned ctas = place.index % 3 ? 2 : 4;
  const int kind = int(place.index) % 36;
  p.variant = kind < 3 ? kind : kind < 15 ? 100 + kind - 3 : kind < 32 ? 200 + kind - 15 : kind % 3;
  p.region = kSharedRegion;
  p.seed = uint32_t(random.below(1000));
  p.at[0] = int(1 + random.below(ctas - 1));
  p.at[1] = int(1 + random.below((1u << ctas) - 1));
  p.at[2] = int(random.between(-2, 3)) * 8;
  p.at[3] = int(random.between(-3, 12));
  p.box = uint32_t(16 * random.below(200));
  if (p.variant == 2) p.box = p.box / 128 * 128;
  p.offset[0] = uint16_t(random.below(200));
  p.bytes = uint32_t(16 * random.between(1, 100));
  alignas(64) CUtensorMap map;
  encode_map(matrix_case(1, {56, 20}, 128, {32, 8}, uint32_t(random.below(2)) * 2),
             reinterpret_cast<uint64_t>(d.global), map);
  cudaLaunchAttribute attribute[1];
  const cudaLaunchConfig_t config = launch_config(ctas, attribute);
  cudaLaunchKernelEx(&config, cluster_kernel, map, p, static_cast<const uint8_t*>(d.global + 16 * random.below(500)),
                     d.out, d.word);
  d.finish(r, false, ctas);
}

void run_dsmem(Place place, Result& r) {
  Device& d = Device::get();
  d.reset();
  const unsigned ctas = 1u << (1 + place.index % 3);
  cudaLaunchAttribute attribute[1];
  cudaLaunchConfig_t config = launch_config(ctas, attribute);
  config.blockDim = dim3(32);
  config.dynamicSmemBytes = 0;
  cudaLaunchKernelEx(&config, dsmem_kernel, uint32_t(place.index * 13), d.out);
  d.finish(r, false);
}

void run_replace(Place place, Result& r) {
  Random random = random_of(place);
  Device& d = Device::get();
  d.reset();
  TensorCase c = tensor_case(random, Copy::load, int(random.below(2)));
  c.map.address = 0x7f0000000000ull + 32 * random.below(1000);
  alignas(64) CUtensorMap map;
  if (const int refused = encode_map(c.map, 0, map)) {
    r.status = 1000 + refused;
    return;
  }
  const int field = int(place.index % 10);
  int ordinal = int(random.below(field == 4   ? 4
                                 : field == 6 ? 13
                                 : field == 7 ? 3
                                 : field == 8 ? 4
                                 : field == 9 ? 2
                                              : 5));
  uint64_t value = 0;
  switch (field) {
    case 0: value = random.next(); break;
    case 1: value = random.below(5); break;
    case 2: value = 1 + random.below(256); break;
    case 3: value = 1 + random.below(random.one_in(2) ? 0xffffffffu : 1000); break;
    case 4: value = 16 * (1 + random.below(random.one_in(2) ? (1ull << 36) - 1 : 1000)); break;
    default: value = 1 + random.below(8); break;
  }
  replace_kernel<<<1, 32>>>(map, field, ordinal, value, d.global + 1024, d.out);
  d.finish(r, false);
}

void run_modified(Place place, Result& r) {
  Random random = random_of(place);
  Device& d = Device::get();
  d.reset();
  TensorCase c;
  c.map = matrix_case(1, {64, 40}, 128, {64, 16}, 3);
  c.map.address = kTensorStart;
  alignas(64) CUtensorMap map;
  encode_map(c.map, reinterpret_cast<uint64_t>(d.global), map);
  cudaMemcpy(d.global, &map, sizeof map, cudaMemcpyHostToDevice);
  Issue p = issue_of(c, 0);
  p.at[1] = int(random.between(-3, 30));
  modified_map_kernel<<<1, 128, kSharedRegion>>>(
      reinterpret_cast<CUtensorMap*>(d.global),
      reinterpret_cast<uint64_t>(d.global) + kTensorStart + 128 * random.below(300), p, d.out, d.word);
  d.finish(r, false);
}

TensorCase plain_2d(uint32_t type) {
  TensorCase c;
  const uint32_t size = uint32_t(encode_bits(type)) / 8;
  c.map = matrix_case(type, {256 / size, 16}, 256, {64 / size, 8});
  c.map.address = kTensorStart;
  return c;
}

/// Tensor copies of plain_2d(1) whose place, in the tensor or in shared memory, is not taken or just is.
struct TensorMisuse {
  Copy copy;
  int at[2] = {};
  uint32_t box = 0;  // where it lies in shared memory
  uint32_t swizzle = 0, type = 1;
  bool with_global = false;
};
const TensorMisuse kTensorMisuses[] = {
    {.copy = Copy::load, .at = {4}},  // not at 16 bytes
    {.copy = Copy::load, .at = {-4}},
    {.copy = Copy::store, .at = {4}},
    {.copy = Copy::reduce, .at = {4}, .type = 2},
    {.copy = Copy::load, .box = 8},
    {.copy = Copy::load, .box = 16},
    {.copy = Copy::load, .box = 16, .swizzle = 3},
    {.copy = Copy::load, .box = 48, .swizzle = 2},
    {.copy = Copy::store, .box = 8},
    {.copy = Copy::store, .box = 16},
    {.copy = Copy::store, .at = {-8}, .with_global = true},  // from a negative start
    {.copy = Copy::store, .at = {0, -3}, .with_global = true},
};

/// Linear copies: sizes, sources, destinations.
struct BulkMisuse {
  bool store;
  uint32_t bytes, box;
  uint64_t global;  // behind the device's memory
};
constexpr uint64_t kNowhere = 1ull << 46;  // no memory there
constexpr BulkMisuse kBulkMisuses[] = {
    {false, 8, 0, 0},          {false, 24, 0, 0},          {false, 32, 0, 8}, {false, 32, 8, 0},
    {true, 24, 0, 0},          {true, 32, 0, 8},           {true, 32, 8, 0},  {false, 32, 0, kNowhere},
    {true, 32, 0, kNowhere},   {false, 0, 0, 0},            // nothing
    {true, 0, 0, 0},           {false, 16, 240 * 1024, 0},  // past the end of shared memory
    {true, 16, 240 * 1024, 0},
};

/// What the rules forbid: only whether, and how, it fails counts.
void run_misuse(size_t index, Result& r) {
  Device& d = Device::get();
  d.reset();
  if (index < 104) {  // every reduction on every type
    TensorCase c = plain_2d(uint32_t(index % 13));
    c.copy = Copy::reduce;
    c.operation = uint32_t(index / 13);
    run_tensor(c, r, 5);
    return;
  }
  TensorCase c = plain_2d(1);
  Issue p;
  alignas(64) CUtensorMap map;
  const uint64_t base = reinterpret_cast<uint64_t>(d.global);
  const auto go = [&](bool with_global = false) {
    encode_map(c.map, base, map);
    tensor_kernel<<<1, 128, kSharedRegion>>>(map, p, nullptr, d.out, d.word);
    d.finish(r, with_global);
  };
  p = issue_of(c, 0);
  const size_t which = index - 104;
  if (which < std::size(kTensorMisuses)) {
    const TensorMisuse& m = kTensorMisuses[which];
    std::copy(m.at, m.at + 2, p.at);
    p.variant += 100 * int(m.copy);
    if (m.box) p.box = m.box;
    c.map.swizzle = m.swizzle;
    c.map.type = m.type;
    return go(m.with_global);
  }
  constexpr size_t kFirstBulk = 22;
  if (which >= kFirstBulk && which < kFirstBulk + std::size(kBulkMisuses)) {
    const BulkMisuse& m = kBulkMisuses[which - kFirstBulk];
    p.variant = m.store;
    p.bytes = m.bytes;
    if (m.box) p.box = m.box;
    p.region = kSharedRegion;
    uint8_t* const global = reinterpret_cast<uint8_t*>(m.global == kNowhere ? kNowhere : base + m.global);
    bulk_kernel<<<1, 128, kSharedRegion>>>(p, global, d.out, d.word);
    return d.finish(r, true);
  }
  switch (which) {
    case 12: p.variant = 3; return go();  // three coordinates, map of rank 2
    case 13: p.variant = 1; return go();
    case 14: p.variant = 303; return go();  // im2col with a tiled map
    case 15: {                              // a tile load with an im2col map
      Random random(5);
      c = tensor_case(random, Copy::im2col_load, 0);
      p = issue_of(c, 0);
      p.variant = int(c.map.rank);
      return go();
    }
    case 16:
    case 17:
    case 18: {  // map in global memory: aligned to 64, to 32, to 16 only
      encode_map(c.map, base, map);
      const uint64_t place = base + (which == 16 ? 64 : which == 17 ? 32 : 16);
      cudaMemcpy(reinterpret_cast<void*>(place), &map, sizeof map, cudaMemcpyHostToDevice);
      tensor_kernel<<<1, 128, kSharedRegion>>>(map, p, reinterpret_cast<const void*>(place), d.out, d.word);
      return d.finish(r, false);
    }
    case 19:
      std::memset(&map, 0, sizeof map);  // never encoded
      tensor_kernel<<<1, 128, kSharedRegion>>>(map, p, nullptr, d.out, d.word);
      return d.finish(r, false);
    case 20:
      std::memset(&map, 0xff, sizeof map);
      tensor_kernel<<<1, 128, kSharedRegion>>>(map, p, nullptr, d.out, d.word);
      return d.finish(r, false);
    case 21: c.map.address += 1ull << 44; return go();  // a tensor where no memory is
    case 35:
    case 36:
    case 37:
    case 38:
    case 39: {  // clusters of 2
      Issue q;
      q.region = kSharedRegion;
      q.bytes = 64;
      q.at[0] = 1;
      q.at[1] = 3;
      if (which == 35) q.variant = 0, q.at[0] = 0;  // a copy to its own CTA
      if (which == 36) q.variant = 1, q.at[1] = 4;  // a mask bit that the cluster does not have
      if (which == 37) q.variant = 1, q.at[1] = 0;  // no CTA at all
      if (which == 38) q.variant = 0, q.at[0] = 5;  // a rank that the cluster does not have
      if (which == 39) q.variant = 1, q.at[1] = 7;
      encode_map(c.map, base, map);
      cudaLaunchAttribute attribute[1];
      const cudaLaunchConfig_t config = launch_config(2, attribute);
      cudaLaunchKernelEx(&config, cluster_kernel, map, q, static_cast<const uint8_t*>(d.global), d.out, d.word);
      return d.finish(r, false, 2);
    }
    case 40:
      c.map.interleave = 1;
      c.map.rank = 3;
      c.map.dims[2] = 2;
      c.map.strides[1] = 4096;
      p.variant = 3;
      p.at[0] = 3;
      return go();
    default: r.status = 0; return;
  }
}

// ---- Every bit of a tensor map, flipped or set, in maps of four kinds: does a load fault, and does it load the same?

/// Bits [low, low + count) of the object become `value`.
struct BitField {
  uint32_t low = 0, count = 0;
  uint64_t value = 0;
};
struct MapBitCase {
  int base = 0;   // see map_base
  int flip = -1;  // this bit is turned over
  std::vector<BitField> fields;
  int variant = 0;  // of the load; 0: the base's own
};

TensorCase map_base(int base) {
  if (base == 3) {  // im2col
    Random random(5);
    return tensor_case(random, Copy::im2col_load, 0);
  }
  TensorCase c = plain_2d(base == 0 ? 2 : base == 1 ? 6 : 1);
  if (base == 1) c.map.box[0] = 64, c.map.swizzle = 3;
  if (base == 2) c.map.interleave = 1, c.map.rank = 3, c.map.dims[2] = 2, c.map.strides[1] = 4096;
  return c;
}

std::vector<MapBitCase> map_bit_cases() {
  std::vector<MapBitCase> out;
  for (int base = 0; base < 4; ++base) {
    out.push_back({base, -1, {}, 0});
    const auto flips = [&](int first, int last) {
      for (int bit = first; bit <= last; ++bit) out.push_back({base, bit, {}, 0});
    };
    flips(0, 3);
    flips(64, 95);
    flips(224, 255);
    flips(416, 511);
    if (base == 0) {
      flips(512, 1023);
    } else {
      flips(512, 543);
      flips(576, 607);
    }
  }
  for (uint64_t element = 0; element < 16; ++element)
    for (uint64_t tf32 = 0; tf32 < 2; ++tf32) out.push_back({0, -1, {{71, 4, element}, {80, 1, tf32}}, 0});
  for (uint64_t swizzle = 0; swizzle < 4; ++swizzle)
    for (uint64_t atomicity = 0; atomicity < 16; ++atomicity)  // with bits 85 and 86
      out.push_back({1, -1, {{77, 2, swizzle}, {83, 4, atomicity}, {440, 8, 7}}, 0});
  for (uint64_t interleave = 0; interleave < 4; ++interleave)
    for (uint64_t rank = 0; rank < 8; ++rank)
      out.push_back({2, -1, {{75, 2, interleave}, {68, 3, rank}}, int(rank < 5 ? rank + 1 : 5)});
  for (uint64_t wide = 0; wide < 2; ++wide)
    for (uint64_t rank = 0; rank < 8; ++rank)
      out.push_back({3, -1, {{65, 1, wide}, {68, 3, rank}}, 300 + int(rank < 2 ? 3 : rank < 5 ? rank + 1 : 5)});
  for (uint64_t box = 1; box <= 20; ++box) out.push_back({0, -1, {{440, 8, box - 1}}, 0});
  for (uint64_t swizzle = 1; swizzle < 4; ++swizzle)
    for (uint64_t pieces : {1, 2, 3, 4, 5, 6, 8, 9, 16, 32})
      out.push_back({1, -1, {{77, 2, swizzle}, {440, 8, 8 * pieces - 1}}, 0});
  return out;
}

void run_map_bits(size_t index, Result& r) {
  static const std::vector<MapBitCase> all = map_bit_cases();
  r.status = 0;
  if (index >= all.size()) return;
  const MapBitCase& m = all[index];
  const TensorCase c = map_base(m.base);
  Device& d = Device::get();
  alignas(64) CUtensorMap map;
  if (encode_map(c.map, reinterpret_cast<uint64_t>(d.global), map)) return;
  auto* bytes = reinterpret_cast<uint8_t*>(&map);
  if (m.flip >= 0) bytes[m.flip / 8] ^= uint8_t(1 << m.flip % 8);
  for (const BitField& f : m.fields)
    for (uint32_t i = 0; i < f.count; ++i) {
      const uint32_t bit = f.low + i;
      bytes[bit / 8] = uint8_t((bytes[bit / 8] & ~(1 << bit % 8)) | int(f.value >> i & 1) << bit % 8);
    }
  d.reset();
  Issue p = issue_of(c, 3);
  if (m.variant) p.variant = m.variant;
  tensor_kernel<<<1, 128, kSharedRegion>>>(map, p, nullptr, d.out, d.word);
  d.finish(r, false);
}

std::string describe_map_bits(size_t index) {
  static const std::vector<MapBitCase> all = map_bit_cases();
  if (index >= all.size()) return "nothing";
  const MapBitCase& m = all[index];
  std::string s = "base " + std::to_string(m.base);
  if (m.flip >= 0) s += " bit " + std::to_string(m.flip);
  for (const BitField& f : m.fields)
    s += " " + std::to_string(f.low + f.count - 1) + ":" + std::to_string(f.low) + "=" + std::to_string(f.value);
  return s;
}

void run_case(size_t n, Result& r) {
  const Place p = place_of(n);
  switch (p.group) {
    case encode: return run_encode(p.index, r);
    case bulk: return run_bulk(p, r);
    case cluster: return run_cluster(p, r);
    case dsmem: return run_dsmem(p, r);
    case replace: return run_replace(p, r);
    case modified: return run_modified(p, r);
    case misuse: return run_misuse(p.index, r);
    case map_bits: return run_map_bits(p.index, r);
    default: return run_tensor(tensor_of(p), r, uint32_t(n));
  }
}

std::string describe_case(size_t n) {
  const Place p = place_of(n);
  std::string s;
  for (const GroupSize& g : kGroups)
    if (g.group == p.group) s = std::string(g.name) + " " + std::to_string(p.index);
  if (p.group >= tile_load && p.group <= im2col_store) s += ": " + describe(tensor_of(p));
  if (p.group == map_bits) s += ": " + describe_map_bits(p.index);
  if (p.group == encode) {
    Random random(0xe4c0de + p.index);
    const EncodeCase c = encode_case(random);
    s += ": kind " + std::to_string(c.kind) + " rank " + std::to_string(c.rank);
  }
  return s;
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  conformance::Suite suite;
  suite.name = "bulk_tensor";
  for (const auto& g : conformance::kGroups) suite.cases += g.cases;
  suite.run = conformance::run_case;
  suite.describe = conformance::describe_case;
  return conformance::conformance_main(suite, argc, argv);
}
