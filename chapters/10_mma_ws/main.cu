// Chapter 10: tcgen05.mma.ws, weight-stationary.
//
//   scripts/run 10_mma_ws                    every part
//   scripts/run 10_mma_ws --part layouts     one of them
//
// tcgen05.mma keeps A in a collector buffer at most; its large operand is D. The weight-stationary form keeps B, in
// four buffers, and lets A go by: few rows at a time, with all lanes of Tensor Memory in use even for 32 of them. Read
// this file from the top, notes/10_mma_ws.md beside it.
#include <fmt/core.h>

#include <bit>

#include "chapters/tensor_kernel.cuh"
#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/fused_sum.h"
#include "common/harness/inputs.h"
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma_ws.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;
using gen5::layout::at_address;
using gen5::layout::Element;
using gen5::layout::instruction_descriptor;
using gen5::layout::Major;
using gen5::layout::smem_descriptor;
using gen5::layout::Swizzle;
using tensor_kernel::begin;
using tensor_kernel::end;
using tensor_kernel::ready;
using tensor_kernel::wait;

constexpr uint32_t kN = 64, kK = 16, kLanes = 128;
constexpr uint32_t kUntouched = 0xdeadbeef;

/// kind::f16 with any M of .ws: bits 28:24.
__host__ __device__ constexpr uint32_t instruction_of(uint32_t m) {
  constexpr uint32_t base = 1u << 4 | 1u << 7 | 1u << 10;  // D f32, A and B bf16
  return base | (kN >> 3) << 17 | (m >> 4) << 24;
}

/// Rows of 16 bf16 into a tile without swizzle (chapter 05), and its descriptor.
__device__ void store_plain(uint16_t* tile, const uint16_t* from, uint32_t rows) {
  for (uint32_t i = threadIdx.x; i < rows * kK; i += blockDim.x)
    tile[i % kK / 8 * rows * 8 + i / kK * 8 + i % 8] = from[i];
}
__device__ uint64_t plain(uint32_t rows, const uint16_t* tile) {
  constexpr uint64_t base = smem_descriptor({.swizzle = Swizzle::none, .leading = 0, .stride = 128});
  return at_address(base | uint64_t(rows * 16 >> 4) << 16, shared_address(tile));
}

__device__ void fill(uint32_t address) {
  uint32_t r[kN];
  for (uint32_t& w : r) w = kUntouched;
  tcgen05_st_32x32b(address + (threadIdx.x / 32 << 21), r);
  tcgen05_wait_st();
}
__device__ void dump(uint32_t address, uint32_t* cells) {
  uint32_t r[kN];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kN; ++n) cells[threadIdx.x * kN + n] = r[n];
}

// ---- 1. Where D goes

// One weight-stationary MMA of m rows and 64 columns. All 128 lanes x 64 columns are written down.
__global__ void smallest(const uint16_t* a, const uint16_t* b, uint32_t m, uint64_t zero_columns, uint32_t* cells) {
  __shared__ alignas(128) uint16_t tile_a[kLanes * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 64);
  store_plain(tile_a, a, m);
  store_plain(tile_b, b, kN);
  fill(address);
  ready();
  if (threadIdx.x == 0) {
    tcgen05_mma_ws_f16<0, Collect::discard>(address, plain(m, tile_a), plain(kN, tile_b), instruction_of(m), false,
                                            zero_columns);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  dump(address, cells);
  end(address, 64);
}

using Smallest = void (*)(const uint16_t*, const uint16_t*, uint32_t, uint64_t, uint32_t*);

std::vector<uint32_t> run_smallest(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, uint32_t m,
                                   uint64_t zero_columns = 0, Smallest kernel = smallest) {
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> cells(kLanes * kN);
  kernel<<<1, kLanes>>>(da.get(), db.get(), m, zero_columns, cells.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return cells.download();
}

/// Where D[row][column] is, from the manual's figures: with fewer rows the columns are cut into 2 or 4 parts, which lie
/// below each other.
struct Cell {
  uint32_t lane, column;
};
Cell cell_of(uint32_t m, uint32_t row, uint32_t column) {
  const uint32_t width = kN * m / kLanes;  // columns of Tensor Memory that are used
  return {row + column / width * m, column % width};
}

/// What each quarter of the lanes holds. Row m of A is (m + 1, 1, 0, …), column n of B (1, 256 (n + 1), 0, …): D names
/// both.
std::string map_of(uint32_t m) {
  std::vector<uint16_t> a(m * kK), b(kN * kK);
  for (uint32_t row = 0; row < m; ++row) a[row * kK] = bf16_of(float(row + 1)), a[row * kK + 1] = bf16_of(1);
  for (uint32_t n = 0; n < kN; ++n) b[n * kK] = bf16_of(1), b[n * kK + 1] = bf16_of(float(256 * (n + 1)));
  const auto cells = run_smallest(a, b, m);
  uint32_t used = 0;
  for (uint32_t c = 0; c < kN; ++c) used += cells[c] != kUntouched;
  std::string text = fmt::format("  M = {:>3}: {} columns of Tensor Memory\n", m, used);
  const auto value = [&](uint32_t lane, uint32_t column) {
    return uint32_t(std::bit_cast<float>(cells[lane * kN + column]));
  };
  for (uint32_t lane = 0; lane < kLanes; lane += 32)
    text += fmt::format("    lanes {:>3}-{:<3}  rows {:>3}-{:<3}  columns {:>2}-{:<2}\n", lane, lane + 31,
                        value(lane, 0) % 256 - 1, value(lane + 31, 0) % 256 - 1, value(lane, 0) / 256 - 1,
                        value(lane, used - 1) / 256 - 1);
  return text;
}

bool smallest_right(Smallest kernel, uint32_t m) {
  const auto a = make_inputs(Format::bf16, Pattern::uniform, m * kK, 111);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kK, 112);
  const auto cells = run_smallest(a, b, m, 0, kernel);
  const auto want = fused_gemm({Format::bf16, m, kN, kK, a.data(), b.data()});
  for (uint32_t row = 0; row < m; ++row)
    for (uint32_t n = 0; n < kN; ++n) {
      const Cell at = cell_of(m, row, n);
      if (cells[at.lane * kN + at.column] != want[row * kN + n]) return false;
    }
  return true;
}

void part_layouts(Report& r) {
  r.say(
      "A product with few rows wastes lanes: chapter 06's M = 64 uses half of them. The weight-stationary form folds D "
      "instead: with 64 rows the second half of the columns lies below the first, with 32 rows there are four such "
      "parts. So all lanes work, and D needs a half or a quarter of the columns. N is 64 here:");
  r.picture(map_of(128) + "\n" + map_of(64) + "\n" + map_of(32));
  r.check("every bit of D is the fused sum's, for 128, 64 and 32 rows",
          smallest_right(smallest, 128) && smallest_right(smallest, 64) && smallest_right(smallest, 32));
  r.say("All 128 lanes have one base: a D of .ws starts at lane 0. N columns must still be allocated.");
}

// ---- 2. B stays

constexpr uint32_t kTiles = 4, kRows = 32, kWide = kN * kRows / kLanes;  // columns of one D

// Four tiles of 32 rows times the same B: it is filled into a collector buffer, used twice, and used for the last time.
// A second matrix takes turns with it in another buffer. Not kKept: nothing is kept.
template <bool kKept>
__global__ void stationary(const uint16_t* a, const uint16_t* b, uint32_t* d, long long* cycles) {
  __shared__ alignas(128) uint16_t tile_a[kTiles][kRows * kK], tile_b[2][kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 256);
  for (uint32_t i = 0; i < kTiles; ++i) store_plain(tile_a[i], a + i * kRows * kK, kRows);
  for (uint32_t i = 0; i < 2; ++i) store_plain(tile_b[i], b + i * kN * kK, kN);
  ready();
  if (threadIdx.x == 0) {
    const uint64_t b0 = plain(kN, tile_b[0]), b1 = plain(kN, tile_b[1]);
    const uint32_t idesc = instruction_of(kRows);
    // D of tile i and matrix j: columns 16 (2 i + j) on.
    const auto into = [&](uint32_t tile, uint32_t matrix) { return address + (2 * tile + matrix) * kWide; };
    const auto rows = [&](uint32_t tile) { return plain(kRows, tile_a[tile]); };
    const long long start = clock64();
    if constexpr (kKept) {
      tcgen05_mma_ws_f16<0, Collect::fill>(into(0, 0), rows(0), b0, idesc, false);
      tcgen05_mma_ws_f16<1, Collect::fill>(into(0, 1), rows(0), b1, idesc, false);
      for (uint32_t i = 1; i < kTiles - 1; ++i) {
        tcgen05_mma_ws_f16<0, Collect::use>(into(i, 0), rows(i), b0, idesc, false);
        tcgen05_mma_ws_f16<1, Collect::use>(into(i, 1), rows(i), b1, idesc, false);
      }
      tcgen05_mma_ws_f16<0, Collect::lastuse>(into(kTiles - 1, 0), rows(kTiles - 1), b0, idesc, false);
      tcgen05_mma_ws_f16<1, Collect::lastuse>(into(kTiles - 1, 1), rows(kTiles - 1), b1, idesc, false);
    } else {
      for (uint32_t i = 0; i < kTiles; ++i) {
        tcgen05_mma_ws_f16<0, Collect::discard>(into(i, 0), rows(i), b0, idesc, false);
        tcgen05_mma_ws_f16<0, Collect::discard>(into(i, 1), rows(i), b1, idesc, false);
      }
    }
    tcgen05_commit(shared_address(&barrier));
    mbarrier_wait_parity(shared_address(&barrier), 0);
    *cycles = clock64() - start;
  }
  wait(&barrier);
  for (uint32_t i = 0; i < 2 * kTiles; ++i) {
    uint32_t r[kWide];
    tcgen05_ld_32x32b(r, address + i * kWide + (threadIdx.x / 32 << 21));
    tcgen05_wait_ld();
    for (uint32_t n = 0; n < kWide; ++n) d[(i * kLanes + threadIdx.x) * kWide + n] = r[n];
  }
  end(address, 256);
}

bool stationary_right(void (*kernel)(const uint16_t*, const uint16_t*, uint32_t*, long long*),
                      long long* took = nullptr) {
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kTiles * kRows * kK, 121);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, 2 * kN * kK, 122);
  DeviceBuffer<uint16_t> da(a), db(b);
  DeviceBuffer<uint32_t> d(2 * kTiles * kLanes * kWide);
  DeviceBuffer<long long> cycles(1);
  kernel<<<1, kLanes>>>(da.get(), db.get(), d.get(), cycles.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  if (took) *took = cycles.download()[0];
  const auto got = d.download();
  const auto want = fused_gemm({Format::bf16, kTiles * kRows, 2 * kN, kK, a.data(), b.data()});
  for (uint32_t row = 0; row < kTiles * kRows; ++row)
    for (uint32_t n = 0; n < 2 * kN; ++n) {
      const Cell at = cell_of(kRows, row % kRows, n % kN);
      const uint32_t tile = row / kRows * 2 + n / kN;
      if (got[(tile * kLanes + at.lane) * kWide + at.column] != want[row * 2 * kN + n]) return false;
    }
  return true;
}

void part_stationary(Report& r) {
  long long kept = 0, read = 0;
  const bool kept_right = stationary_right(stationary<true>, &kept);
  const bool read_right = stationary_right(stationary<false>, &read);
  r.say(
      fmt::format("B stays. fill keeps it in one of four collector buffers, b0 to b3; use takes it from there; lastuse "
                  "takes it and frees the buffer. {} tiles of {} rows of A go past two matrices B, which alternate in "
                  "b0 and b1:",
                  kTiles, kRows));
  Table t({"MMA", "A", "B", "collector"});
  const char* what[] = {"fill", "use", "use", "lastuse"};
  for (uint32_t i = 0; i < kTiles; ++i)
    for (uint32_t j = 0; j < 2; ++j)
      t.row({std::to_string(2 * i + j), fmt::format("tile {}", i), fmt::format("matrix {}", j),
             fmt::format("b{}::{}", j, what[i])});
  r.table(t);
  r.check("every bit of all eight products, with B kept and without", kept_right && read_right);
  Table reads({"", "bytes of A that are read", "bytes of B at most", "bytes of B at least"});
  const uint32_t bytes_a = 2 * kTiles * kRows * kK * 2, bytes_b = kN * kK * 2;
  reads.row(
      {"nothing kept", with_commas(bytes_a), with_commas(2 * kTiles * bytes_b), with_commas(2 * kTiles * bytes_b)});
  reads.row({"kept", with_commas(bytes_a), with_commas(2 * kTiles * bytes_b), with_commas(2 * bytes_b)});
  r.table(reads);
  r.value("kept_cycles", double(kept));
  r.value("read_cycles", double(read));
  r.say(
      "This may save reading B from shared memory, which for 32 rows of A is most of what an MMA reads. The buffers "
      "are a hint: hardware may read B again, so its memory must not change until the last MMA has ended. We found no "
      "measurement of the gain. tinygpu reads B each time, and warns if it has changed.");
}

// ---- 3. Columns that are zero

/// A zero-column mask: runs of zeroed and of used columns take turns. Each part of D's columns (1, 2 or 4 of them, for
/// M = 128, 64, 32) has its own first run and its own number of columns by which that is cut short.
struct ZeroColumns {
  uint32_t zeroed = 1, used = 1;  // lengths of the runs
  uint32_t cut[4] = {};
  bool zeroed_first[4] = {};
  uint64_t descriptor() const {
    uint64_t d = uint64_t(1) << 39 | uint64_t(zeroed - 1) << 40 | uint64_t(used - 1) << 48;
    for (uint32_t i = 0; i < 4; ++i) d |= uint64_t(cut[i]) << 8 * i | uint64_t(zeroed_first[i]) << (32 + i);
    return d;
  }
  /// Is column `c` of part `part` zeroed? Counted one by one.
  bool at(uint32_t part, uint32_t c) const {
    bool zero = zeroed_first[part];
    uint32_t left = zero ? zeroed : used;
    for (uint32_t i = 0; i < cut[part] + c; ++i)
      if (--left == 0) {
        zero = !zero;
        left = zero ? zeroed : used;
      }
    return zero;
  }
};

void part_zero_columns(Report& r) {
  const ZeroColumns masks[] = {
      {.zeroed = 8, .used = 8, .zeroed_first = {true, true, true, true}},
      {.zeroed = 4, .used = 12},
      {.zeroed = 3, .used = 4, .cut = {0, 1, 2, 1}, .zeroed_first = {true, true, false, false}}};
  r.say(
      "A last operand of 64 bits names columns of B that count as zero: runs of zeroed columns alternate with runs "
      "that are used. So a kernel can multiply by a matrix without clearing its unused columns in memory. 32 rows of "
      "ones, 64 columns in four parts of 16, each with a start of its own; a dot is zero:");
  const std::vector<uint16_t> a(32 * kK, bf16_of(1)), b(kN * kK, bf16_of(1));
  std::string text;
  bool right = true;
  for (const ZeroColumns& mask : masks) {
    const auto cells = run_smallest(a, b, 32, mask.descriptor());
    text += fmt::format("    0x{:016x}  ", mask.descriptor());
    for (uint32_t n = 0; n < kN; ++n) {
      const Cell at = cell_of(32, 0, n);
      const float d = std::bit_cast<float>(cells[at.lane * kN + at.column]);
      right &= d == (mask.at(n / 16, n % 16) ? 0.f : 16.f);
      text += (n % 16 ? "" : " ") + std::string(d == 0 ? "." : "#");
    }
    text += "\n";
  }
  r.picture(text);
  r.check("as counted on the host", right);
  r.say(
      "The fields: 31:0 by how many columns each part's first run is shorter, 35:32 whether that run is zeroed, 39 on, "
      "47:40 and 55:48 the lengths of zeroed and of used runs, less one. (61:56 moves the columns, within what bits "
      "31:30 of the instruction descriptor allow.) The manual's text has the two lengths in the other order; its own "
      "examples, and CuTe, have them as here.");
}

#include "mistakes.inc"

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("10", "tcgen05.mma.ws", "B stays in a buffer, A goes by in few rows, and all lanes work.");
  chapter.part("layouts", "Where D goes, for 128, 64 and 32 rows", part_layouts);
  chapter.part("stationary", "B stays", part_stationary);
  chapter.part("zero_columns", "Columns that count as zero", part_zero_columns);
  chapter.mistakes(kMistakes);
  return chapter.run(argc, argv);
}
