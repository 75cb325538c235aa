// Chapter 07: tcgen05.cp and tcgen05.shift.
//
//   scripts/run 07_tmem_cp_shift                  every part
//   scripts/run 07_tmem_cp_shift --part shapes    one of them
//
// tcgen05.st brings registers to Tensor Memory, a warp at a time. tcgen05.cp brings shared memory there without any
// thread's help: A, or the scale factors of chapter 08. tcgen05.shift moves what is there by a lane. Read this file
// from the top, notes/07_tmem_cp_shift.md beside it.
#include <fmt/core.h>

#include <bit>

#include "chapters/tensor_kernel.cuh"
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
#include "common/ptx/tcgen05_cp.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"

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
using tensor_kernel::wait;

constexpr uint32_t kLanes = 128, kColumns = 8;
constexpr uint32_t kUntouched = 0xdeadbeef;

/// What threads stored, in shared memory and in Tensor Memory, is ready for the tensor core's queue.
__device__ void ready() {
  fence_proxy_async_shared();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
}

/// All lanes of eight columns, from registers and to memory.
__device__ void fill(uint32_t address, uint32_t word) {
  uint32_t r[kColumns];
  for (uint32_t& w : r) w = word;
  tcgen05_st_32x32b(address + (threadIdx.x / 32 << 21), r);
  tcgen05_wait_st();
}
__device__ void dump(uint32_t address, uint32_t* cells) {
  uint32_t r[kColumns];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kColumns; ++n) cells[threadIdx.x * kColumns + n] = r[n];
}

// ---- 1. Shapes

/// The source is described as an operand of an MMA: rows of 16 or 32 bytes, eight rows to a group, without swizzle
/// 16-byte columns behind each other.
constexpr uint64_t source_of(uint32_t rows) {
  return uint64_t(rows * 16 >> 4) << 16 | smem_descriptor({.swizzle = Swizzle::none, .leading = 0, .stride = 128});
}

// Copies 4 KiB of `source`, 128 threads. Each word of shared memory comes from `words`, each cell before is untouched.
template <CpShape kShape, CpFrom kFrom>
__global__ void copy(const uint32_t* words, uint64_t source, uint32_t lane, uint32_t* cells) {
  __shared__ alignas(1024) uint32_t memory[1024];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  for (uint32_t i = threadIdx.x; i < 1024; i += blockDim.x) memory[i] = words[i];
  fill(address, kUntouched);
  ready();
  if (threadIdx.x == 0) {
    tcgen05_cp<kShape, kFrom>(address + (lane << 16), at_address(source, shared_address(memory)));
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  dump(address, cells);
  end(address, 32);
}

template <CpShape kShape, CpFrom kFrom = CpFrom::bytes>
std::vector<uint32_t> run_copy(const std::vector<uint32_t>& words, uint64_t source, uint32_t lane = 0) {
  DeviceBuffer<uint32_t> dw(words), cells(kLanes * kColumns);
  copy<kShape, kFrom><<<1, 128>>>(dw.get(), source, lane, cells.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return cells.download();
}

/// 4 KiB in which the word w of row i, in rows of `row_bytes`, says so: i << 8 | w.
std::vector<uint32_t> numbered(uint32_t rows, uint32_t row_bytes) {
  std::vector<uint32_t> words(1024, 0xffffffff);
  for (uint32_t i = 0; i < rows; ++i)
    for (uint32_t w = 0; w < row_bytes / 4; ++w) words[w / 4 * rows * 4 + i * 4 + w % 4] = i << 8 | w;
  return words;
}

/// What lies in one quarter's first column: "0-31", "row 2 in lane 64", or "-".
std::string quarter_of(const std::vector<uint32_t>& cells, uint32_t quarter) {
  const auto row = [&](uint32_t lane) { return cells[lane * kColumns] >> 8; };
  const auto written = [&](uint32_t lane) { return cells[lane * kColumns] != kUntouched; };
  const uint32_t first = quarter * 32;
  uint32_t count = 0, one = 0;
  for (uint32_t lane = first; lane < first + 32; ++lane)
    if (written(lane)) ++count, one = lane;
  if (count == 0) return "-";
  if (count == 1) return fmt::format("{} in lane {}", row(one), one);
  return fmt::format("{}-{}", row(first), row(first + 31));
}

/// .128x256b, row by row.
bool copy_right(void (*kernel)(const uint32_t*, uint64_t, uint32_t, uint32_t*)) {
  DeviceBuffer<uint32_t> words(numbered(kLanes, 32)), cells(kLanes * kColumns);
  kernel<<<1, 128>>>(words.get(), source_of(kLanes), 0, cells.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto got = cells.download();
  for (uint32_t i = 0; i < got.size(); ++i)
    if (got[i] != (i / kColumns << 8 | i % kColumns)) return false;
  return true;
}

struct Shape {
  const char* name;
  uint32_t rows, row_bytes;
  std::vector<uint32_t> cells;
};

template <CpShape kShape>
Shape run_shape(const char* name, uint32_t rows, uint32_t row_bytes) {
  return {name, rows, row_bytes, run_copy<kShape>(numbered(rows, row_bytes), source_of(rows))};
}

void part_shapes(Report& r) {
  const Shape shapes[] = {run_shape<CpShape::r128x256b>(".128x256b", 128, 32),
                          run_shape<CpShape::r128x128b>(".128x128b", 128, 16),
                          run_shape<CpShape::r64x128b_warpx2_02_13>(".64x128b.warpx2::02_13", 64, 16),
                          run_shape<CpShape::r64x128b_warpx2_01_23>(".64x128b.warpx2::01_23", 64, 16),
                          run_shape<CpShape::r32x128b_warpx4>(".32x128b.warpx4", 32, 16),
                          run_shape<CpShape::r4x256b>(".4x256b", 4, 32)};
  r.say(
      "One thread issues tcgen05.cp with a Tensor Memory address and a descriptor of shared memory; a commit's arrival "
      "says when it is done. The shape gives rows and bits of a row. Each row goes to a lane, each 4 bytes of it to a "
      "column. If there are fewer rows than lanes, the copy writes them to several quarters. Which rows arrived in "
      "which lanes:");
  Table t({"shape", "lanes 0-31", "lanes 32-63", "lanes 64-95", "lanes 96-127", "columns"});
  bool order = true;
  for (const Shape& s : shapes) {
    uint32_t columns = 0;
    for (uint32_t c = 0; c < kColumns; ++c) columns += s.cells[c] != kUntouched;
    t.row({s.name, quarter_of(s.cells, 0), quarter_of(s.cells, 1), quarter_of(s.cells, 2), quarter_of(s.cells, 3),
           std::to_string(columns)});
    order &= columns == s.row_bytes / 4;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t c = 0; c < kColumns; ++c) {
        const uint32_t word = s.cells[lane * kColumns + c];
        if (word != kUntouched) order &= (word & 255) == c && c < columns;
      }
  }
  r.table(t);
  r.check("word w of a row is in column w", order);
  r.check(".128x256b: row i, word w is lane i, column w", copy_right(copy<CpShape::r128x256b, CpFrom::bytes>));
  // Written down from the manual's figures: the row in each lane, 255 for none.
  const auto row_in = [](uint32_t shape, uint32_t lane) -> uint32_t {
    const uint32_t q = lane / 32, i = lane % 32;
    switch (shape) {
      case 2: return q % 2 * 32 + i;
      case 3: return q / 2 * 32 + i;
      case 4: return i;
      case 5: return i == 0 ? q : 255;
      default: return lane;
    }
  };
  bool lanes = true;
  for (uint32_t s = 0; s < 6; ++s)
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t word = shapes[s].cells[lane * kColumns], want = row_in(s, lane);
      lanes &= want == 255 ? word == kUntouched : word >> 8 == want;
    }
  r.check("every row is where the manual's figures have it", lanes);
  r.say(
      "Uses: .128x256b loads A (32 bytes of K for each row), .32x128b.warpx4 loads scale factors, which every quarter "
      "needs (chapter 08), .4x256b one row for each quarter (below, after a shift).");
}

// ---- 2. Where rows come from

void part_source(Report& r) {
  struct Way {
    const char* name;
    Swizzle swizzle;
    uint64_t descriptor;
  };
  const Way ways[] = {
      {"none", Swizzle::none, source_of(32)},
      {"32B", Swizzle::b32, smem_descriptor({.swizzle = Swizzle::b32, .stride = 8 * 32})},
      {"64B", Swizzle::b64, smem_descriptor({.swizzle = Swizzle::b64, .stride = 8 * 64})},
      {"128B", Swizzle::b128, smem_descriptor({.swizzle = Swizzle::b128, .stride = 8 * 128})},
  };
  r.say(
      "The descriptor is that of an MMA with a K-major tile: swizzles, SBO from eight rows to the next eight, LBO from "
      "16 bytes of a row to the next 16 without a swizzle. So a tile that TMA has loaded for an MMA can be copied as "
      "it lies. 32 rows of 16 bytes by .32x128b.warpx4, taken from rows as wide as the swizzle:");
  Table t({"swizzle", "a row is", "SBO", "row 5 begins at byte", "rows arrived"});
  bool all = true;
  for (const Way& w : ways) {
    std::vector<uint32_t> words(1024, 0xffffffff);
    uint32_t fifth = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      const uint32_t at = gen5::layout::k_major_offset(w.swizzle, 32, i, 0);
      if (i == 5) fifth = at;
      for (uint32_t word = 0; word < 4; ++word) words[at / 4 + word] = i << 8 | word;
    }
    const auto cells = run_copy<CpShape::r32x128b_warpx4>(words, w.descriptor);
    bool good = true;
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      for (uint32_t c = 0; c < 4; ++c) good &= cells[lane * kColumns + c] == (lane % 32 << 8 | c);
    all &= good;
    t.row({w.name, fmt::format("{} bytes", gen5::layout::span_bytes(w.swizzle)),
           std::to_string((w.descriptor >> 32 & 0x3fff) * 16), std::to_string(fifth), good ? "yes" : "NO"});
  }
  r.table(t);
  r.check("four layouts of the source, the same cells", all);
}

// ---- 3. Expansion

void part_expand(Report& r) {
  std::array<uint8_t, 16> codes;
  for (uint8_t i = 0; i < 16; ++i) codes[i] = i;
  r.say(
      "In Tensor Memory, A of kinds f8f6f4 and mxf8f6f4 has a byte for each element, also for 6- and 4-bit ones. In "
      "shared memory those are packed: 12 or 8 bytes of 16, then padding (chapter 06). .b8x16.b6x16_p32 and "
      ".b8x16.b4x16_p64 unpack them during the copy. The codes 0 to 15:");
  std::string text;
  bool right = true;
  const auto show = [&](const char* name, Narrow format, const std::vector<uint32_t>& cells, int shift) {
    text += fmt::format("  {:<10} shared memory ", name);
    for (const uint8_t b : container_of(format, codes)) text += fmt::format(" {:02x}", b);
    text += "\n             Tensor Memory ";
    for (uint32_t i = 0; i < 16; ++i) {
      const uint32_t byte = cells[i / 4] >> (i % 4 * 8) & 255;
      text += fmt::format(" {:02x}", byte);
      right &= byte == uint32_t(codes[i]) << shift;
    }
    text += "\n";
  };
  const auto source = [&](Narrow format) {
    std::vector<uint32_t> words(1024);
    const auto bytes = container_of(format, codes);
    for (uint32_t i = 0; i < 16; ++i) words[i / 4] |= uint32_t(bytes[i]) << i % 4 * 8;
    return words;
  };
  show("b6x16_p32", Narrow::e3m2,
       run_copy<CpShape::r32x128b_warpx4, CpFrom::b6x16_p32>(source(Narrow::e3m2), source_of(32)), 0);
  show("b4x16_p64", Narrow::e2m1,
       run_copy<CpShape::r32x128b_warpx4, CpFrom::b4x16_p64>(source(Narrow::e2m1), source_of(32)), 2);
  r.picture(text);
  r.check("a 6-bit code is in bits 5:0 of its byte, a 4-bit code in bits 5:2", right);
  r.say("The shape counts the bits that arrive: .128x256b reads 32 bytes of padded source for each row.");
}

// ---- 4. From cp to mma

constexpr uint32_t kM = 128, kN = 16, kK = 16;
constexpr uint32_t kInstruction = instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = kM, .n = kN});
template <uint32_t kRows>
constexpr uint64_t kPlain = smem_descriptor(
    {.element = Element::bf16, .major = Major::k, .swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});
constexpr uint32_t kAtA = 16;  // D in columns 0 to 15, A in 16 to 23

__device__ void store_plain(uint16_t* tile, const uint16_t* from, uint32_t rows) {
  for (uint32_t i = threadIdx.x; i < rows * kK; i += blockDim.x)
    tile[i % kK / 8 * rows * 8 + i / kK * 8 + i % 8] = from[i];
}

// A goes through cp to Tensor Memory, and from there into the MMA: no wait in between.
__global__ void feed(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(128) uint16_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  store_plain(tile_a, a, kM);
  store_plain(tile_b, b, kN);
  ready();
  if (threadIdx.x == 0) {
    tcgen05_cp<CpShape::r128x256b>(address + kAtA, at_address(kPlain<kM>, shared_address(tile_a)));
    tcgen05_mma_f16_tmem(address, address + kAtA, at_address(kPlain<kN>, shared_address(tile_b)), kInstruction, false);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  uint32_t r[kN];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kN; ++n) d[threadIdx.x * kN + n] = r[n];
  end(address, 32);
}

/// The rows of a and b for an MMA, in host memory.
struct Operands {
  std::vector<uint16_t> a = make_inputs(Format::bf16, Pattern::uniform, 160 * kK, 71);  // more rows than lanes
  std::vector<uint16_t> b = make_inputs(Format::bf16, Pattern::uniform, 3 * kN * kK, 72);
};

bool feed_right(void (*kernel)(const uint16_t*, const uint16_t*, uint32_t*)) {
  const Operands o;
  DeviceBuffer<uint16_t> a(o.a), b(o.b);
  DeviceBuffer<uint32_t> d(kM * kN);
  kernel<<<1, 128>>>(a.get(), b.get(), d.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return d.download() == fused_gemm({Format::bf16, kM, kN, kK, o.a.data(), o.b.data()});
}

void part_feed(Report& r) {
  r.say(
      "cp, mma and shift go into one queue. Some pairs keep the order of issue and need no wait in between; all others "
      "need the first one's commit:");
  Table t({"first", "then", "in order"});
  t.row({"cp", "mma", "yes"});
  t.row({"mma", "mma, same accumulator and shape", "yes"});
  t.row({"mma", "shift", "yes"});
  t.row({"shift", "mma", "yes"});
  t.row({"shift", "cp.4x256b", "yes"});
  t.row({"mma", "cp into what it reads", "no: wait for a commit"});
  t.row({"cp", "cp into the same cells", "no: wait for a commit"});
  t.row({"cp", "tcgen05.ld", "no: wait for a commit"});
  r.table(t);
  r.check("A by cp, straight into an MMA: every bit of D", feed_right(feed));
}

// ---- 5. Shift

// Eight columns that say their lane, then one shift; `patch`: and lane 31 of each quarter anew.
__global__ void shift(uint32_t* cells, bool patch) {
  __shared__ alignas(128) uint32_t rows[4 * 8];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  if (threadIdx.x < 32) rows[threadIdx.x] = 1000 + threadIdx.x % 16 / 4;
  fill(address, threadIdx.x);
  ready();
  if (threadIdx.x == 0) {
    tcgen05_shift_down(address);
    if (patch) tcgen05_cp<CpShape::r4x256b>(address + (31 << 16), at_address(source_of(4), shared_address(rows)));
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  dump(address, cells);
  end(address, 32);
}

// A sliding window: D[m] = A[m]·B0 + A[m + 1]·B1 + A[m + 2]·B2, as a convolution with three taps has it. A is brought
// once; between the taps it moves by a lane, and the row that comes in at the end of each quarter is brought by itself.
__global__ void window(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(128) uint16_t tile_a[kM * kK], tile_b[3][kN * kK];
  __shared__ alignas(128) uint16_t incoming[2][4 * kK];  // for the second and the third tap: a row for each quarter
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  store_plain(tile_a, a, kM);
  for (uint32_t tap = 0; tap < 3; ++tap) store_plain(tile_b[tap], b + tap * kN * kK, kN);
  for (uint32_t i = threadIdx.x; i < 2 * 4 * kK; i += blockDim.x) {
    const uint32_t tap = i / (4 * kK), quarter = i / kK % 4, k = i % kK;
    incoming[tap][k / 8 * 4 * 8 + quarter * 8 + k % 8] = a[(quarter * 32 + 32 + tap) * kK + k];
  }
  ready();
  if (threadIdx.x == 0) {
    const uint32_t at_a = address + kAtA;
    tcgen05_cp<CpShape::r128x256b>(at_a, at_address(kPlain<kM>, shared_address(tile_a)));
    for (uint32_t tap = 0; tap < 3; ++tap) {
      if (tap > 0) {
        tcgen05_shift_down(at_a);
        tcgen05_cp<CpShape::r4x256b>(at_a + (31 << 16), at_address(source_of(4), shared_address(incoming[tap - 1])));
      }
      tcgen05_mma_f16_tmem(address, at_a, at_address(kPlain<kN>, shared_address(tile_b[tap])), kInstruction, tap > 0);
    }
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  uint32_t r[kN];
  tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 << 21));
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kN; ++n) d[threadIdx.x * kN + n] = r[n];
  end(address, 32);
}

Verdict window_right(void (*kernel)(const uint16_t*, const uint16_t*, uint32_t*)) {
  const Operands o;
  DeviceBuffer<uint16_t> a(o.a), b(o.b);
  DeviceBuffer<uint32_t> d(kM * kN);
  kernel<<<1, 128>>>(a.get(), b.get(), d.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  std::vector<uint32_t> want(kM * kN);
  for (uint32_t m = 0; m < kM; ++m)
    for (uint32_t n = 0; n < kN; ++n) {
      uint32_t& sum = want[m * kN + n];
      for (uint32_t tap = 0; tap < 3; ++tap) {
        uint32_t row_a[kK], row_b[kK];
        for (uint32_t k = 0; k < kK; ++k) {
          row_a[k] = o.a[(m + tap) * kK + k];
          row_b[k] = o.b[(tap * kN + n) * kK + k];
        }
        sum = fused_step(Format::bf16, row_a, row_b, sum, tap > 0);
      }
    }
  return difference("d", d.download(), want, kN, Shown::floats);
}

void part_shift(Report& r) {
  DeviceBuffer<uint32_t> cells(kLanes * kColumns);
  const auto run = [&](bool patch) {
    shift<<<1, 128>>>(cells.get(), patch);
    GEN5_CUDA(cudaGetLastError());
    GEN5_CUDA(cudaDeviceSynchronize());
    return cells.download();
  };
  const auto moved = run(false), patched = run(true);
  r.say(
      "tcgen05.shift.down moves eight columns by one lane, in each quarter separately: each lane takes the value of "
      "the next higher lane. The last lane of a quarter keeps its value; tcgen05.cp.4x256b at lane 31 gives it a new "
      "one. Every lane held its own number. The lanes after a shift, and after a shift and such a copy of 1000 to "
      "1003:");
  std::string text =
      "    lane         0    1    2  ..   30   31 |  32   33  ..   62   63 |  64  ..   95 |  96  ..  127\n";
  const auto line = [&](const char* name, const std::vector<uint32_t>& c) {
    const auto at = [&](uint32_t lane) { return c[lane * kColumns]; };
    text += fmt::format(
        "    {:<9} {:>4} {:>4} {:>4}  .. {:>4} {:>4} |{:>4} {:>4}  .. {:>4} {:>4} |{:>4}  .. {:>4} |{:>4}  .. {:>4}\n",
        name, at(0), at(1), at(2), at(30), at(31), at(32), at(33), at(62), at(63), at(64), at(95), at(96), at(127));
  };
  line("shift", moved);
  line("and copy", patched);
  r.picture(text);
  bool down = true, last = true;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t c = 0; c < kColumns; ++c) {
      const uint32_t end = lane % 32 == 31;
      down &= moved[lane * kColumns + c] == (end ? lane : lane + 1);
      last &= patched[lane * kColumns + c] == (end ? 1000 + lane / 32 : lane + 1);
    }
  r.check("lane i holds what lane i + 1 held, lane 31 of a quarter its own", down,
          "direction and span rest on two independent readings, not on silicon");
  r.check("and cp.4x256b replaces that one", last);
  r.say(
      "The use: a convolution as a product. Row m of A is a pixel; the second tap of the filter multiplies pixel m + "
      "1, the third m + 2. A is copied once and shifted by a lane for each tap, instead of copied again.");
  r.check("D[m] = A[m] B0 + A[m + 1] B1 + A[m + 2] B2, every bit", window_right(window));
  r.say(
      "Eight operations, no wait: mma to shift, shift to cp.4x256b and cp to mma keep their order. .ashift on an MMA "
      "with A in Tensor Memory makes the same shift as part of the product.");
}

#include "mistakes.inc"

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("07", "tcgen05.cp and tcgen05.shift",
                  "Shared memory to Tensor Memory without registers, and Tensor Memory shifted by a lane.");
  chapter.part("shapes", "Six shapes: which rows go to which lanes", part_shapes);
  chapter.part("source", "Rows out of any K-major tile", part_source);
  chapter.part("expand", "Six and four bits become bytes", part_expand);
  chapter.part("feed", "From cp to mma without a wait", part_feed);
  chapter.part("shift", "One lane on, and a sliding window", part_shift);
  chapter.mistakes(kMistakes);
  return chapter.run(argc, argv);
}
