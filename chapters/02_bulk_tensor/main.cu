// Chapter 02: bulk copies and tensor copies, the TMA unit.
//
//   scripts/run 02_bulk_tensor                       every part
//   scripts/run 02_bulk_tensor --part swizzle        one of them
//   scripts/run 02_bulk_tensor --mistake column      a kernel that breaks a rule, and what is said about it
//
// One thread asks for a box of a tensor; the unit fetches it, lays it out in shared memory and reports its bytes to an
// mbarrier (chapter 01). The tensor's shape stands in a tensor map that the host encodes. Runs on Hopper too, but for
// gather4. Read this file from the top, notes/02_bulk_tensor.md beside it.
#include <fmt/core.h>

#include <algorithm>

#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/harness/pipeline_run.h"
#include "common/harness/stamps.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;

constexpr uint32_t kUntouched = 0xeeee;

// ---- Tensor maps

/// A matrix of 16-bit elements: what every part but im2col uses.
struct Matrix {
  uint64_t columns = 64, rows = 32, pitch = 128;  // pitch in bytes
  uint32_t box_columns = 64, box_rows = 8, row_step = 1;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
  bool nan = false;
};

CUtensorMap encode(void* data, const Matrix& m) {
  const auto encode_tiled =
      reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(driver_function("cuTensorMapEncodeTiled"));
  const cuuint64_t dims[] = {m.columns, m.rows}, strides[] = {m.pitch};
  const cuuint32_t box[] = {m.box_columns, m.box_rows}, steps[] = {1, m.row_step};
  CUtensorMap map;
  GEN5_CUDA(
      encode_tiled(&map, m.type, 2, data, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, m.swizzle,
                   CU_TENSOR_MAP_L2_PROMOTION_NONE,
                   m.nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

/// rows × columns of row * 1000 + column.
std::vector<uint16_t> numbered(uint64_t rows, uint64_t columns) {
  std::vector<uint16_t> v(rows * columns);
  for (uint64_t i = 0; i < v.size(); ++i) v[i] = uint16_t(i / columns * 1000 + i % columns);
  return v;
}

// ---- 1. The smallest kernel

constexpr uint32_t kShared = 4096;  // bytes that a kernel shows

/// Fills shared memory with a pattern, so that what the copy leaves alone can be told.
__device__ void prepare(uint16_t* buffer, uint32_t bar) {
  for (uint32_t i = threadIdx.x; i < kShared / 2; i += blockDim.x) buffer[i] = kUntouched;
  if (threadIdx.x == 0) mbarrier_init(bar, 1);
  fence_proxy_async_shared();  // the stores above before the copy's
  __syncthreads();
}

__device__ void show(const uint16_t* buffer, uint16_t* out) {
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < kShared / 2; i += blockDim.x) out[i] = buffer[i];
}

// One thread loads one box. Everybody waits.
__global__ void load(const __grid_constant__ CUtensorMap map, int x, int y, uint32_t bytes, uint16_t* out) {
  __shared__ alignas(1024) uint16_t buffer[kShared / 2];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  prepare(buffer, bar);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(bar, bytes);
    tensor_load_2d(shared_address(buffer), &map, x, y, bar);
  }
  mbarrier_wait_parity(bar, 0);
  show(buffer, out);
}

std::vector<uint16_t> run_load(const std::vector<uint16_t>& tensor, const Matrix& m, int x, int y) {
  DeviceBuffer<uint16_t> data(tensor), out(kShared / 2);
  const uint32_t rows = (m.box_rows + m.row_step - 1) / m.row_step;
  load<<<1, 128>>>(encode(data.get(), m), x, y, rows * m.box_columns * 2, out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return out.download();
}

/// Shared memory as lines of 128 bytes, all banks once: every 16-byte chunk by the row and the chunk of the tensor that
/// it holds.
std::string picture(const std::vector<uint16_t>& shared, uint32_t lines) {
  std::string s = "  bytes    banks 0-3    4-7   8-11  12-15  16-19  20-23  24-27  28-31\n";
  for (uint32_t line = 0; line < lines; ++line) {
    s += fmt::format("  {:5}       ", line * 128);
    for (uint32_t chunk = 0; chunk < 8; ++chunk) {
      const uint16_t first = shared[line * 64 + chunk * 8];
      s += first == kUntouched ? std::string("     ..") : fmt::format("  r{:<2}c{} ", first / 1000, first % 1000 / 8);
    }
    s.erase(s.find_last_not_of(' ') + 1);
    s += "\n";
  }
  return s;
}

void part_load(Report& r) {
  const auto tensor = numbered(32, 64);
  const auto seen = run_load(tensor, {}, 0, 4);
  r.say(
      "A box of 8 rows × 64 elements of 2 bytes, from row 4 on, without swizzle. 'r5c2' is the 16-byte chunk 2 of "
      "the tensor's row 5. Rows lie one behind the other, so the same chunk of every row lies in the same banks.");
  r.picture(picture(seen, 8));
  bool holds = true;
  for (uint32_t i = 0; i < 512; ++i) holds &= seen[i] == tensor[4 * 64 + i];
  r.check("the box is there, row after row", holds);
}

// ---- 2. Swizzles

void part_swizzle(Report& r) {
  r.say(
      "A swizzle moves the 16-byte chunks of a row by the row's number: chunk c goes where address bits 6:4 are those "
      "of c XOR some of the address bits 9:7. A column of the tile is then spread over the banks, and a warp reads 8 "
      "rows of it in one pass.");
  struct Mode {
    CUtensorMapSwizzle swizzle;
    const char* name;
    uint32_t span, mask;
  };
  for (const Mode& mode : {Mode{CU_TENSOR_MAP_SWIZZLE_32B, "32B", 32, 1}, Mode{CU_TENSOR_MAP_SWIZZLE_64B, "64B", 64, 3},
                           Mode{CU_TENSOR_MAP_SWIZZLE_128B, "128B", 128, 7}}) {
    const uint32_t columns = mode.span / 2;
    const auto tensor = numbered(32, columns);
    Matrix m;
    m.columns = m.box_columns = columns;
    m.pitch = mode.span;
    m.box_rows = 1024 / mode.span;
    m.swizzle = mode.swizzle;
    const auto seen = run_load(tensor, m, 0, 0);
    r.say(fmt::format("SWIZZLE_{}: rows of {} bytes, the pattern repeats every {} bytes.", mode.name, mode.span,
                      (mode.mask + 1) * 128));
    r.picture(picture(seen, 8));
    // Written down from the manual's pattern tables: line and chunk of the line to row and chunk of the tensor.
    bool holds = true;
    for (uint32_t line = 0; line < 8; ++line)
      for (uint32_t chunk = 0; chunk < 8; ++chunk) {
        const uint32_t per_row = mode.span / 16;
        const uint32_t from = chunk ^ (line & mode.mask);
        const uint32_t row = line * (128 / mode.span) + from / per_row;
        holds &= seen[line * 64 + chunk * 8] == tensor[row * columns + from % per_row * 8];
      }
    r.check(fmt::format("SWIZZLE_{} is the manual's table", mode.name), holds);
  }
}

// ---- 3. Out of bounds

void part_bounds(Report& r) {
  const auto tensor = numbered(12, 48);
  Matrix m;
  m.columns = 44;  // rows of 44 in memory 48 wide
  m.rows = 10;
  m.pitch = 96;
  m.box_columns = 16;
  m.box_rows = 4;
  m.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  const auto corner = run_load(tensor, m, 32, 8);   // 4 columns and 2 rows too far
  const auto before = run_load(tensor, m, -8, -2);  // starts ahead of the tensor
  m.nan = true;
  const auto nan = run_load(tensor, m, 32, 8);
  r.say(
      "TMA fills the part of a box that lies outside the tensor: with zeros, or for floating-point types with 0x7ff7, "
      "a NaN. The mbarrier counts the whole box. Starts may be negative; but along dimension 0 they must be a multiple "
      "of 16 bytes.");
  const auto text = [](const std::vector<uint16_t>& v) {
    std::string s;
    for (uint32_t row = 0; row < 4; ++row) {
      s += "  ";
      for (uint32_t i = 0; i < 16; ++i)
        s += v[row * 16 + i] == 0x7ff7 ? "   NaN" : fmt::format("{:6}", v[row * 16 + i]);
      s += "\n";
    }
    return s;
  };
  r.say("From (32, 8) of a tensor of 44 × 10:");
  r.picture(text(corner));
  r.say("The same with NaN:");
  r.picture(text(nan));
  r.say("From (-8, -2):");
  r.picture(text(before));
  bool zeros = true, nans = true, negative = true;
  for (uint32_t row = 0; row < 4; ++row)
    for (uint32_t i = 0; i < 16; ++i) {
      const bool inside = row < 2 && i < 12;
      const uint16_t value = inside ? uint16_t((8 + row) * 1000 + 32 + i) : 0;
      zeros &= corner[row * 16 + i] == value;
      nans &= nan[row * 16 + i] == (inside ? value : 0x7ff7);
      negative &= before[row * 16 + i] == (row >= 2 && i >= 8 ? uint16_t((row - 2) * 1000 + i - 8) : 0);
    }
  r.check("zeros outside", zeros);
  r.check("NaNs outside, where the map asks for them", nans);
  r.check("a negative start fills the rows and columns before the tensor", negative);
}

// ---- 4. Element strides

void part_strides(Report& r) {
  const auto tensor = numbered(32, 64);
  Matrix m;
  m.box_columns = 8;
  m.box_rows = 8;
  m.row_step = 3;
  const auto seen = run_load(tensor, m, 8, 1);
  r.say(
      "elementStrides = {1, 3} with a box of 8 rows: every third row, ceil(8 / 3) = 3 of them, and 3 rows' bytes are "
      "counted.");
  bool holds = seen[24] == kUntouched;
  for (uint32_t i = 0; i < 24; ++i) holds &= seen[i] == tensor[(1 + i / 8 * 3) * 64 + 8 + i % 8];
  r.check("rows 1, 4, 7 and nothing after them", holds);
}

// ---- 5. Multicast

__global__ void __cluster_dims__(4) multicast(const __grid_constant__ CUtensorMap map, uint16_t* out) {
  __shared__ alignas(1024) uint16_t buffer[kShared / 2];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), rank = cluster_ctarank();
  prepare(buffer, bar);
  if (threadIdx.x == 0) {
    fence_mbarrier_init();
    if (rank != 2) mbarrier_arrive_expect_tx(bar, 1024);  // each CTA expects its own bytes
  }
  __syncthreads();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (rank == 0 && threadIdx.x == 0) tensor_load_2d_multicast(shared_address(buffer), &map, 0, 0, bar, 0b1011);
  if (rank != 2) mbarrier_wait_parity(bar, 0);
  show(buffer, out + rank * (kShared / 2));
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

void part_multicast(Report& r) {
  const auto tensor = numbered(32, 64);
  DeviceBuffer<uint16_t> data(tensor), out(kShared / 2 * 4);
  multicast<<<4, 128>>>(encode(data.get(), {}), out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = out.download();
  r.say(
      "One copy, several CTAs: the mask names cluster ranks, here 0, 1 and 3 (0b1011). Rank 0 issues it, once. The "
      "box, 1024 bytes, lands at the same offset in each of the three, and completes on each CTA's own mbarrier. "
      "Before, every buffer was filled with 0xeeee. The buffers of the four CTAs afterwards:");
  bool there = true, spared = true;
  Table t({"rank", "asks", "in the mask", "expects", "first words of its buffer", "words of the box"});
  for (uint32_t rank = 0; rank < 4; ++rank) {
    const uint16_t* mine = &seen[rank * (kShared / 2)];
    uint32_t came = 0;
    for (uint32_t i = 0; i < 512; ++i) came += mine[i] == tensor[i];
    if (rank == 2)
      for (uint32_t i = 0; i < 512; ++i) spared &= mine[i] == kUntouched;
    else
      there &= came == 512;
    t.row({std::to_string(rank), rank == 0 ? "yes" : "", rank == 2 ? "" : "yes", rank == 2 ? "" : "1024 bytes",
           fmt::format("{:04x} {:04x} {:04x} {:04x}", mine[0], mine[1], mine[2], mine[3]),
           fmt::format("{} of 512", came)});
  }
  r.table(t);
  r.check("ranks 0, 1 and 3 have the box", there);
  r.check("rank 2 has not", spared);
}

// ---- 6. Stores and reductions

// Shared memory holds element 100 * row + column; it is stored, or added, at (x, y).
template <bool add>
__global__ void store(const __grid_constant__ CUtensorMap map, int x, int y, uint32_t columns) {
  __shared__ alignas(1024) uint32_t buffer[kShared / 4];
  for (uint32_t i = threadIdx.x; i < kShared / 4; i += blockDim.x) buffer[i] = i / columns * 100 + i % columns;
  fence_proxy_async_shared();  // every writer fences, then one thread issues
  __syncthreads();
  if (threadIdx.x == 0) {
    if constexpr (add)
      tensor_reduce_add_2d(&map, x, y, shared_address(buffer));
    else
      tensor_store_2d(&map, x, y, shared_address(buffer));
    bulk_commit_group();
    bulk_wait_group<0>();  // .read would do for using the buffer again
  }
}

void part_store(Report& r) {
  const uint32_t columns = 20, rows = 6;
  Matrix m;
  m.columns = 18;
  m.rows = rows;
  m.pitch = columns * 4;
  m.box_columns = 8;
  m.box_rows = 4;
  m.type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  std::vector<uint32_t> host(columns * rows, 7);
  DeviceBuffer<uint32_t> data(host);
  store<false><<<1, 128>>>(encode(data.get(), m), 12, 4, 8);
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto stored = data.download();
  data.upload(host);
  store<true><<<1, 128>>>(encode(data.get(), m), 4, 1, 8);
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto added = data.download();
  r.say(
      "A store ends in a bulk group instead of an mbarrier: commit_group closes it, wait_group waits for it. Rows and "
      "columns outside the tensor are not written, but along dimension 0 TMA writes whole 16-byte chunks: the tensor "
      "here has 18 columns, and a chunk that begins at column 16 is written up to column 19.");
  bool rows_kept = true, chunk = true, sums = true;
  for (uint32_t y = 0; y < rows; ++y)
    for (uint32_t x = 0; x < columns; ++x) {
      const uint32_t value = stored[y * columns + x];
      if (y < 4 || x < 12)
        rows_kept &= value == 7;
      else
        chunk &= value == (y - 4) * 100 + x - 12;
      const bool in = y >= 1 && y < 5 && x >= 4 && x < 12;
      sums &= added[y * columns + x] == 7 + (in ? (y - 1) * 100 + x - 4 : 0);
    }
  r.check("nothing outside the box is written", rows_kept);
  r.check("the chunk at the tensor's right edge is written whole", chunk);
  r.check("cp.reduce.async.bulk.tensor.add adds element by element", sums);
}

// ---- 7. im2col

__global__ void im2col(const __grid_constant__ CUtensorMap map, int w, int n, uint16_t offset, uint32_t bytes,
                       uint16_t* out) {
  __shared__ alignas(1024) uint16_t buffer[kShared / 2];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  prepare(buffer, bar);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(bar, bytes);
    tensor_load_im2col_3d(shared_address(buffer), &map, 0, w, n, offset, bar);
  }
  mbarrier_wait_parity(bar, 0);
  show(buffer, out);
}

void part_im2col(Report& r) {
  // Images of 6 pixels with 8 channels each; a filter of 3 taps with padding 1: pixels -1 .. 6 are its bases.
  constexpr uint32_t kImages = 3, kWidth = 6, kChannels = 8, kPixels = 10;
  std::vector<uint16_t> host(kImages * kWidth * kChannels);
  for (uint32_t i = 0; i < host.size(); ++i)
    host[i] = uint16_t(i / kChannels / kWidth * 1000 + i / kChannels % kWidth * 10 + i % kChannels + 1);
  DeviceBuffer<uint16_t> data(host), out(kShared / 2);
  const auto encode_im2col =
      reinterpret_cast<decltype(&cuTensorMapEncodeIm2col)>(driver_function("cuTensorMapEncodeIm2col"));
  const cuuint64_t dims[] = {kChannels, kWidth, kImages}, strides[] = {kChannels * 2, kWidth * kChannels * 2};
  const int lower[] = {-1}, upper[] = {-1};
  const cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map;
  GEN5_CUDA(encode_im2col(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 3, data.get(), dims, strides, lower, upper, kChannels,
                          kPixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                          CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  r.say(
      "im2col lays out the input of a convolution: a column of pixels, taken along W between the corners of a box and "
      "on into the next image. An offset, the filter's tap, moves each pixel. Here the box is -1 .. 4 (lower corner "
      "-1, upper corner -1), so tap 1 reads every pixel in the middle of its filter. Pixel w of image n is shown as "
      "n:w, padding as '-'.");
  bool holds = true;
  for (uint16_t tap = 0; tap < 3; ++tap) {
    im2col<<<1, 128>>>(map, 2, 0, tap, kPixels * kChannels * 2, out.get());
    GEN5_CUDA(cudaDeviceSynchronize());
    const auto seen = out.download();
    std::string line = fmt::format("  tap {}:", tap);
    int w = 2, n = 0;
    for (uint32_t p = 0; p < kPixels; ++p) {
      const uint16_t first = seen[p * kChannels];
      line += first ? fmt::format("  {}:{}", first / 1000, first % 1000 / 10) : std::string("   - ");
      const int at = w + tap;
      const bool inside = at >= 0 && at < int(kWidth) && n < int(kImages);
      for (uint32_t c = 0; c < kChannels; ++c)
        holds &= seen[p * kChannels + c] == (inside ? host[(uint32_t(n) * kWidth + uint32_t(at)) * kChannels + c] : 0);
      if (++w > int(kWidth) - 1 - 1) w = -1, ++n;
    }
    r.picture(line + "\n");
  }
  r.check("each tap sees its pixels, and zeros where the filter leaves the image", holds);
}

// ---- 8. gather4

__global__ void gather(const __grid_constant__ CUtensorMap map, int x, int4 rows, uint16_t* out) {
  __shared__ alignas(1024) uint16_t buffer[kShared / 2];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  prepare(buffer, bar);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(bar, 4 * 128);
    tensor_gather4_2d(shared_address(buffer), &map, x, rows, bar);
  }
  mbarrier_wait_parity(bar, 0);
  show(buffer, out);
}

void part_gather(Report& r) {
  if (current_device().major < 10) {
    r.say("gather4 needs a Blackwell; this device has none. Skipped.");
    return;
  }
  const auto tensor = numbered(32, 64);
  DeviceBuffer<uint16_t> data(tensor), out(kShared / 2);
  Matrix m;
  m.box_rows = 1;
  m.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  gather<<<1, 128>>>(encode(data.get(), m), 0, make_int4(17, 3, 40, 3), out.get());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = out.download();
  r.say("Four rows of a matrix, any four: 17, 3, one that is outside (40) and 3 again. The map's box is a single row.");
  r.picture(picture(seen, 4));
  constexpr uint32_t rows[] = {17, 3, 40, 3};
  bool holds = true;
  for (uint32_t line = 0; line < 4; ++line)
    for (uint32_t chunk = 0; chunk < 8; ++chunk)
      holds &= seen[line * 64 + chunk * 8] == (rows[line] < 32 ? tensor[rows[line] * 64 + (chunk ^ line) * 8] : 0);
  r.check("the four rows, swizzled like a tile of four", holds);
}

// ---- 9. Linear copies

__global__ void __cluster_dims__(2) linear(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[256];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(bar, sizeof buffer);
  }
  __syncthreads();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (threadIdx.x == 0 && rank == 0) bulk_load(shared_address(buffer), from, sizeof buffer, bar);
  if (threadIdx.x == 0) {
    mbarrier_wait_parity(bar, 0);
    if (rank == 0)  // on to the neighbour, and its barrier
      bulk_copy_to_cluster(mapa(shared_address(buffer), 1), shared_address(buffer), sizeof buffer, mapa(bar, 1));
    else {
      bulk_store(out, shared_address(buffer), sizeof buffer);
      bulk_commit_group();
      bulk_wait_group<0>();
    }
  }
  __syncthreads();
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

void part_linear(Report& r) {
  std::vector<uint32_t> host(256);
  for (uint32_t i = 0; i < 256; ++i) host[i] = i * 77;
  DeviceBuffer<uint32_t> from(host), out(256);
  linear<<<2, 32>>>(from.get(), out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  r.say(
      "cp.async.bulk moves plain bytes, in multiples of 16: from global memory, to another CTA of the cluster, to "
      "global memory.");
  r.check("1,024 bytes went global → rank 0 → rank 1 → global", out.download() == host);
}

// ---- 10. Stages

constexpr uint32_t kStageRows = 32, kStageColumns = 64, kBoxes = 24;  // a box: 4 KiB

// A matrix, box after box, through kStages buffers: one thread loads, 128 threads sum. As the ring of chapter 01, with
// boxes instead of plain bytes.
template <uint32_t kStages, bool kStamped>
__global__ void stages(const __grid_constant__ CUtensorMap map, uint32_t* sums, uint64_t* stamps) {
  __shared__ alignas(1024) uint16_t buffer[kStages][kStageRows * kStageColumns];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  const uint32_t warp = threadIdx.x / 32, thread = threadIdx.x - 32;
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&full[s]), 1);
      mbarrier_init(shared_address(&empty[s]), 128);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  if (warp == 0) {
    if (threadIdx.x != 0) return;
    Stamps<kStamped> asked(stamps, Moment::asked);
    for (uint32_t box = 0; box < kBoxes; ++box) {
      const uint32_t s = box % kStages, bar = shared_address(&full[s]);
      mbarrier_wait_parity(shared_address(&empty[s]), (box / kStages & 1) ^ 1);
      asked.take();
      mbarrier_arrive_expect_tx(bar, sizeof buffer[0]);
      tensor_load_2d(shared_address(buffer[s]), &map, 0, int(box * kStageRows), bar);
    }
    return;
  }
  Stamps<kStamped> landed(stamps, Moment::landed, thread == 0), done(stamps, Moment::done, thread == 0);
  uint32_t sum = 0;
  for (uint32_t box = 0; box < kBoxes; ++box) {
    const uint32_t s = box % kStages;
    mbarrier_wait_parity(shared_address(&full[s]), box / kStages & 1);
    landed.take();
    for (uint32_t i = thread; i < kStageRows * kStageColumns; i += 128) sum += buffer[s][i];
    fence_proxy_async_shared();  // these reads before the load that will overwrite them
    mbarrier_arrive(shared_address(&empty[s]));
    done.take();
  }
  sums[thread] = sum;
}

template <uint32_t kStages>
void launch_stages(const CUtensorMap& map, uint32_t* sums, uint64_t* stamps) {
  if (stamps)
    stages<kStages, true><<<1, 160>>>(map, sums, stamps);
  else
    stages<kStages, false><<<1, 160>>>(map, sums, nullptr);
}

void part_stages(Report& r) {
  const auto tensor = numbered(kBoxes * kStageRows, kStageColumns);
  DeviceBuffer<uint16_t> data(tensor);
  DeviceBuffer<uint32_t> sums(128);
  Matrix m;
  m.rows = kBoxes * kStageRows;
  m.box_rows = kStageRows;
  const CUtensorMap map = encode(data.get(), m);
  std::vector<uint32_t> want(128);
  for (size_t i = 0; i < tensor.size(); ++i) want[i % 128] += tensor[i];
  const PipelineShape shape{.loads_of_a_block = 1, .worker = 1};
  const auto run = [&](auto launch) {
    sums.fill(0xff);
    const Pipeline p = run_pipeline(shape, r.stamps(), [&](uint64_t* stamps) { launch(map, sums.get(), stamps); });
    return std::pair(p, sums.download() == want);
  };
  const auto [one, one_right] = run(launch_stages<1>);
  const auto [four, four_right] = run(launch_stages<4>);
  r.say(
      "Every load has the same latency, however small it is. A kernel that loads a box, waits, and works on it gets "
      "one box in each latency. With several buffers, stages, it starts the next loads before it needs them.");
  const PipelineNames names{.work = "sum", .outputs = ""};
  r.picture(draw({picture_of(one, "One stage:", names), picture_of(four, "Four stages:", names)}, {.window = 8400}));
  r.say(legend(four, names, "boxes"));
  r.say(
      "What to see: with one stage TMA has at most one box on its way, and none while the threads sum. With four "
      "stages it has up to four, and the threads hardly wait.");
  r.check("all boxes were summed, with one stage and with four", one_right && four_right);
}

// ---- Mistakes

// mistakes.txt says which lines are wrong in which kernel. These run a kernel and say whether its numbers are right.

/// Loads a box, moves the map by a row between two uses, and loads again.
__global__ void moved_map(CUtensorMap* map, const CUtensorMap* next, uint16_t* out) {
  __shared__ alignas(1024) uint16_t buffer[kShared / 2];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  prepare(buffer, bar);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(bar, 1024);
    tensor_load_2d(shared_address(buffer), map, 0, 0, bar);
    mbarrier_wait_parity(bar, 0);
    for (int i = 0; i < 16; ++i) reinterpret_cast<uint64_t*>(map)[i] = reinterpret_cast<const uint64_t*>(next)[i];
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
    mbarrier_arrive_expect_tx(bar, 1024);
    tensor_load_2d(shared_address(buffer), map, 0, 0, bar);
    mbarrier_wait_parity(bar, 1);
  }
  show(buffer, out);  // behind __syncthreads
}

bool load_right(std::vector<uint16_t> (*run)(const std::vector<uint16_t>&, const Matrix&, int, int)) {
  const auto tensor = numbered(32, 64), seen = run(tensor, {}, 0, 4);
  return std::equal(seen.begin(), seen.begin() + 512, tensor.begin() + 4 * 64);
}

bool corner_right(std::vector<uint16_t> (*run)(const std::vector<uint16_t>&, const Matrix&, int, int)) {
  Matrix m;
  m.rows = 10;
  m.row_step = 2;
  const auto tensor = numbered(10, 64), seen = run(tensor, m, 0, 6);  // rows 6 and 8, and two outside
  return seen[64] == tensor[8 * 64] && seen[128] == 0;
}

bool moved_map_right(void (*kernel)(CUtensorMap*, const CUtensorMap*, uint16_t*)) {
  const auto tensor = numbered(32, 64);
  DeviceBuffer<uint16_t> data(tensor), out(kShared / 2);
  DeviceBuffer<CUtensorMap> map(std::vector<CUtensorMap>{encode(data.get(), {})});
  Matrix below;
  below.rows = 31;
  DeviceBuffer<CUtensorMap> next(std::vector<CUtensorMap>{encode(data.get() + 64, below)});
  kernel<<<1, 128>>>(map.get(), next.get(), out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return out.download()[0] == tensor[64];
}

bool multicast_right(void (*kernel)(CUtensorMap, uint16_t*)) {
  const auto tensor = numbered(32, 64);
  DeviceBuffer<uint16_t> data(tensor), out(kShared / 2 * 4);
  kernel<<<4, 128>>>(encode(data.get(), {}), out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto seen = out.download();
  for (uint32_t rank : {0u, 1u, 3u})
    if (!std::equal(tensor.begin(), tensor.begin() + 512, seen.begin() + rank * (kShared / 2))) return false;
  return true;
}

bool store_right(void (*kernel)(CUtensorMap, int, int, uint32_t)) {
  const uint32_t columns = 16, rows = 8;
  Matrix m;
  m.columns = columns;
  m.rows = rows;
  m.pitch = columns * 4;
  m.box_columns = m.box_rows = 8;
  m.type = CU_TENSOR_MAP_DATA_TYPE_UINT32;
  DeviceBuffer<uint32_t> data(columns * rows);
  kernel<<<1, 128>>>(encode(data.get(), m), 8, 0, 8);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto stored = data.download();
  for (uint32_t y = 0; y < rows; ++y)
    for (uint32_t x = 8; x < columns; ++x)
      if (stored[y * columns + x] != y * 100 + x - 8) return false;
  return true;
}

bool gather_right(void (*kernel)(CUtensorMap, int, int4, uint16_t*)) {
  const auto tensor = numbered(32, 64);
  DeviceBuffer<uint16_t> data(tensor), out(kShared / 2);
  Matrix m;
  m.box_rows = 1;
  kernel<<<1, 128>>>(encode(data.get(), m), 0, make_int4(17, 3, 5, 3), out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return out.download()[64] == tensor[3 * 64];
}

bool linear_right(void (*kernel)(const uint32_t*, uint32_t*)) {
  std::vector<uint32_t> host(256);
  for (uint32_t i = 0; i < 256; ++i) host[i] = i * 77;
  DeviceBuffer<uint32_t> from(host), out(256);
  kernel<<<2, 32>>>(from.get(), out.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return out.download() == host;
}

bool stages_right(void (*kernel)(CUtensorMap, uint32_t*, uint64_t*)) {
  const auto tensor = numbered(kBoxes * kStageRows, kStageColumns);
  DeviceBuffer<uint16_t> data(tensor);
  DeviceBuffer<uint32_t> sums(128);
  Matrix m;
  m.rows = kBoxes * kStageRows;
  m.box_rows = kStageRows;
  kernel<<<1, 160>>>(encode(data.get(), m), sums.get(), nullptr);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  std::vector<uint32_t> want(128);
  for (size_t i = 0; i < tensor.size(); ++i) want[i % 128] += tensor[i];
  return sums.download() == want;
}

#include "mistakes.inc"

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("02", "Bulk and tensor copies",
                  "One thread requests a box; TMA lays it out in shared memory and reports its bytes.");
  chapter.part("load", "The smallest kernel: one box", part_load);
  chapter.part("swizzle", "What lands where", part_swizzle);
  chapter.part("bounds", "Outside the tensor", part_bounds);
  chapter.part("strides", "Every n-th row", part_strides);
  chapter.part("multicast", "One copy, several CTAs", part_multicast);
  chapter.part("store", "Stores and reductions", part_store);
  chapter.part("im2col", "Pixels for a convolution", part_im2col);
  chapter.part("gather4", "Four rows of your choice", part_gather);
  chapter.part("linear", "Plain bytes", part_linear);
  chapter.part("stages", "Loads that run ahead", part_stages);
  chapter.mistakes(kMistakes);
  return chapter.run(argc, argv);
}
