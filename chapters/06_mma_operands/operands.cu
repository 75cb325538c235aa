// Where operands lie: A in Tensor Memory, and either operand the other way round.
#include <fmt/core.h>

#include <bit>

#include "chapters/06_mma_operands/kernel.cuh"
#include "chapters/06_mma_operands/parts.h"
#include "common/harness/cuda_check.h"
#include "common/harness/difference.h"
#include "common/harness/fused_sum.h"
#include "common/harness/inputs.h"
#include "common/ptx/bulk_tensor.h"

namespace {

using namespace gen5::harness;
using namespace operands;

// ---- 1. A in Tensor Memory

constexpr uint32_t kM = 128, kN = 32, kK = 16;
constexpr uint32_t kColumnsOfA = kK / 2;  // two elements to a 32-bit cell
constexpr uint32_t kSmall = instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = kM, .n = kN});

// D = A·B with A stored by threads into Tensor Memory. `a`: 128 rows of 8 words, two bf16 each; b: 32 rows of 16 bf16.
__global__ void from_tmem(const uint32_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(128) uint16_t tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 64), at_a = address + kN;  // D in columns 0 to 31, A behind it
  uint32_t words[kColumnsOfA];
  for (uint32_t i = 0; i < kColumnsOfA; ++i) words[i] = a[threadIdx.x * kColumnsOfA + i];
  tcgen05_st_32x32b(at_a + quarter(), words);  // thread t is lane t: row t
  tcgen05_wait_st();
  store_plain(tile_b, b, kN, kK);
  ready();
  if (threadIdx.x == 0) {
    tcgen05_mma_f16_tmem(address, at_a, at_address(kPlain<Element::bf16, kN>, shared_address(tile_b)), kSmall, false);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  uint32_t r[kN];
  tcgen05_ld_32x32b(r, address + quarter());
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kN; ++n) d[threadIdx.x * kN + n] = r[n];
  end(address, 64);
}

std::vector<uint32_t> run_from_tmem(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b,
                                    void (*kernel)(const uint32_t*, const uint16_t*, uint32_t*) = from_tmem) {
  std::vector<uint32_t> words(a.size() / 2);
  for (size_t i = 0; i < words.size(); ++i) words[i] = a[2 * i] | uint32_t(a[2 * i + 1]) << 16;
  DeviceBuffer<uint32_t> da(words), dd(kM * kN);
  DeviceBuffer<uint16_t> db(b);
  kernel<<<1, kThreads>>>(da.get(), db.get(), dd.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return dd.download();
}

bool from_tmem_right(void (*kernel)(const uint32_t*, const uint16_t*, uint32_t*)) {
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kM * kK, 1);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kN * kK, 2);
  return run_from_tmem(a, b, kernel) == fused_gemm({Format::bf16, kM, kN, kK, a.data(), b.data()});
}

void part_tmem(Report& r) {
  r.say(
      "A may lie in Tensor Memory instead of shared memory: [a] instead of a descriptor. Which element is where? The "
      "program sets each half of each cell of A in turn (to its lane + 1) and all others to zero. Row k of B is k + 1, "
      "so D's value gives lane and k.");
  std::vector<uint16_t> b(kN * kK);
  for (uint32_t i = 0; i < b.size(); ++i) b[i] = bf16_of(float(i % kK + 1));
  Table t({"column of A", "bits 15:0", "bits 31:16"});
  bool by_rows = true, by_two = true;
  for (uint32_t column = 0; column < kColumnsOfA; ++column) {
    std::vector<std::string> cells{std::to_string(column)};
    for (uint32_t half = 0; half < 2; ++half) {
      std::vector<uint16_t> a(kM * kK);
      for (uint32_t lane = 0; lane < kM; ++lane) a[lane * kK + 2 * column + half] = bf16_of(float(lane + 1));
      const auto d = run_from_tmem(a, b);
      const auto k = uint32_t(std::bit_cast<float>(d[0])) - 1;
      for (uint32_t lane = 0; lane < kM; ++lane)
        by_rows &= std::bit_cast<float>(d[lane * kN]) == float((lane + 1) * (k + 1));
      by_two &= k == 2 * column + half;
      cells.push_back(fmt::format("k = {}", k));
    }
    t.row(cells);
  }
  r.table(t);
  r.check("lane m is row m of A", by_rows);
  r.check("a cell holds two neighbours along K, the lower one in the lower half", by_two);
  r.check("every bit of D is the fused sum's", from_tmem_right(from_tmem));
}

// ---- 2. A product of a product

constexpr uint32_t kKeys = 64, kDepth = 64, kValues = 64;  // attention's names: S = Q·Kᵀ, O = P·V
constexpr uint32_t kAtP = 64, kAtO = 128;                  // columns: S in 0 to 63, P in 64 to 95, O in 128 to 191
constexpr uint32_t kFirst = instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = kM, .n = kKeys});
constexpr uint32_t kSecond =
    instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = kM, .n = kValues, .b_major = Major::mn});
// V as it lies in memory, a row of values for each key, is B with its N dimension contiguous.
constexpr uint64_t kV = smem_descriptor({.element = Element::bf16,
                                         .major = Major::mn,
                                         .swizzle = Swizzle::none,
                                         .leading = 8 * 16,       // to the next 8 keys
                                         .stride = kKeys * 16});  // to the next 16 bytes of values

__device__ uint32_t bf16_pair(float low, float high) {
  uint32_t word;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
  return word;
}

// q: 128 x 64, k: 64 x 64, v: 64 x 64, all row-major bf16. S goes from Tensor Memory through registers, where it
// becomes P = S / 8 in bf16, back to Tensor Memory as A of the second product. No shared memory, no copy.
__global__ void two_products(const uint16_t* q, const uint16_t* k, const uint16_t* v, uint32_t* o) {
  __shared__ alignas(128) uint16_t tile_q[kM * kDepth], tile_k[kKeys * kDepth], tile_v[kKeys * kValues];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 256), mine = address + quarter();
  store_plain(tile_q, q, kM, kDepth);
  store_plain(tile_k, k, kKeys, kDepth);
  for (uint32_t i = threadIdx.x; i < kKeys * kValues; i += blockDim.x)
    tile_v[gen5::layout::mn_major_offset(Swizzle::none, kKeys, i % kValues * 2, i / kValues) / 2] = v[i];
  ready();
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < kDepth / kK; ++i)
      tcgen05_mma_f16(address, at_address(kPlain<Element::bf16, kM>, shared_address(tile_q) + i * 2 * kM * 16),
                      at_address(kPlain<Element::bf16, kKeys>, shared_address(tile_k) + i * 2 * kKeys * 16), kFirst,
                      i > 0);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier, 0);
  uint32_t s[kKeys], p[kKeys / 2];
  tcgen05_ld_32x32b(s, mine);
  tcgen05_wait_ld();
  for (uint32_t i = 0; i < kKeys / 2; ++i)
    p[i] = bf16_pair(__uint_as_float(s[2 * i]) * 0.125f, __uint_as_float(s[2 * i + 1]) * 0.125f);
  tcgen05_st_32x32b(mine + kAtP, p);
  tcgen05_wait_st();
  ready();
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < kKeys / kK; ++i)  // 16 keys on: 8 columns of P, two groups of 8 rows of V
      tcgen05_mma_f16_tmem(address + kAtO, address + kAtP + i * kColumnsOfA,
                           at_address(kV, shared_address(tile_v) + i * 2 * 8 * 16), kSecond, i > 0);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier, 1);
  uint32_t r[kValues];
  tcgen05_ld_32x32b(r, mine + kAtO);
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kValues; ++n) o[threadIdx.x * kValues + n] = r[n];
  end(address, 256);
}

Verdict two_products_right(void (*kernel)(const uint16_t*, const uint16_t*, const uint16_t*, uint32_t*)) {
  const auto q = make_inputs(Format::bf16, Pattern::uniform, kM * kDepth, 3);
  const auto k = make_inputs(Format::bf16, Pattern::uniform, kKeys * kDepth, 4);
  const auto v = make_inputs(Format::bf16, Pattern::uniform, kKeys * kValues, 5);
  DeviceBuffer<uint16_t> dq(q), dk(k), dv(v);
  DeviceBuffer<uint32_t> o(kM * kValues);
  kernel<<<1, kThreads>>>(dq.get(), dk.get(), dv.get(), o.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  const auto s = fused_gemm({Format::bf16, kM, kKeys, kDepth, q.data(), k.data()});
  std::vector<uint16_t> p(s.size()), transposed(v.size());
  for (size_t i = 0; i < s.size(); ++i) p[i] = bf16_of(std::bit_cast<float>(s[i]) * 0.125f);
  for (uint32_t i = 0; i < v.size(); ++i) transposed[i % kValues * kKeys + i / kValues] = v[i];
  return difference("o", o.download(), fused_gemm({Format::bf16, kM, kValues, kKeys, p.data(), transposed.data()}),
                    kValues, Shown::floats);
}

void part_chain(Report& r) {
  r.say(
      "The use: the result of one product is an operand of the next. S = Q K^T is in Tensor Memory. Threads load it, "
      "compute P from it (a softmax in attention, here S / 8 in bf16), and store P as A of the second product. Its "
      "accumulator has the same lanes as that A, so each thread keeps its row throughout.");
  Table t({"", "columns", "holds"});
  t.row({"S", "0 to 63", "64 keys, f32"});
  t.row({"P", "64 to 95", "64 keys, two bf16 to a cell"});
  t.row({"O", "128 to 191", "64 values, f32"});
  r.table(t);
  r.check("O = P V, every bit", two_products_right(two_products));
  r.say(
      "Only A can lie there; B always comes from shared memory. A in Tensor Memory saves the tensor core its reads of "
      "shared memory: 128 rows of A are 4 KiB an instruction, as much as 128 columns of B.");
}

// ---- 3. Either major

constexpr uint32_t kColumns = 64, kBlock = 64;  // N, and K: 64 elements are 128 bytes

/// Where a kernel's tiles come from.
struct Sources {
  CUtensorMap a, b;
};

constexpr uint64_t kKMajor =
    smem_descriptor({.element = Element::bf16, .major = Major::k, .swizzle = Swizzle::b128, .stride = 8 * 128});
constexpr uint64_t kMnMajor = smem_descriptor({.element = Element::bf16,
                                               .major = Major::mn,
                                               .swizzle = Swizzle::b128,
                                               .leading = kBlock * 128,  // to the next 64 of M: the next box
                                               .stride = 8 * 128});      // to the next 8 k
/// From one MMA to the next, 16 elements along K: 32 bytes of a row, or 16 rows.
constexpr uint32_t step_of(Major m) { return m == Major::k ? 32 : 16 * 128; }

template <Major kA, Major kB>
constexpr uint32_t kEither = instruction_descriptor(
    {.a = Element::bf16, .b = Element::bf16, .m = kM, .n = kColumns, .a_major = kA, .b_major = kB});

// D = A·B with tiles as TMA brings them from matrices that lie either way round. `lines`: the first KiB of A's tile.
template <Major kA, Major kB>
__global__ void either(const __grid_constant__ Sources from, uint32_t* d, uint16_t* lines) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ uint64_t barrier, loaded;
  __shared__ uint32_t slot;
  constexpr uint32_t kBytesA = kM * 128, kBytesB = kColumns * 128;
  const uint32_t tile_a = shared_address(shared), tile_b = tile_a + kBytesA, bar = shared_address(&loaded);
  if (threadIdx.x == 0) mbarrier_init(bar, 1);
  const uint32_t address = begin(&slot, &barrier, 64);
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(bar, kBytesA + kBytesB);
    tensor_load_2d(tile_a, &from.a, 0, 0, bar);
    if (kA == Major::mn) tensor_load_2d(tile_a + kBlock * 128, &from.a, 64, 0, bar);  // rows 64 to 127 of A
    tensor_load_2d(tile_b, &from.b, 0, 0, bar);
    mbarrier_wait_parity(bar, 0);
    const uint64_t da = kA == Major::k ? kKMajor : kMnMajor, db = kB == Major::k ? kKMajor : kMnMajor;
    for (uint32_t i = 0; i < kBlock / kK; ++i)
      tcgen05_mma_f16(address, at_address(da, tile_a + i * step_of(kA)), at_address(db, tile_b + i * step_of(kB)),
                      kEither<kA, kB>, i > 0);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  mbarrier_wait_parity(bar, 0);
  for (uint32_t i = threadIdx.x; i < 512; i += kThreads) lines[i] = reinterpret_cast<uint16_t*>(shared)[i];
  uint32_t r[kColumns];
  tcgen05_ld_32x32b(r, address + quarter());
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kColumns; ++n) d[threadIdx.x * kColumns + n] = r[n];
  end(address, 64);
}

/// rows × columns, the other way round.
std::vector<uint16_t> transposed(const std::vector<uint16_t>& m, uint32_t columns) {
  std::vector<uint16_t> t(m.size());
  const uint32_t rows = uint32_t(m.size() / columns);
  for (uint32_t i = 0; i < m.size(); ++i) t[i % columns * rows + i / columns] = m[i];
  return t;
}

/// What a run left: D, and the first KiB of A's tile.
struct EitherRun {
  std::vector<uint32_t> d;
  std::vector<uint16_t> lines;
};

/// a: m × k, b: n × k, row-major; where a major is MN they are turned round before they go to the device.
template <Major kA, Major kB>
EitherRun run_either(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b) {
  DeviceBuffer<uint16_t> da(kA == Major::k ? a : transposed(a, kBlock)), db(kB == Major::k ? b : transposed(b, kBlock));
  DeviceBuffer<uint32_t> d(kM * kColumns);
  DeviceBuffer<uint16_t> lines(512);
  const auto map = [](uint16_t* data, Major major, uint32_t rows) {
    return major == Major::k ? matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, rows, kBlock, kBlock, rows, 64,
                                          CU_TENSOR_MAP_SWIZZLE_128B)
                             : matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, kBlock, rows, rows, kBlock, 64,
                                          CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const uint32_t bytes = (kM + kColumns) * 128;
  either<kA, kB><<<1, kThreads, bytes>>>({map(da.get(), kA, kM), map(db.get(), kB, kColumns)}, d.get(), lines.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return {d.download(), lines.download()};
}

/// The first lines of A's tile: which elements each 16-byte piece holds.
template <Major kA>
std::string lines_of_a() {
  std::vector<uint16_t> a(kM * kBlock);
  for (uint32_t i = 0; i < a.size(); ++i) a[i] = uint16_t(i);  // m · 64 + k
  const auto lines = run_either<kA, Major::k>(a, std::vector<uint16_t>(kColumns * kBlock)).lines;
  std::string text = kA == Major::k ? "  A[m][k] in memory, K-major:\n" : "  A[k][m] in memory, M-major:\n";
  for (uint32_t line = 0; line < 3; ++line) {
    text += fmt::format("    bytes {:>3}-{:<3} ", line * 128, line * 128 + 127);
    const uint16_t* words = &lines[line * 64];
    text += kA == Major::k ? fmt::format("m {}, k ", words[0] / 64) : fmt::format("k {}, m ", words[0] % 64);
    for (uint32_t piece = 0; piece < 8; ++piece) {
      const uint32_t first = words[piece * 8], last = words[piece * 8 + 7];
      text += kA == Major::k ? fmt::format(" {:>2}-{:<2}", first % 64, last % 64)
                             : fmt::format(" {:>2}-{:<2}", first / 64, last / 64);
    }
    text += "\n";
  }
  return text;
}

void part_majors(Report& r) {
  r.say(
      "An operand is K-major if its neighbours along K are neighbours in memory. The tensor core takes both "
      "majornesses, so no thread has to transpose: TMA loads rows as they lie, the descriptor says how far it is from "
      "row to row, and bits 15 and 16 of the instruction descriptor state the majorness of A and B. The same tile of "
      "A, 128 x 64, after a load with the 128-byte swizzle:");
  r.picture(lines_of_a<Major::k>() + "\n" + lines_of_a<Major::mn>());
  const auto a = make_inputs(Format::bf16, Pattern::uniform, kM * kBlock, 6);
  const auto b = make_inputs(Format::bf16, Pattern::uniform, kColumns * kBlock, 7);
  const auto want = fused_gemm({Format::bf16, kM, kColumns, kBlock, a.data(), b.data()});
  Table t({"", "boxes of A", "LBO", "SBO", "16 on along K", "bit 15", "bit 16", "equal"});
  bool all = true;
  const auto row = [&](const char* name, Major ma, Major mb, const EitherRun& run) {
    all &= run.d == want;
    const bool k = ma == Major::k;
    t.row({name, k ? "1, 128 rows of m" : "2, 64 rows of k", k ? "-" : std::to_string(kBlock * 128), "1024",
           fmt::format("+{} bytes", step_of(ma)), std::to_string(uint32_t(ma)), std::to_string(uint32_t(mb)),
           run.d == want ? "yes" : "NO"});
  };
  row("A[m][k] B[n][k]", Major::k, Major::k, run_either<Major::k, Major::k>(a, b));
  row("A[m][k] B[k][n]", Major::k, Major::mn, run_either<Major::k, Major::mn>(a, b));
  row("A[k][m] B[n][k]", Major::mn, Major::k, run_either<Major::mn, Major::k>(a, b));
  row("A[k][m] B[k][n]", Major::mn, Major::mn, run_either<Major::mn, Major::mn>(a, b));
  r.table(t);
  r.check("four ways round, one product", all, "bit for bit");
  r.say(
      "128 bytes hold 64 elements of M, so a tile of 128 is two boxes, and LBO is the distance between them. A in "
      "Tensor Memory is K-major. tf32 is MN-major only with its own swizzle (chapter 05).");
}

#include "operands_mistakes.inc"

}  // namespace

void add_operands(Chapter& chapter) {
  chapter.part("tmem", "A in Tensor Memory", part_tmem);
  chapter.part("chain", "A product of a product", part_chain);
  chapter.part("majors", "Either operand, either way round", part_majors);
  chapter.mistakes(kMistakes);
}
