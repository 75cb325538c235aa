// Chapter 04: tcgen05.ld, tcgen05.st, tcgen05.wait.
//
//   scripts/run 04_tmem_ld_st                       every part
//   scripts/run 04_tmem_ld_st --part maps           where every value goes
//   scripts/run 04_tmem_ld_st --mistake no_wait_ld  a kernel that breaks a rule, and what is said about it
//
// The only ways between registers and Tensor Memory. A warp moves a rectangle of cells at once; the shape in the
// instruction's name says which cell each register of each thread is. Read this file from the top,
// notes/04_tmem_ld_st.md beside it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/difference.h"
#include "common/harness/inputs.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;

// ---- What every kernel here begins and ends with

constexpr uint32_t kLaneStep = 0x10000;  // one lane further in an address; one column further is 1

/// Warp 0 allocates for the CTA; everybody learns the address behind the barrier.
__device__ uint32_t allocate(uint32_t columns) {
  __shared__ uint32_t address;
  if (threadIdx.x / 32 == 0) tcgen05_alloc(shared_address(&address), columns);
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  return address;
}

/// Everybody is done with the columns; warp 0 frees them.
__device__ void release(uint32_t address, uint32_t columns) {
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x / 32 == 0) tcgen05_dealloc(address, columns);
}

/// A warp reaches only its own 32 lanes: those of its index modulo 4. The lane field of the address must say so.
__device__ uint32_t own_lanes(uint32_t address) { return address + threadIdx.x / 32 % 4 * 32 * kLaneStep; }

// ---- 1. The smallest kernel

// Each thread puts four registers into four columns of its lane and reads them back in two loads.
__global__ void smallest(uint32_t* out) {
  const uint32_t base = allocate(32), mine = own_lanes(base);
  const uint32_t t = threadIdx.x;
  const uint32_t in[4] = {t * 10, t * 10 + 1, t * 10 + 2, t * 10 + 3};
  tcgen05_st_32x32b(mine, in);
  tcgen05_wait_st();  // the cells are written
  uint32_t first[2], second[2];
  tcgen05_ld_32x32b(first, mine);
  tcgen05_ld_32x32b(second, mine + 2);  // +1 is the next column
  tcgen05_wait_ld();                    // the registers are written
  out[t * 4] = first[0];
  out[t * 4 + 1] = first[1];
  out[t * 4 + 2] = second[0];
  out[t * 4 + 3] = second[1];
  release(base, 32);
}

void part_smallest(Report& r) {
  DeviceBuffer<uint32_t> out(128 * 4);
  smallest<<<1, 128>>>(out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto got = out.download();
  r.say(
      "tcgen05.st.32x32b.x4 writes four registers of each thread into four columns of the thread's lane; "
      "tcgen05.ld.32x32b.x2 reads two. Both are asynchronous: tcgen05.wait::st and tcgen05.wait::ld say when they "
      "are done.");
  bool same = true;
  for (uint32_t i = 0; i < 128 * 4; ++i) same &= got[i] == i / 4 * 10 + i % 4;
  r.check("128 threads get back what they stored", same);
}

// ---- 2. Which cell is which register

enum Shape { k32x32b, k16x64b, k16x128b, k16x256b, k16x32bx2 };
constexpr const char* kNames[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
constexpr int kSplit = 4;  // of the 16x32bx2 here: threads 16 to 31 start four columns further

template <Shape kShape, bool kPack, int kRegisters>
__device__ void load(uint32_t (&r)[kRegisters], uint32_t address) {
  if constexpr (kShape == k32x32b) kPack ? tcgen05_ld_32x32b_pack16b(r, address) : tcgen05_ld_32x32b(r, address);
  if constexpr (kShape == k16x64b) kPack ? tcgen05_ld_16x64b_pack16b(r, address) : tcgen05_ld_16x64b(r, address);
  if constexpr (kShape == k16x128b) kPack ? tcgen05_ld_16x128b_pack16b(r, address) : tcgen05_ld_16x128b(r, address);
  if constexpr (kShape == k16x256b) kPack ? tcgen05_ld_16x256b_pack16b(r, address) : tcgen05_ld_16x256b(r, address);
  if constexpr (kShape == k16x32bx2)
    kPack ? tcgen05_ld_16x32bx2_pack16b<kSplit>(r, address) : tcgen05_ld_16x32bx2<kSplit>(r, address);
}

/// What a cell is filled with: it names itself, in both halves (for the packed forms).
__host__ __device__ constexpr uint32_t cell_name(uint32_t lane, uint32_t column) {
  return (lane << 9 | column) | (lane << 9 | column) << 16;
}

constexpr uint32_t kFilled = 64;  // columns

__device__ void fill(uint32_t mine) {
  uint32_t v[32];
  for (uint32_t c = 0; c < kFilled; c += 32) {
    for (uint32_t i = 0; i < 32; ++i) v[i] = cell_name(threadIdx.x % 128, c + i);
    tcgen05_st_32x32b(mine + c, v);
  }
  tcgen05_wait_st();
}

// Fills, loads with one shape, writes every register out.
template <Shape kShape, bool kPack, int kRegisters>
__global__ void load_shape(uint32_t* out) {
  const uint32_t base = allocate(kFilled), mine = own_lanes(base);
  fill(mine);
  uint32_t r[kRegisters];
  load<kShape, kPack>(r, mine);
  tcgen05_wait_ld();
  for (int i = 0; i < kRegisters; ++i) out[threadIdx.x * kRegisters + i] = r[i];
  release(base, kFilled);
}

struct Holder {
  int thread = -1, reg = -1;
};

/// One warp's rectangle: in each cell the thread and register that hold it.
std::string picture(const std::vector<uint32_t>& words, int registers, int lanes, int columns, bool pack) {
  std::vector<Holder> holder(size_t(32) * kFilled);
  for (int t = 0; t < 32; ++t)
    for (int i = 0; i < registers; ++i) {
      const uint32_t name = words[size_t(t * registers + i)];
      holder[(name & 0xffff) >> 9 << 6 | (name & 63)] = {t, i};
      if (pack) holder[name >> 25 << 6 | (name >> 16 & 63)] = {t, i};
    }
  std::string s = "      lane |";
  for (int c = 0; c < columns; ++c) s += fmt::format(" col {:<2}", c);
  while (s.back() == ' ') s.pop_back();
  s += "\n      -----+" + std::string(size_t(columns) * 7, '-') + "\n";
  for (int l = 0; l < lanes; ++l) {
    if (lanes == 32 && l > 3 && l < 30) {
      if (l == 4) s += "        .. |\n";
      continue;
    }
    s += fmt::format("      {:4} |", l);
    for (int c = 0; c < columns; ++c) {
      const Holder h = holder[size_t(l) << 6 | size_t(c)];
      s += h.thread < 0 ? "      ." : fmt::format(" {:>2}.r{:<2}", h.thread, h.reg);
    }
    while (s.back() == ' ') s.pop_back();
    s += "\n";
  }
  return s;
}

template <Shape kShape, bool kPack, int kRegisters>
std::vector<uint32_t> run_shape() {
  DeviceBuffer<uint32_t> out(128 * kRegisters);
  load_shape<kShape, kPack, kRegisters><<<1, 128>>>(out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  return out.download();
}

/// The tables of the PTX ISA's figures, as this chapter's reference: lane and column of register i of thread t.
uint32_t expected(Shape s, uint32_t t, uint32_t i, bool pack) {
  uint32_t lane = 0, column = 0;
  switch (s) {
    case k32x32b: lane = t, column = i; break;
    case k16x64b: lane = t / 4 + t % 2 * 8, column = t / 2 % 2 + 2 * i; break;
    case k16x128b: lane = t / 4 + i % 2 * 8, column = t % 4 + i / 2 * 4; break;
    case k16x256b: lane = t / 4 + i / 2 % 2 * 8, column = i % 2 + t % 4 * 2 + i / 4 * 8; break;
    case k16x32bx2: lane = t % 16, column = i; break;
  }
  if (pack) column *= 2;
  if (s == k16x32bx2 && t >= 16) column += kSplit;
  return pack ? (cell_name(lane, column) & 0xffff) | cell_name(lane, column + 1) << 16 : cell_name(lane, column);
}

template <Shape kShape, bool kPack, int kRegisters>
void show(Report& r, int num, int columns, const char* words) {
  const auto got = run_shape<kShape, kPack, kRegisters>();
  r.say(fmt::format(".{}.x{}{}: {}", kNames[kShape], num, kPack ? ".pack::16b" : "", words));
  r.picture(picture(got, kRegisters, kShape == k32x32b ? 32 : 16, columns, kPack));
  bool right = true;
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t i = 0; i < uint32_t(kRegisters); ++i) {
      const uint32_t warp_lanes = t / 32 * 32 << 9, both = warp_lanes | warp_lanes << 16;
      right &= got[t * kRegisters + i] == expected(kShape, t % 32, i, kPack) + both;
    }
  r.check(fmt::format("{} registers of 128 threads are the cells of the map", kRegisters), right);
}

void part_maps(Report& r) {
  r.say(
      "The program fills every cell of Tensor Memory with its own name; then a warp loads. The pictures show warp 0: "
      "each cell shows the thread and the register that it goes to. Warps 1 to 3 see the same, 32 lanes further down.");
  show<k32x32b, false, 8>(r, 8, 8,
                          "thread t has a row, lane t; the registers are the columns. Epilogues use this shape.");
  show<k16x64b, false, 2>(
      r, 2, 4, "16 lanes. Neighbouring threads are 8 lanes apart: even threads hold lanes 0 to 7, odd ones 8 to 15.");
  show<k16x128b, false, 4>(r, 2, 8, "four threads to a row, every second register 8 lanes further down.");
  show<k16x256b, false, 4>(r, 1, 8, "two neighbouring columns to a thread: exactly the C fragment of mma.sync.m16n8.");
  show<k16x32bx2, false, 4>(
      r, 4, 8,
      "16 lanes twice: threads 16 to 31 read the same lanes, but start at the address plus the immediate (4).");
}

// ---- 3. From rows to fragments without a shuffle

// A thread has a row (32x32b); mma.sync wants fragments (16x256b). Store in one shape, load in the other.
__global__ void fragments(uint32_t* out) {
  const uint32_t base = allocate(32), mine = own_lanes(base);
  uint32_t row[8];
  for (int c = 0; c < 8; ++c) row[c] = threadIdx.x * 100 + c;
  tcgen05_st_32x32b(mine, row);
  tcgen05_wait_st();
  uint32_t low[4], high[4];
  tcgen05_ld_16x256b(low, mine);                    // lanes 0 to 15
  tcgen05_ld_16x256b(high, mine + 16 * kLaneStep);  // lanes 16 to 31
  tcgen05_wait_ld();
  for (int i = 0; i < 4; ++i) {
    out[threadIdx.x * 8 + i] = low[i];
    out[threadIdx.x * 8 + 4 + i] = high[i];
  }
  release(base, 32);
}

void part_fragments(Report& r) {
  DeviceBuffer<uint32_t> out(32 * 8);
  fragments<<<1, 32>>>(out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto got = out.download();
  r.say(
      "Thread t stored its row, 100 t + column, with 32x32b.x8 and read two 16x256b.x1: the rows became matrix "
      "fragments, without shared memory and without a shuffle.");
  Table t({"thread", "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"});
  for (uint32_t i : {0u, 1u, 4u, 5u, 31u}) {
    std::vector<std::string> cells{std::to_string(i)};
    for (int k = 0; k < 8; ++k) cells.push_back(std::to_string(got[i * 8 + k]));
    t.row(cells);
  }
  r.table(t);
  bool right = true;
  for (uint32_t i = 0; i < 32; ++i)
    for (uint32_t k = 0; k < 8; ++k) {
      const uint32_t row = k / 4 * 16 + k / 2 % 2 * 8 + i / 4, column = i % 4 * 2 + k % 2;
      right &= got[i * 8 + k] == row * 100 + column;
    }
  r.check("register 4h + 2q + p of thread t is row 16h + 8q + t/4, column 2(t%4) + p", right);
}

// ---- 4. Two 16-bit values to a register

// unpack::16b spreads a register's halves over two columns, pack::16b joins two columns' low halves.
__global__ void halves(uint32_t* out) {
  const uint32_t base = allocate(32), mine = own_lanes(base);
  const uint32_t pairs[2] = {0x22221111, 0x44443333};
  tcgen05_st_32x32b_unpack16b(mine, pairs);
  tcgen05_wait_st();
  uint32_t cells[4], joined[2];
  tcgen05_ld_32x32b(cells, mine);
  tcgen05_ld_32x32b_pack16b(joined, mine);
  tcgen05_wait_ld();
  if (threadIdx.x == 0) {
    for (int i = 0; i < 4; ++i) out[i] = cells[i];
    for (int i = 0; i < 2; ++i) out[4 + i] = joined[i];
  }
  release(base, 32);
}

void part_pack(Report& r) {
  DeviceBuffer<uint32_t> out(6);
  halves<<<1, 32>>>(out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto got = out.download();
  r.say(
      "A 16-bit accumulator has a cell of its own, in the low half. st.unpack::16b puts the two halves of a register "
      "into two columns, ld.pack::16b reads two columns into one register; the number of columns that an instruction "
      "covers doubles.");
  Table t({"", "r0 / column 0", "r1 / column 1", "column 2", "column 3"});
  const auto hex = [](uint32_t v) { return fmt::format("{:08x}", v); };
  t.row({"stored with unpack::16b", "22221111", "44443333", "", ""});
  t.row({"the cells", hex(got[0]), hex(got[1]), hex(got[2]), hex(got[3])});
  t.row({"loaded with pack::16b", hex(got[4]), hex(got[5]), "", ""});
  r.table(t);
  r.check("each half has a column", got[0] % 65536 == 0x1111 && got[1] % 65536 == 0x2222 && got[2] % 65536 == 0x3333);
  r.check("pack::16b joins them again", got[4] == 0x22221111 && got[5] == 0x44443333);
  r.check("the upper halves are zero", (got[0] | got[1] | got[2] | got[3]) >> 16 == 0,
          "inferred; no document says what unpack::16b writes there");
  show<k16x256b, true, 4>(r, 1, 16, "the map with packing: a register covers two columns.");
}

// ---- 5. Reductions

// Sums of a 32 x 32 block, along rows and down columns. Rows cost nothing: with 32x32b a thread owns one. For columns
// the load folds the lanes: with 16x128b a thread gets rows t/4, t/4+8 (and +16, +24 from the second load) of column
// t%4 + 4i, so 32 rows are 8 threads x 4 registers, and three shuffles are left of five.
__global__ void reduce(const float* in, float* rows, float* columns) {
  const uint32_t base = allocate(32), mine = own_lanes(base);
  const uint32_t t = threadIdx.x;
  uint32_t v[32];
  for (int c = 0; c < 32; ++c) v[c] = __float_as_uint(in[t * 32 + c]);
  tcgen05_st_32x32b(mine, v);
  float sum = 0;
  for (int c = 0; c < 32; ++c) sum += __uint_as_float(v[c]);
  rows[t] = sum;
  tcgen05_wait_st();
  uint32_t top[16], bottom[16];
  tcgen05_ld_16x128b(top, mine);
  tcgen05_ld_16x128b(bottom, mine + 16 * kLaneStep);
  tcgen05_wait_ld();
  for (int i = 0; i < 8; ++i) {
    float s = __uint_as_float(top[2 * i]) + __uint_as_float(top[2 * i + 1]) + __uint_as_float(bottom[2 * i]) +
              __uint_as_float(bottom[2 * i + 1]);
    for (int apart = 4; apart < 32; apart *= 2) s += __shfl_xor_sync(~0u, s, apart);
    if (t < 4) columns[t + 4 * i] = s;
  }
  release(base, 32);
}

void part_reduce(Report& r) {
  std::vector<float> in(32 * 32);
  Random random(4);
  for (float& x : in) x = float(int(random.below(2001)) - 1000);  // integers: sums are exact in any order
  DeviceBuffer<float> device_in(in), rows(32), columns(32);
  reduce<<<1, 32>>>(device_in.get(), rows.get(), columns.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto row = rows.download(), column = columns.download();
  bool rows_right = true, columns_right = true;
  for (int i = 0; i < 32; ++i) {
    float a = 0, b = 0;
    for (int k = 0; k < 32; ++k) {
      a += in[size_t(i * 32 + k)];
      b += in[size_t(k * 32 + i)];
    }
    rows_right &= row[size_t(i)] == a;
    columns_right &= column[size_t(i)] == b;
  }
  r.say(
      "A 32 x 32 block of floats, summed both ways. The choice of the shape decides how many shuffles a reduction "
      "needs: along a row none (32x32b), down a column three (16x128b) and not five.");
  r.check("32 row sums", rows_right);
  r.check("32 column sums", columns_right);
}

// ---- 6. What it costs

template <bool kStore, Shape kShape, int kRegisters>
__device__ void access(uint32_t (&r)[kRegisters], uint32_t address) {
  if constexpr (!kStore) {
    load<kShape, false>(r, address);
  } else {
    if constexpr (kShape == k32x32b) tcgen05_st_32x32b(address, r);
    if constexpr (kShape == k16x256b) tcgen05_st_16x256b(address, r);
  }
}

// One access and its wait; then eight back to back and one wait. The difference is what a further access costs.
// Accesses in flight together must not touch the same cells if one of them writes: each has columns, or half the lanes,
// of its own.
template <bool kStore, Shape kShape, int kRegisters>
__global__ void cost(uint32_t* cycles, uint32_t* sink) {
  const uint32_t base = allocate(512), mine = own_lanes(base);
  uint32_t v[128];
  for (int i = 0; i < 128; ++i) v[i] = threadIdx.x + i;
  for (uint32_t c = 0; c < 512; c += 128) tcgen05_st_32x32b(mine + c, v);
  tcgen05_wait_st();
  uint32_t r[kRegisters];
  for (int i = 0; i < kRegisters; ++i) r[i] = threadIdx.x;
  long long t[3];
  const auto wait = [] {
    if constexpr (kStore)
      tcgen05_wait_st();
    else
      tcgen05_wait_ld();
  };
  t[0] = clock64();
  access<kStore, kShape>(r, mine);
  wait();
  t[1] = clock64();
  for (int i = 0; i < 8; ++i)
    access<kStore, kShape>(r, mine + (kShape == k32x32b ? i * 64 : i / 2 * 128 + i % 2 * 16 * kLaneStep));
  wait();
  t[2] = clock64();
  for (int i = 0; i < kRegisters; ++i) sink[threadIdx.x * kRegisters + i] = r[i];
  if (threadIdx.x == 0) {
    cycles[0] = uint32_t(t[1] - t[0]);
    cycles[1] = uint32_t(t[2] - t[1]);
  }
  release(base, 512);
}

template <bool kStore, Shape kShape, int kRegisters>
void cost_row(Report& r, Table& table, int num) {
  DeviceBuffer<uint32_t> cycles(2), sink(128 * kRegisters);
  double one = 0, next = 0;
  for (uint32_t warps : {1u, 4u}) {
    cost<kStore, kShape, kRegisters><<<1, 32 * warps>>>(cycles.get(), sink.get());
    GEN5_CUDA(cudaDeviceSynchronize());
    const auto c = cycles.download();
    if (warps == 1) {
      one = c[0];
      next = (double(c[1]) - c[0]) / 7;
    } else {
      const double next4 = (double(c[1]) - c[0]) / 7;
      const std::string name = fmt::format("{} .{}.x{}", kStore ? "st" : "ld", kNames[kShape], num);
      table.row({name, std::to_string(kRegisters), fmt::format("{:.0f}", one), fmt::format("{:.1f}", next),
                 fmt::format("{:.0f}", kRegisters * 128 / next), fmt::format("{:.0f}", 4 * kRegisters * 128 / next4)});
      r.value(name, next);
    }
  }
}

void part_cost(Report& r) {
  Table t(
      {"instruction", "registers", "cycles, alone with wait", "a further one", "B/cycle, 1 warp", "B/cycle, 4 warps"});
  cost_row<false, k32x32b, 1>(r, t, 1);
  cost_row<false, k32x32b, 4>(r, t, 4);
  cost_row<false, k32x32b, 16>(r, t, 16);
  cost_row<false, k32x32b, 64>(r, t, 64);
  cost_row<false, k16x64b, 4>(r, t, 4);
  cost_row<false, k16x128b, 4>(r, t, 2);
  cost_row<false, k16x256b, 4>(r, t, 1);
  cost_row<false, k16x256b, 64>(r, t, 16);
  cost_row<true, k32x32b, 4>(r, t, 4);
  cost_row<true, k32x32b, 64>(r, t, 64);
  cost_row<true, k16x256b, 64>(r, t, 16);
  r.table(t);
  r.say(
      "The number of registers decides, not the shape: a load takes about four cycles and two for each register of a "
      "thread, a store a third of that. Each quarter of Tensor Memory has its own path, so four warps on the four "
      "quarters move four times as much, and a fifth warp shares a path. Long loads waste the least; loads in flight "
      "together share one wait.");
}

// ---- Mistakes

// mistakes.txt says which lines are wrong in which kernel. These run a kernel and say whether its numbers are right.

/// Warp 0 fills a stage and reads it, warp 4, which has the same lanes, refills it.
__global__ void hand_over(uint32_t* out) {
  const uint32_t base = allocate(32), mine = own_lanes(base);
  uint32_t r[32];
  const uint32_t refill[1] = {77};
  if (threadIdx.x < 32) {
    for (int i = 0; i < 32; ++i) r[i] = threadIdx.x;
    tcgen05_st_32x32b(mine, r);
    tcgen05_wait_st();
    tcgen05_ld_32x32b(r, mine);
    tcgen05_wait_ld();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();  // the stage is free
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x >= 128) {
    tcgen05_st_32x32b(mine, refill);
    tcgen05_wait_st();
  }
  if (threadIdx.x < 32)
    for (int i = 0; i < 32; ++i) out[threadIdx.x] = r[i];
  release(base, 32);
}

bool smallest_right(void (*kernel)(uint32_t*)) {
  DeviceBuffer<uint32_t> out(128 * 4);
  kernel<<<1, 128>>>(out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto got = out.download();
  for (uint32_t i = 0; i < 128 * 4; ++i)
    if (got[i] != i / 4 * 10 + i % 4) return false;
  return true;
}

Verdict fragments_right(void (*kernel)(uint32_t*)) {
  DeviceBuffer<uint32_t> out(32 * 8);
  kernel<<<1, 32>>>(out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto got = out.download();
  std::vector<uint32_t> want(32 * 8);
  for (uint32_t i = 0; i < 32; ++i)
    for (uint32_t k = 0; k < 8; ++k) want[i * 8 + k] = (k / 4 * 16 + k / 2 % 2 * 8 + i / 4) * 100 + i % 4 * 2 + k % 2;
  return difference("out", got, want, 8);
}

bool hand_over_right(void (*kernel)(uint32_t*)) {
  DeviceBuffer<uint32_t> out(32);
  kernel<<<1, 160>>>(out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto got = out.download();
  for (uint32_t t = 0; t < 32; ++t)
    if (got[t] != t) return false;
  return true;
}

#include "mistakes.inc"

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("04", "tcgen05.ld, st, wait",
                  "Registers to and from Tensor Memory: which register is which cell, and when its value is there.");
  chapter.part("smallest", "Four registers to Tensor Memory and back", part_smallest);
  chapter.part("maps", "Which cell is which register", part_maps);
  chapter.part("fragments", "Rows become fragments", part_fragments);
  chapter.part("pack", "Two 16-bit values to a register", part_pack);
  chapter.part("reduce", "Reductions by choice of shape", part_reduce);
  chapter.part("cost", "What it costs", part_cost);
  chapter.mistakes(kMistakes);
  return chapter.run(argc, argv);
}
