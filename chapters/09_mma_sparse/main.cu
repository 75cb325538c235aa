// Chapter 09: tcgen05.mma.sp, a sparse A.
//
//   scripts/run 09_mma_sparse                   every part
//   scripts/run 09_mma_sparse --part prune      one of them
//
// Of every four neighbours along K a sparse A keeps two, and metadata in Tensor Memory say which two. Half as much of A
// is stored and read, and an instruction is twice as deep. Read this file from the top, notes/09_mma_sparse.md beside
// it.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/difference.h"
#include "common/harness/fused_sum.h"
#include "common/harness/inputs.h"
#include "common/harness/narrow.h"
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma_sparse.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;
using gen5::layout::at_address;
using gen5::layout::Element;
using gen5::layout::instruction_descriptor;
using gen5::layout::Kind;
using gen5::layout::Major;
using gen5::layout::smem_descriptor;
using gen5::layout::Swizzle;

constexpr uint32_t kM = 128;
constexpr uint32_t kAtMetadata = 64, kMetadataColumns = 4;  // D in columns 0 to N − 1

enum class Sparse { f16, tf32, f8 };

/// What one instruction of a kind has.
struct Facts {
  const char* name;
  uint32_t depth;    // elements along K, counted before compression
  uint32_t group;    // of which half are kept
  uint32_t nibbles;  // of metadata in a row: depth / group
};
constexpr Facts facts(Sparse s) {
  switch (s) {
    case Sparse::f16: return {"f16", 32, 4, 8};
    case Sparse::tf32: return {"tf32", 16, 2, 8};
    case Sparse::f8: return {"f8f6f4", 64, 4, 16};
  }
  return {};
}

/// Rows × bytes, row-major in global memory, into a K-major tile without swizzle (chapter 05), and its descriptor.
__device__ void store_plain(uint8_t* tile, const uint8_t* from, uint32_t rows, uint32_t row_bytes) {
  for (uint32_t i = threadIdx.x; i < rows * row_bytes; i += blockDim.x)
    tile[i % row_bytes / 16 * rows * 16 + i / row_bytes * 16 + i % 16] = from[i];
}
__device__ uint64_t plain(uint32_t rows, uint32_t address) {
  constexpr uint64_t base = smem_descriptor({.swizzle = Swizzle::none, .leading = 0, .stride = 128});
  return at_address(base | uint64_t(rows * 16 >> 4) << 16, address);
}

/// What a launch is given: `steps` instructions along K. a: 128 rows of 32 bytes a step, b: n rows of 64 bytes a step;
/// metadata: 128 lanes × 4 columns, of which an instruction reads two.
struct Problem {
  const uint8_t *a, *b;
  const uint32_t* metadata;
  uint32_t n, steps;
};

// 128 threads. Step s takes its metadata from column 2 · (s / 2) on, and, kinds f16 and tf32, from the first or the
// second of its two columns: bits 1:0 of the instruction descriptor select.
template <Sparse kKind>
__global__ void product(Problem p, uint32_t idesc, uint32_t* d) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(&slot), 128);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  uint8_t* tile_b = shared + kM * 32 * p.steps;
  store_plain(shared, p.a, kM, 32 * p.steps);
  store_plain(tile_b, p.b, p.n, 64 * p.steps);
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t address = slot, quarter = threadIdx.x / 32 << 21;
  uint32_t words[kMetadataColumns];
  for (uint32_t c = 0; c < kMetadataColumns; ++c) words[c] = p.metadata[threadIdx.x * kMetadataColumns + c];
  tcgen05_st_32x32b(address + kAtMetadata + quarter, words);
  tcgen05_wait_st();
  fence_proxy_async_shared();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < p.steps; ++s) {
      const uint64_t a = plain(kM, shared_address(shared) + s * 2 * kM * 16);
      const uint64_t b = plain(p.n, shared_address(tile_b) + s * 4 * p.n * 16);
      const bool selects = kKind != Sparse::f8;
      const uint32_t metadata = address + kAtMetadata + (selects ? s / 2 * 2 : s * 2);
      const uint32_t instruction = idesc | (selects ? s % 2 : 0);
      if constexpr (kKind == Sparse::f16) tcgen05_mma_sp_f16(address, a, b, metadata, instruction, s > 0);
      if constexpr (kKind == Sparse::tf32) tcgen05_mma_sp_tf32(address, a, b, metadata, instruction, s > 0);
      if constexpr (kKind == Sparse::f8) tcgen05_mma_sp_f8f6f4(address, a, b, metadata, instruction, s > 0);
    }
    tcgen05_commit(shared_address(&barrier));
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  for (uint32_t n = 0; n < p.n; n += 8) {
    uint32_t r[8];
    tcgen05_ld_32x32b(r, address + n + quarter);
    tcgen05_wait_ld();
    for (uint32_t i = 0; i < 8; ++i) d[threadIdx.x * p.n + n + i] = r[i];
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(address, 128);
}

/// The instruction of a kind with any N.
template <Sparse kKind>
uint32_t instruction(uint32_t n) {
  constexpr uint32_t base =
      kKind == Sparse::f16 ? instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = kM, .n = 8})
      : kKind == Sparse::tf32
          ? instruction_descriptor({.kind = Kind::tf32, .a = Element::tf32, .b = Element::tf32, .m = kM, .n = 8})
          : instruction_descriptor({.kind = Kind::f8f6f4, .a = Element::e4m3, .b = Element::e4m3, .m = kM, .n = 8});
  return (base & ~(63u << 17)) | (n >> 3) << 17 | kSparseInstruction;
}

using Metadata = std::vector<uint32_t>;  // [lane][column]

using Product = void (*)(Problem, uint32_t, uint32_t*);

template <Sparse kKind>
std::vector<uint32_t> run_product(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b,
                                  const Metadata& metadata, uint32_t n, uint32_t steps = 1,
                                  Product kernel = product<kKind>) {
  DeviceBuffer<uint8_t> da(a), db(b);
  DeviceBuffer<uint32_t> dm(metadata), d(kM * n);
  const uint32_t shared = (kM * 32 + n * 64) * steps;
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  kernel<<<1, kM, shared>>>({da.get(), db.get(), dm.get(), n, steps}, instruction<kKind>(n), d.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return d.download();
}

// ---- 1. What metadata say

/// Which elements of K row m of A keeps, read off a product with the unit matrix: column n of B is element n of K
/// alone, and A's stored elements are the numbers 1, 2, …
template <Sparse kKind>
struct Kept {
  static constexpr Facts kFacts = facts(kKind);
  std::vector<uint32_t> d;

  explicit Kept(const Metadata& metadata) {
    constexpr uint32_t stored = kFacts.depth / 2, bytes = 32 / stored;
    std::vector<uint8_t> a(kM * 32), b(kFacts.depth * 64);
    const auto put = [&](uint8_t* at, double x) {
      if constexpr (kKind == Sparse::f16) {
        const uint16_t w = bf16_of(float(x));
        at[0] = uint8_t(w), at[1] = uint8_t(w >> 8);
      } else if constexpr (kKind == Sparse::tf32) {
        const uint32_t w = std::bit_cast<uint32_t>(float(x));
        for (int i = 0; i < 4; ++i) at[i] = uint8_t(w >> 8 * i);
      } else {
        *at = narrow_of(Narrow::e4m3, x);
      }
    };
    for (uint32_t m = 0; m < kM; ++m)
      for (uint32_t i = 0; i < stored; ++i) put(&a[m * 32 + i * bytes], i % 2 + 1);  // first, second of its group
    for (uint32_t n = 0; n < kFacts.depth; ++n) put(&b[n * 64 + n * bytes], 1);
    d = run_product<kKind>(a, b, metadata, kFacts.depth);
  }
  /// 0: left out; 1, 2: the first or the second stored element of its group.
  uint32_t at(uint32_t m, uint32_t k) const { return uint32_t(std::bit_cast<float>(d[m * kFacts.depth + k])); }
  /// A group as text: "12..".
  std::string group(uint32_t m, uint32_t g) const {
    std::string text;
    for (uint32_t i = 0; i < kFacts.group; ++i) {
      const uint32_t v = at(m, g * kFacts.group + i);
      text += v ? char('0' + v) : '.';
    }
    return text;
  }
};

void part_codes(Report& r) {
  r.say(
      "Four neighbours along K, two of them stored. Four bits of metadata describe such a group: bits 1:0 give the "
      "place of the first stored element, bits 3:2 that of the second. The program multiplies by the unit matrix; 1 "
      "and 2 are the stored elements, a dot is left out:");
  Table t({"code", "bits 3:2, 1:0", "group of 4 (f16, 8, 6 and 4 bits)"});
  bool pairs = true;
  for (const uint32_t code : {0x4u, 0x8u, 0xcu, 0x9u, 0xdu, 0xeu}) {
    const Kept<Sparse::f16> kept(Metadata(kM * kMetadataColumns, code * 0x11111111u));
    const std::string group = kept.group(0, 0);
    t.row({fmt::format("0x{:x}", code), fmt::format("{:02b}, {:02b}", code >> 2, code & 3), group});
    pairs &= group[code & 3] == '1' && group[code >> 2] == '2';
    for (uint32_t m = 0; m < kM; ++m)
      for (uint32_t g = 0; g < 8; ++g) pairs &= kept.group(m, g) == group;
  }
  r.table(t);
  r.check("six codes, in every row and group alike", pairs);
  Table one({"code", "group of 2 (tf32)"});
  bool halves = true;
  for (const uint32_t code : {0x4u, 0xeu}) {
    const Kept<Sparse::tf32> kept(Metadata(kM * kMetadataColumns, code * 0x11111111u));
    one.row({fmt::format("0x{:x}", code), kept.group(0, 0)});
    halves &= kept.group(0, 0) == (code == 4 ? "1." : ".1") || kept.group(0, 0) == (code == 4 ? "2." : ".2");
  }
  r.table(one);
  r.check("tf32 keeps one of two", halves);
  r.say("Other codes are not allowed: the two indices ascend.");
}

// ---- 2. Where metadata lie

struct Place {
  uint32_t lane = 0, column = 0, shift = 0;
};

/// Where the nibble of each row and group is: one bit of (lane, column, nibble) at a time is written as code 0xe among
/// codes 0x4, and each group shows whether it got it.
template <Sparse kKind>
std::vector<Place> places() {
  constexpr Facts f = facts(kKind);
  std::vector<Place> found(kM * f.nibbles);
  const auto ask = [&](auto chosen, auto told) {
    Metadata metadata(kM * kMetadataColumns);
    for (uint32_t lane = 0; lane < kM; ++lane)
      for (uint32_t column = 0; column < kMetadataColumns; ++column)
        for (uint32_t nibble = 0; nibble < 8; ++nibble)
          metadata[lane * kMetadataColumns + column] |= (chosen(lane, column, nibble) ? 0xeu : 0x4u) << nibble * 4;
    const Kept<kKind> kept(metadata);
    const std::string upper = f.group == 4 ? "..12" : ".";
    for (uint32_t i = 0; i < found.size(); ++i) {
      const std::string group = kept.group(i / f.nibbles, i % f.nibbles);
      if (f.group == 4 ? group == upper : group[0] == '.') told(found[i]);
    }
  };
  for (uint32_t bit = 0; bit < 7; ++bit)
    ask([&](uint32_t lane, uint32_t, uint32_t) { return lane >> bit & 1; }, [&](Place& p) { p.lane |= 1 << bit; });
  for (uint32_t bit = 0; bit < 2; ++bit)
    ask([&](uint32_t, uint32_t column, uint32_t) { return column >> bit & 1; },
        [&](Place& p) { p.column |= 1 << bit; });
  for (uint32_t bit = 0; bit < 3; ++bit)
    ask([&](uint32_t, uint32_t, uint32_t nibble) { return nibble >> bit & 1; }, [&](Place& p) { p.shift |= 4 << bit; });
  return found;
}

/// Runs of groups of a row that share a cell.
template <Sparse kKind>
void draw_places(Table& t, const std::vector<Place>& found, std::initializer_list<uint32_t> rows) {
  constexpr Facts f = facts(kKind);
  for (const uint32_t m : rows)
    for (uint32_t g = 0; g < f.nibbles;) {
      const Place& p = found[m * f.nibbles + g];
      uint32_t end = g + 1;
      while (end < f.nibbles && found[m * f.nibbles + end].lane == p.lane &&
             found[m * f.nibbles + end].column == p.column &&
             found[m * f.nibbles + end].shift == p.shift + 4 * (end - g))
        ++end;
      t.row({f.name, std::to_string(m), fmt::format("{}-{}", g * f.group, end * f.group - 1), std::to_string(p.lane),
             std::to_string(p.column), fmt::format("{}:{}", p.shift + 4 * (end - g) - 1, p.shift)});
      g = end;
    }
}

void part_places(Report& r) {
  const auto f16 = places<Sparse::f16>(), tf32 = places<Sparse::tf32>(), f8 = places<Sparse::f8>();
  r.say(
      "Metadata lie in Tensor Memory, in two columns of 32-bit cells. Which four bits belong to which row and group? "
      "The program sets code 0xe in some groups and 0x4 in the rest, and each group of each row shows which it got:");
  Table t({"kind", "row", "elements of K", "lane", "column", "bits"});
  draw_places<Sparse::f16>(t, f16, {0, 1, 7, 8, 9, 16});
  draw_places<Sparse::f8>(t, f8, {0, 1, 16});
  r.table(t);
  bool halves = true, rows = true;
  for (uint32_t m = 0; m < kM; ++m) {
    for (uint32_t g = 0; g < 8; ++g) {
      const Place& p = f16[m * 8 + g];
      halves &= p.lane == m / 16 * 16 + m % 8 + g / 4 * 8 && p.column == 0 && p.shift == m % 16 / 8 * 16 + g % 4 * 4;
      const Place& q = tf32[m * 8 + g];
      halves &= q.lane == p.lane && q.column == p.column && q.shift == p.shift;
    }
    for (uint32_t g = 0; g < 16; ++g) {
      const Place& p = f8[m * 16 + g];
      rows &= p.lane == m && p.column == g / 8 && p.shift == g % 8 * 4;
    }
  }
  r.check("f16 and tf32: rows m and m + 8 share a cell, the two halves of K are 8 lanes apart", halves,
          "lane 16 (m / 16) + m % 8 + 8 (g / 4), bits 16 (m % 16 / 8) + 4 (g % 4), of group g");
  r.check("8 bits: row m is lane m, eight groups to a column", rows);
  r.say(
      "kinds f16 and tf32 read one of the two columns; bits 1:0 of the instruction descriptor select it, so that two "
      "steps along K have their metadata side by side. The other kinds read both.");
}

// ---- 3. A matrix is pruned

constexpr uint32_t kN = 64, kSteps = 4, kDepth = 32 * kSteps;

/// A with two of four kept, ready for the tensor core.
struct Pruned {
  std::vector<uint16_t> kept;  // [row][kDepth / 2]
  std::vector<uint8_t> where;  // of each, its place in the group
  std::vector<uint8_t> codes;  // [row][kDepth / 4]
  explicit Pruned(const std::vector<uint16_t>& a) {
    for (size_t g = 0; g < a.size(); g += 4) {
      // The two of largest magnitude, in their order.
      std::array<uint8_t, 4> order = {0, 1, 2, 3};
      std::stable_sort(order.begin(), order.end(), [&](uint8_t x, uint8_t y) {
        return std::fabs(value_of(Format::bf16, a[g + x])) > std::fabs(value_of(Format::bf16, a[g + y]));
      });
      const uint8_t first = std::min(order[0], order[1]), second = std::max(order[0], order[1]);
      kept.push_back(a[g + first]);
      kept.push_back(a[g + second]);
      where.push_back(first);
      where.push_back(second);
      codes.push_back(uint8_t(second << 2 | first));
    }
  }
  /// As the instructions of kind::f16 want it: step s in column s % 2 of the pair s / 2.
  Metadata metadata() const {
    Metadata cells(kM * kMetadataColumns);
    for (uint32_t m = 0; m < kM; ++m)
      for (uint32_t g = 0; g < kDepth / 4; ++g) {
        const uint32_t step = g / 8, chunk = g % 8;
        const uint32_t lane = m / 16 * 16 + m % 8 + (chunk >= 4 ? 8 : 0), bit = (m % 16 >= 8 ? 16 : 0) + chunk % 4 * 4;
        cells[lane * kMetadataColumns + step] |= uint32_t(codes[m * kDepth / 4 + g]) << bit;
      }
    return cells;
  }
};

/// Words of 16 bits as bytes.
std::vector<uint8_t> bytes_of(const std::vector<uint16_t>& words) {
  std::vector<uint8_t> bytes;
  for (const uint16_t w : words) bytes.push_back(uint8_t(w)), bytes.push_back(uint8_t(w >> 8));
  return bytes;
}

/// What the tensor core must make of it: one instruction is one fused sum of the sixteen products that are kept.
std::vector<uint32_t> reference(const Pruned& pruned, const std::vector<uint16_t>& b) {
  std::vector<uint32_t> d(kM * kN);
  for (uint32_t m = 0; m < kM; ++m)
    for (uint32_t n = 0; n < kN; ++n)
      for (uint32_t step = 0; step < kSteps; ++step) {
        uint32_t x[16], y[16];
        for (uint32_t i = 0; i < 16; ++i) {
          const uint32_t at = m * kDepth / 2 + step * 16 + i, k = step * 32 + i / 2 * 4 + pruned.where[at];
          x[i] = pruned.kept[at];
          y[i] = b[n * kDepth + k];
        }
        d[m * kN + n] = fused_step(Format::bf16, x, y, d[m * kN + n], step > 0);
      }
  return d;
}

Verdict pruned_right(Product kernel) {
  const Pruned pruned(make_inputs(Format::bf16, Pattern::uniform, kM * kDepth, 101));
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kDepth, 102);
  const auto d = run_product<Sparse::f16>(bytes_of(pruned.kept), bytes_of(b), pruned.metadata(), kN, kSteps, kernel);
  return difference("d", d, reference(pruned, b), kN, Shown::floats);
}

void part_prune(Report& r) {
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kM * kDepth, 101);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kDepth, 102);
  const Pruned pruned(a);
  r.say("The two largest elements of each group stay. The first sixteen elements of row 0:");
  std::string text = "    dense     ";
  for (uint32_t k = 0; k < 16; ++k) text += fmt::format("{}{:>6.2f}", k % 4 ? "" : " |", value_of(Format::bf16, a[k]));
  text += "\n    kept      ";
  for (uint32_t k = 0; k < 16; ++k) {
    const uint8_t code = pruned.codes[k / 4];
    const bool stays = (code & 3) == k % 4 || (code >> 2) == k % 4;
    text += std::string(k % 4 ? "" : " |") + (stays ? fmt::format("{:>6.2f}", value_of(Format::bf16, a[k])) : "     .");
  }
  text += "\n    stored    ";
  for (uint32_t i = 0; i < 8; ++i)
    text += fmt::format("{}{:>6.2f}", i % 2 ? "" : " |", value_of(Format::bf16, pruned.kept[i])) +
            (i % 2 ? "            " : "");
  while (text.back() == ' ') text.pop_back();
  text += "\n    metadata  ";
  for (uint32_t g = 0; g < 4; ++g) text += fmt::format(" |   0x{:x}                  ", pruned.codes[g]);
  while (text.back() == ' ') text.pop_back();
  r.picture(text + "\n");

  const auto d = run_product<Sparse::f16>(bytes_of(pruned.kept), bytes_of(b), pruned.metadata(), kN, kSteps);
  double difference = 0, size = 0;
  for (uint32_t i = 0; i < d.size(); ++i) {
    double dense = 0;
    for (uint32_t k = 0; k < kDepth; ++k)
      dense += value_of(Format::bf16, a[i / kN * kDepth + k]) * value_of(Format::bf16, b[i % kN * kDepth + k]);
    const double got = std::bit_cast<float>(d[i]);
    difference += (got - dense) * (got - dense);
    size += dense * dense;
  }
  r.check(fmt::format("D = pruned A times B, {} x {} over K = {}: every bit is the fused sum of the stored elements",
                      kM, kN, kDepth),
          d == reference(pruned, b) && pruned_right(product<Sparse::f16>));
  r.value("pruned_error", std::sqrt(difference / size));
  Table t({"", "dense", "sparse"});
  t.row({"bytes of A for K = 128, a row", std::to_string(kDepth * 2), std::to_string(kDepth)});
  t.row({"metadata, a row", "-", fmt::format("{} bytes", kDepth / 8)});
  t.row({"bytes of B, a column", std::to_string(kDepth * 2), std::to_string(kDepth * 2)});
  t.row({"instructions of kind::f16", std::to_string(kDepth / 16), std::to_string(kDepth / 32)});
  t.row({"error of D by pruning", "-", fmt::format("{:.0f} %", 100 * std::sqrt(difference / size))});
  r.table(t);
  r.say(
      "The error is that of random matrices, in which every element matters; networks are trained again after pruning. "
      "An element that is left out takes no part in the sum: a NaN in B beside it has no effect.");
}

// ---- 4. Left out is not zero

void part_absent(Report& r) {
  // Every group keeps its first two; B has a NaN at the third element of K.
  std::vector<uint16_t> a(kM * 16, bf16_of(1)), b(8 * 32, bf16_of(1));
  for (uint32_t n = 0; n < 8; ++n) b[n * 32 + 2] = 0x7fff;
  const Metadata first_two(kM * kMetadataColumns, 0x44444444u), last_two(kM * kMetadataColumns, 0xeeeeeeeeu);
  const float without = std::bit_cast<float>(run_product<Sparse::f16>(bytes_of(a), bytes_of(b), first_two, 8)[0]);
  const float with = std::bit_cast<float>(run_product<Sparse::f16>(bytes_of(a), bytes_of(b), last_two, 8)[0]);
  r.say(
      "A sparse product is not a product with zeros. A is all ones, B too, but for a NaN at element 2 of K. Zero "
      "times NaN would be NaN:");
  Table t({"A keeps", "D"});
  t.row({"elements 0 and 1 of each group", fmt::format("{:g}", without)});
  t.row({"elements 2 and 3", fmt::format("{:g}", with)});
  r.table(t);
  r.check("what is left out meets nothing", without == 16 && std::isnan(with));
}

#include "mistakes.inc"

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("09", "tcgen05.mma.sp", "Of four elements of A two are stored, and metadata say which two.");
  chapter.part("codes", "What metadata say", part_codes);
  chapter.part("places", "Where metadata lie", part_places);
  chapter.part("prune", "A matrix is pruned, compressed and multiplied", part_prune);
  chapter.part("absent", "Left out is not zero", part_absent);
  chapter.mistakes(kMistakes);
  return chapter.run(argc, argv);
}
