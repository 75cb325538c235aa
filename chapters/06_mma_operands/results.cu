// What becomes of the result: fewer rows, lanes left out, signs and scales, f16 accumulators.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "chapters/06_mma_operands/kernel.cuh"
#include "chapters/06_mma_operands/parts.h"
#include "common/harness/cuda_check.h"
#include "common/harness/difference.h"
#include "common/harness/fused_sum.h"
#include "common/harness/inputs.h"

namespace {

using namespace gen5::harness;
using namespace operands;

constexpr uint32_t kN = 16, kK = 16, kLanes = 128;
constexpr uint32_t kUntouched = 0xdeadbeef;

/// All 128 lanes × 16 columns of D, before and after.
__device__ void fill(uint32_t address, uint32_t word) {
  uint32_t r[kN];
  for (uint32_t& w : r) w = word;
  tcgen05_st_32x32b(address + quarter(), r);
  tcgen05_wait_st();
}
__device__ void dump(uint32_t address, uint32_t* cells) {
  uint32_t r[kN];
  tcgen05_ld_32x32b(r, address + quarter());
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kN; ++n) cells[threadIdx.x * kN + n] = r[n];
}

// ---- 4. M = 64

constexpr uint32_t kHalfM = 64;
constexpr uint32_t kHalf = instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = kHalfM, .n = kN});

// Two products of 64 rows into the same 16 columns: the first at lane 0, the second at lane 16. a: 128 x 16, its upper
// and its lower half.
__global__ void two_halves(const uint16_t* a, const uint16_t* b, uint32_t* cells, uint32_t tiles) {
  __shared__ alignas(128) uint16_t tile_a[2][kHalfM * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  for (uint32_t i = 0; i < 2; ++i) store_plain(tile_a[i], a + i * kHalfM * kK, kHalfM, kK);
  store_plain(tile_b, b, kN, kK);
  fill(address, kUntouched);
  ready();
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < tiles; ++i)
      tcgen05_mma_f16(address + (i * 16 << 16), at_address(kPlain<Element::bf16, kHalfM>, shared_address(tile_a[i])),
                      at_address(kPlain<Element::bf16, kN>, shared_address(tile_b)), kHalf, false);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  dump(address, cells);
  end(address, 32);
}

using TwoHalves = void (*)(const uint16_t*, const uint16_t*, uint32_t*, uint32_t);

std::vector<uint32_t> run_halves(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, uint32_t tiles,
                                 TwoHalves kernel = two_halves) {
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> cells(kLanes * kN);
  kernel<<<1, kThreads>>>(da.get(), db.get(), cells.get(), tiles);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return cells.download();
}

/// Row m of tile t is lane 32 (m / 16) + 16 t + m % 16.
Verdict halves_right(TwoHalves kernel) {
  const auto a = make_inputs(Format::bf16, Pattern::uniform, 2 * kHalfM * kK, 11);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kK, 12);
  const auto cells = run_halves(a, b, 2, kernel);
  const auto want = fused_gemm({Format::bf16, 2 * kHalfM, kN, kK, a.data(), b.data()});
  std::vector<uint32_t> d(want.size());
  for (uint32_t m = 0; m < 2 * kHalfM; ++m) {
    const uint32_t row = m % kHalfM, lane = row / 16 * 32 + row % 16 + m / kHalfM * 16;
    std::copy_n(&cells[lane * kN], kN, &d[m * kN]);
  }
  return difference("d", d, want, kN, Shown::floats);
}

/// Runs of lanes that hold consecutive rows of D. A's row m is m + 1, B is 1.
std::string map_of_halves(uint32_t tiles) {
  std::vector<uint16_t> a(2 * kHalfM * kK), b(kN * kK);
  for (uint32_t m = 0; m < 2 * kHalfM; ++m) a[m * kK] = bf16_of(float(m + 1));
  for (uint32_t n = 0; n < kN; ++n) b[n * kK] = bf16_of(1);
  const auto cells = run_halves(a, b, tiles);
  std::string text;
  for (uint32_t lane = 0; lane < kLanes; lane += 16) {
    const uint32_t first = cells[lane * kN], last = cells[(lane + 15) * kN];
    const auto row = [](uint32_t w) { return uint32_t(std::bit_cast<float>(w)) - 1; };
    const std::string what =
        first == kUntouched && last == kUntouched
            ? "-"
            : fmt::format("rows {:>2}-{:<2} of tile {}", row(first) % 64, row(last) % 64, row(first) / 64);
    text += lane % 32 ? fmt::format("    {}\n", what)
                      : fmt::format("    lanes {:>3}-{:<3}   {:<22}", lane, lane + 31, what);
  }
  return text;
}

void part_m64(Report& r) {
  r.say(
      "With M = 64 a tile fills half of the lanes: not the first 64, but 16 of each quarter, so that four warps read "
      "16 lanes each. Columns of the picture: the lower and the upper 16 lanes of a quarter. A dash was not written.");
  r.picture("  One tile, D at lane 0:\n" + map_of_halves(1) + "\n  A second one at lane 16, in the same columns:\n" +
            map_of_halves(2));
  r.check("row m of tile t is lane 32 (m / 16) + 16 t + m % 16", halves_right(two_halves), "every bit of both tiles");
  r.say(
      "A product of 64 rows takes the tensor core as long as one of 128 (half of it idles): M = 64 is for small "
      "problems, not for speed. A in Tensor Memory lies in the same lanes as D.");
}

// ---- 5. Lanes left out

constexpr uint32_t kFull = instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = kLanes, .n = kN});

__global__ void masked(uint32_t* cells, uint4 disable) {
  __shared__ alignas(128) uint16_t tile_a[kLanes * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  for (uint32_t i = threadIdx.x; i < kLanes * kK; i += kThreads) tile_a[i] = 0x3f80;  // 1.0
  for (uint32_t i = threadIdx.x; i < kN * kK; i += kThreads) tile_b[i] = 0x3f80;
  fill(address, kUntouched);
  ready();
  if (threadIdx.x == 0) {
    tcgen05_mma_f16_masked(address, at_address(kPlain<Element::bf16, kLanes>, shared_address(tile_a)),
                           at_address(kPlain<Element::bf16, kN>, shared_address(tile_b)), kFull, disable, false);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  dump(address, cells);
  end(address, 32);
}

void part_mask(Report& r) {
  const uint4 mask{0x0000ffff, 0xffffffff, 0xf0f0f0f0, 0x00000001};
  DeviceBuffer<uint32_t> d(kLanes * kN);
  masked<<<1, kThreads>>>(d.get(), mask);
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto cells = d.download();
  r.say(
      "disable-output-lane is a mask of 128 bits in four registers: a lane whose bit is set keeps its old value. Use "
      "it for an edge tile, to keep what lies beyond the matrix's last row. #: written; a dot: not written. Lane 0 of "
      "each quarter is on the left:");
  std::string picture;
  bool right = true;
  const uint32_t words[] = {mask.x, mask.y, mask.z, mask.w};
  for (uint32_t q = 0; q < 4; ++q) {
    picture += fmt::format("    0x{:08x}  lanes {:>3}-{:<3}  ", words[q], q * 32, q * 32 + 31);
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t* row = &cells[(q * 32 + i) * kN];
      const bool disabled = words[q] >> i & 1;
      for (uint32_t n = 0; n < kN; ++n) right &= row[n] == (disabled ? kUntouched : std::bit_cast<uint32_t>(16.f));
      picture += row[0] == kUntouched ? '.' : '#';
    }
    picture += "\n";
  }
  r.picture(picture);
  r.check("lanes with a bit set are as before, the others hold 16", right);
  r.say(
      "The bits are lanes, not rows of D: with M = 64 row 16 is lane 32. Block-scaled and .ws products have no mask.");
}

// ---- 6. Signs and scales

// D = ±A·B, and D = A·B + D · 2^−s, from c in every cell. `scale` < 0: the old D is not read.
__global__ void flags(const uint16_t* a, const uint16_t* b, const uint32_t* c, uint32_t* cells, uint32_t idesc,
                      int scale) {
  __shared__ alignas(128) uint16_t tile_a[kLanes * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  store_plain(tile_a, a, kLanes, kK);
  store_plain(tile_b, b, kN, kK);
  uint32_t r[kN];
  for (uint32_t n = 0; n < kN; ++n) r[n] = c[threadIdx.x * kN + n];
  tcgen05_st_32x32b(address + quarter(), r);
  tcgen05_wait_st();
  ready();
  if (threadIdx.x == 0) {
    const uint64_t da = at_address(kPlain<Element::bf16, kLanes>, shared_address(tile_a));
    const uint64_t db = at_address(kPlain<Element::bf16, kN>, shared_address(tile_b));
    switch (scale) {  // an immediate of the instruction
      case 0: tcgen05_mma_f16(address, da, db, idesc, true); break;
      case 1: tcgen05_mma_f16_scaled<1>(address, da, db, idesc); break;
      case 3: tcgen05_mma_f16_scaled<3>(address, da, db, idesc); break;
      case 15: tcgen05_mma_f16_scaled<15>(address, da, db, idesc); break;
      default: tcgen05_mma_f16(address, da, db, idesc, false); break;
    }
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  dump(address, cells);
  end(address, 32);
}

/// What the flags are told with, in bits 13 and 14.
constexpr uint32_t kNegateA = 1 << 13, kNegateB = 1 << 14;

std::vector<uint32_t> run_flags(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b,
                                const std::vector<uint32_t>& c, uint32_t negate, int scale) {
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> dc(c), cells(kLanes * kN);
  flags<<<1, kThreads>>>(da.get(), db.get(), dc.get(), cells.get(), kFull | negate, scale);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return cells.download();
}

void part_flags(Report& r) {
  r.say(
      "Bits 13 and 14 of the instruction descriptor negate A and B. scale-input-d, a number behind the predicate, "
      "divides the old D by a power of two before A B is added: it scales a running sum down. All of A and B is 1, the "
      "old D 100:");
  const std::vector<uint16_t> ones_a(kLanes * kK, bf16_of(1)), ones_b(kN * kK, bf16_of(1));
  const std::vector<uint32_t> hundred(kLanes * kN, std::bit_cast<uint32_t>(100.f));
  Table t({"", "D"});
  bool small = true;
  const auto row = [&](const char* name, uint32_t negate, int scale, float want) {
    const float got = std::bit_cast<float>(run_flags(ones_a, ones_b, hundred, negate, scale)[0]);
    small &= got == want;
    t.row({name, fmt::format("{:g}", got)});
  };
  row("A B", 0, -1, 16);
  row("(-A) B", kNegateA, -1, -16);
  row("(-A) (-B)", kNegateA | kNegateB, -1, 16);
  row("A B + D", 0, 0, 116);
  row("A (-B) + D", kNegateB, 0, 84);
  row("A B + D / 2", 0, 1, 66);
  row("A B + D / 8", 0, 3, 28.5f);
  row("A B + D / 32768", 0, 15, 16 + 100.f / 32768);
  r.table(t);
  r.check("as the names say", small);

  const auto a = make_inputs(Format::bf16, Pattern::uniform, kLanes * kK, 21);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kK, 22);
  std::vector<uint32_t> c(kLanes * kN);
  Random random(23);
  for (uint32_t& w : c) w = std::bit_cast<uint32_t>(float(random.unit() * 64));
  bool right = true;
  for (const uint32_t negate : {0u, kNegateA, kNegateB, kNegateA | kNegateB})
    for (const int scale : {0, 1, 3, 15}) {
      const auto got = run_flags(a, b, c, negate, scale);
      for (uint32_t m = 0; m < kLanes; ++m)
        for (uint32_t n = 0; n < kN; ++n) {
          uint32_t row_a[kK], row_b[kK];
          for (uint32_t k = 0; k < kK; ++k) {
            row_a[k] = a[m * kK + k] ^ (negate & kNegateA ? 0x8000 : 0);
            row_b[k] = b[n * kK + k] ^ (negate & kNegateB ? 0x8000 : 0);
          }
          const float old = std::ldexp(std::bit_cast<float>(c[m * kN + n]), -scale);
          right &= got[m * kN + n] == fused_step(Format::bf16, row_a, row_b, std::bit_cast<uint32_t>(old), true);
        }
    }
  r.check("random operands, all signs, four scales: every bit is the fused sum's", right);
}

// ---- 7. f16 accumulators

template <Accumulator kD>
constexpr uint32_t kHalves =
    instruction_descriptor({.a = Element::f16, .b = Element::f16, .d = kD, .m = kLanes, .n = kN});

// `count` MMAs of the same operands into one accumulator.
template <Accumulator kD>
__global__ void sum_up(const uint16_t* a, const uint16_t* b, uint32_t* cells, uint32_t count) {
  __shared__ alignas(128) uint16_t tile_a[kLanes * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  store_plain(tile_a, a, kLanes, kK);
  store_plain(tile_b, b, kN, kK);
  ready();
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < count; ++i)
      tcgen05_mma_f16(address, at_address(kPlain<Element::f16, kLanes>, shared_address(tile_a)),
                      at_address(kPlain<Element::f16, kN>, shared_address(tile_b)), kHalves<kD>, i > 0);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  dump(address, cells);
  end(address, 32);
}

/// Ones, four times sixteen of them.
bool sums_right(void (*kernel)(const uint16_t*, const uint16_t*, uint32_t*, uint32_t)) {
  DeviceBuffer<uint16_t> a(std::vector<uint16_t>(kLanes * kK, f16_of(1))), b(std::vector<uint16_t>(kN * kK, f16_of(1)));
  DeviceBuffer<uint32_t> cells(kLanes * kN);
  kernel<<<1, kThreads>>>(a.get(), b.get(), cells.get(), 4);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  for (uint32_t w : cells.download())
    if (value_of(Format::f16, w & 0xffff) != 64) return false;
  return true;
}

void part_f16(Report& r) {
  // Multiples of 1/64 in [0, 1): products and their sums are exact in f32 and in double.
  std::vector<uint16_t> a(kLanes * kK), b(kN * kK);
  Random random(31);
  for (auto* v : {&a, &b})
    for (uint16_t& w : *v) w = f16_of(random.below(64) / 64.0);
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> cells(kLanes * kN);
  const auto run = [&](auto kernel, uint32_t count) {
    kernel<<<1, kThreads>>>(da.get(), db.get(), cells.get(), count);
    GEN5_CUDA(cudaGetLastError());
    GEN5_CUDA(cudaDeviceSynchronize());
    return cells.download();
  };
  r.say(
      "kind::f16 can also accumulate in f16, if A and B are f16. The sum is rounded to nearest even after each "
      "instruction, to 11 bits, and lies in the low half of its 32-bit cell. K grows by 16 with each MMA of a chain. "
      "The error is the largest of all results, as a share of the result:");
  Table t({"K", "D[0][0], exact", "f32 accumulators", "largest error", "f16 accumulators", "largest error"});
  bool halves = true, words = true, upper = true;
  std::vector<double> chain(kLanes * kN), once(kLanes * kN);
  for (uint32_t m = 0; m < kLanes; ++m)
    for (uint32_t n = 0; n < kN; ++n)
      for (uint32_t k = 0; k < kK; ++k)
        once[m * kN + n] += value_of(Format::f16, a[m * kK + k]) * value_of(Format::f16, b[n * kK + k]);
  uint32_t done = 0;
  for (const uint32_t count : {1u, 4u, 16u, 64u, 256u}) {
    for (; done < count; ++done)  // what f16 accumulators must hold: one rounding a step
      for (size_t i = 0; i < chain.size(); ++i) chain[i] = value_of(Format::f16, f16_of(chain[i] + once[i]));
    const auto wide = run(sum_up<Accumulator::f32>, count), narrow = run(sum_up<Accumulator::f16>, count);
    double worst_wide = 0, worst_narrow = 0;
    for (size_t i = 0; i < chain.size(); ++i) {
      const double exact = once[i] * count, w = std::bit_cast<float>(wide[i]);
      const double h = value_of(Format::f16, narrow[i] & 0xffff);
      words &= w == exact;
      halves &= h == chain[i];
      upper &= narrow[i] >> 16 == 0;
      worst_wide = std::max(worst_wide, std::fabs(w - exact) / exact);
      worst_narrow = std::max(worst_narrow, std::fabs(h - exact) / exact);
    }
    t.row({std::to_string(count * kK), fmt::format("{:.4f}", once[0] * count),
           fmt::format("{:.4f}", std::bit_cast<float>(wide[0])), fmt::format("{:.2f} %", worst_wide * 100),
           fmt::format("{:.4f}", value_of(Format::f16, narrow[0] & 0xffff)),
           fmt::format("{:.2f} %", worst_narrow * 100)});
  }
  r.table(t);
  r.check("f32: these sums are exact", words);
  r.check("f16: each step is the exact sum, rounded once to nearest even", halves);
  r.check("four times sixteen ones are 64", sums_right(sum_up<Accumulator::f16>));
  r.check("and the upper halves of the cells are 0", upper, "what silicon leaves there is not known");
  r.say(
      "f16 accumulators need as much Tensor Memory and time. Use them for results that continue as f16 anyway. A sum "
      "beyond 65504 becomes infinity.");
}

#include "results_mistakes.inc"

}  // namespace

void add_results(Chapter& chapter) {
  chapter.part("m64", "Sixty-four rows, and their lanes", part_m64);
  chapter.part("mask", "Lanes that are left out", part_mask);
  chapter.part("flags", "Signs, and a scale for the old D", part_flags);
  chapter.part("f16", "Accumulators of 16 bits", part_f16);
  chapter.mistakes(kMistakes);
}
