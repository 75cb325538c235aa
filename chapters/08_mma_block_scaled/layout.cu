// Which scale multiplies what: drawn from products whose scales are all different.
#include <fmt/core.h>

#include <bit>

#include "chapters/08_mma_block_scaled/parts.h"
#include "chapters/08_mma_block_scaled/run.cuh"
#include "common/harness/difference.h"
#include "common/harness/inputs.h"

namespace {

using namespace gen5::harness;
using namespace scaled;

/// All codes `code`, all scales 1.
Matrix constant(Narrow format, uint32_t rows, uint32_t depth, uint32_t block, uint8_t code, bool ue4m3 = false) {
  Matrix m{format, ue4m3, rows, depth, block, {}, {}};
  m.codes.assign(size_t(rows) * depth, code);
  m.scales.assign(size_t(rows) * m.blocks(), ue4m3 ? 0x38 : 127);
  return m;
}
constexpr uint8_t kOneE4m3 = 0x38, kOneE2m1 = 2;

// ---- 1. Rows

/// Bytes of a chunk as the kernel is given them: one product of ones over K = 32, whose chunks these are.
std::vector<float> run_chunks(const std::vector<uint8_t>& a_chunk, const std::vector<uint8_t>& b_chunk, uint32_t id) {
  const Matrix ones = constant(Narrow::e4m3, kM, 32, 32, kOneE4m3);
  DeviceBuffer<uint8_t> a(ones.bytes(false)), b(ones.bytes(false)), sa(a_chunk), sb(b_chunk);
  DeviceBuffer<float> d(kM * kM);
  const uint32_t shared = shared_bytes(kM, 1, 1);
  GEN5_CUDA(cudaFuncSetAttribute(product<ScaledKind::mxf8f6f4>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  // The kernel begins at id 0; `id` is added to both.
  product<ScaledKind::mxf8f6f4><<<1, kM, shared>>>({a.get(), b.get(), sa.get(), sb.get(), kM, 1, 1},
                                                   with_scales(kMxf8, id, id), reinterpret_cast<uint32_t*>(d.get()));
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return d.download();
}

/// Which line and word of the chunk row m's scale came from. D = 32 · 2^(code − 127).
uint32_t code_of(float d) { return uint32_t(std::lround(std::log2(d))) - 5 + 127; }

void part_rows(Report& r) {
  r.say(
      "Scale factors of A and of B lie in Tensor Memory, a byte each. tcgen05.cp.32x128b.warpx4 (chapter 07) loads "
      "them: a chunk of 512 bytes, 32 lines of 16, line i to lane i of every quarter, four bytes to a column. Which "
      "byte multiplies which row? The program sets byte 0 of line i, word c to a power of two of its own. A and B are "
      "ones, so each row of D shows the scale that it got:");
  std::vector<uint8_t> ones(kScaleChunk, 127), numbered(kScaleChunk, 127);
  for (uint32_t line = 0; line < 32; ++line)
    for (uint32_t word = 0; word < 4; ++word) numbered[line * 16 + word * 4] = uint8_t(64 + word * 32 + line);
  const auto by_a = run_chunks(numbered, ones, 0), by_b = run_chunks(ones, numbered, 0);
  Table t({"line of the chunk", "word 0", "word 1", "word 2", "word 3"});
  bool rows = true, columns = true;
  std::vector<std::vector<uint32_t>> found(32, std::vector<uint32_t>(4, ~0u));
  for (uint32_t m = 0; m < kM; ++m) {
    const uint32_t code = code_of(by_a[m * kM]) - 64;
    found[code % 32][code / 32] = m;
    rows &= code % 32 == m % 32 && code / 32 == m / 32;
    const uint32_t other = code_of(by_b[m]) - 64;
    columns &= other == code;
  }
  for (const uint32_t line : {0u, 1u, 2u, 31u}) {
    std::vector<std::string> cells{std::to_string(line)};
    for (uint32_t word = 0; word < 4; ++word) cells.push_back(fmt::format("row {}", found[line][word]));
    t.row(cells);
    if (line == 2) t.row({"...", "", "", "", ""});
  }
  r.table(t);
  r.check("the scale of row m of A is in line m % 32, word m / 32", rows);
  r.check("and that of column n of B in line n % 32, word n / 32", columns);

  std::string bytes;
  bool ids = true;
  for (uint32_t id = 0; id < 4; ++id) {
    std::vector<uint8_t> four(kScaleChunk, 127);
    for (uint32_t i = 0; i < kScaleChunk; ++i) four[i] = uint8_t(120 + i % 4);
    const uint32_t code = code_of(run_chunks(four, ones, id)[0]);
    bytes += fmt::format("    id {}: byte {}\n", id, code - 120);
    ids &= code - 120 == id;
  }
  r.say("Each word has four bytes, and the ids in the instruction descriptor (bits 30:29 for A, 5:4 for B) say which:");
  r.picture(bytes);
  r.check("id i is byte i", ids);
}

// ---- 2. Along K

/// Which of the bytes multiplies the elements from `k` on: all scales are different, and A is zero elsewhere.
template <ScaledKind kKind>
std::string blocks_of(uint32_t idesc, bool& right) {
  constexpr uint32_t depth = depth_of(kKind), block = block_of(kKind);
  const Narrow format = kKind == ScaledKind::mxf8f6f4 ? Narrow::e4m3 : Narrow::e2m1;
  const uint8_t one = kKind == ScaledKind::mxf8f6f4 ? kOneE4m3 : kOneE2m1;
  const bool ue4m3 = kKind == ScaledKind::mxf4nvf4;
  std::string text;
  uint32_t from = 0, last = ~0u;
  for (uint32_t k = 0; k <= depth; ++k) {
    uint32_t byte = ~0u;
    if (k < depth) {
      Matrix a = constant(format, kM, depth, block, 0, ue4m3);
      const Matrix b = constant(format, 8, depth, block, one, ue4m3);
      for (uint32_t m = 0; m < kM; ++m) a.codes[m * depth + k] = one;
      for (uint32_t i = 0; i < a.scales.size(); ++i)  // 1, 2, 4, 8
        a.scales[i] = uint8_t((ue4m3 ? 0x38 : 127) + i % a.blocks() * (ue4m3 ? 8 : 1));
      const float d = run_product<kKind>(a, b, with_n(idesc, 8))[0];
      byte = uint32_t(std::lround(std::log2(d)));
      right &= byte == k / block;
    }
    if (k && byte != last) {
      text += fmt::format("  k {:>2}-{:<2} byte {}", from, k - 1, last);
      from = k;
    }
    last = byte;
  }
  return text + "\n";
}

void part_along(Report& r) {
  bool right = true;
  std::string text = "    mxf8f6f4, 32 deep:           " + blocks_of<ScaledKind::mxf8f6f4>(kMxf8, right);
  text += "    mxf4, 64 deep (2X):          " + blocks_of<ScaledKind::mxf4>(kMxf4, right);
  text += "    mxf4nvf4, 64 deep (4X):      " + blocks_of<ScaledKind::mxf4nvf4>(kNvf4, right);
  r.say(
      "One instruction of kind mxf8f6f4 uses one scale of a row, mxf4 two, mxf4nvf4 with 4X four: neighbouring bytes "
      "of the word, from the id on. The program sets one element of A at a time to find out which:");
  r.picture(text);
  r.check("scale j of an instruction multiplies its j-th block of K", right);
  r.say(
      "So a chunk lasts for four instructions of mxf8f6f4 (ids 0, 1, 2, 3), for two of mxf4 (ids 0 and 2), and for "
      "one of mxf4nvf4 (id 0).");
}

// ---- 3. An unusual shape

/// Codes and scales at random, small enough that sums are exact in f32.
Matrix random_matrix(Narrow format, bool ue4m3, uint32_t rows, uint32_t depth, uint32_t block, uint64_t seed) {
  Matrix m{format, ue4m3, rows, depth, block, {}, {}};
  Random random(seed);
  m.codes.resize(size_t(rows) * depth);
  for (uint8_t& code : m.codes) {
    const double x = 0.25 + (random.unit() + 1) / 2 * 1.75;
    code = narrow_of(format, random.bits() & 1 ? x : -x);
  }
  m.scales.resize(size_t(rows) * m.blocks());
  for (uint8_t& s : m.scales) s = uint8_t(ue4m3 ? 0x34 + random.below(4) * 4 : 126 + random.below(4));
  return m;
}

/// As bits of f32; of two zeros there is one.
template <class Number>
std::vector<uint32_t> bits_of(const std::vector<Number>& numbers) {
  std::vector<uint32_t> out;
  for (const Number x : numbers) out.push_back(std::bit_cast<uint32_t>(float(x) + 0.0f));
  return out;
}

template <ScaledKind kKind>
Verdict product_right(Narrow format, uint32_t n, uint32_t depth, uint32_t idesc, Kernel kernel = product<kKind>) {
  const bool ue4m3 = kKind == ScaledKind::mxf4nvf4;
  const Matrix a = random_matrix(format, ue4m3, kM, depth, block_of(kKind), 81);
  const Matrix b = random_matrix(format, ue4m3, n, depth, block_of(kKind), 82);
  const auto d = run_product<kKind>(a, b, with_n(idesc, n), kernel);
  return difference("d", bits_of(d), bits_of(multiply(a, b)), n, Shown::floats);
}

void part_unusual(Report& r) {
  r.say(
      "A shape that is not a power of two: mxf8f6f4, N = 48, K = 160. A column of B has five scales. B's scales are "
      "two chunks: scales 0 to 3 of every column, then scale 4 and padding. In a chunk, lines 0 to 31 have column n = "
      "line in word 0 and column 32 + line in word 1 (for lines below 16); the rest is padding:");
  Matrix b = constant(Narrow::e4m3, 48, 160, 32, kOneE4m3);
  for (uint32_t i = 0; i < b.scales.size(); ++i) b.scales[i] = uint8_t(i);  // column · 5 + block
  const auto chunks = b.chunks(0xff);
  std::string text;
  for (const uint32_t chunk : {0u, 1u})
    for (const uint32_t line : {0u, 1u, 15u, 16u}) {
      text += fmt::format("    chunk {} line {:>2} ", chunk, line);
      for (uint32_t byte = 0; byte < 16; ++byte) {
        const uint8_t code = chunks[chunk * 512 + line * 16 + byte];
        text += byte % 4 ? " " : " | ";
        text += code == 0xff ? std::string("  .  ") : fmt::format("n{:<2}.{}", code / 5, code % 5);
      }
      text.erase(text.find_last_not_of(' ') + 1);
      text += "\n";
    }
  r.picture(text + "\n    n17.3: the scale of column 17, elements 96 to 127 of K.\n");
  bool offsets = true;
  for (uint32_t n = 0; n < 48; ++n)
    for (uint32_t s = 0; s < 5; ++s) offsets &= chunks[s / 4 * 512 + scale_offset(n, s % 4)] == b.scales[n * 5 + s];
  r.check("byte 16 (n % 32) + 4 (n / 32) + s % 4 of chunk s / 4", offsets);
  r.table([&] {
    Table t({"instruction", "K", "chunk", "scale ids"});
    for (uint32_t step = 0; step < 5; ++step)
      t.row({std::to_string(step), fmt::format("{} to {}", step * 32, step * 32 + 31), std::to_string(step / 4),
             std::to_string(step % 4)});
    return t;
  }());
  r.check("128 x 48 over K = 160, mxf8f6f4 in e4m3: every sum",
          product_right<ScaledKind::mxf8f6f4>(Narrow::e4m3, 48, 160, kMxf8));
  r.check("128 x 40 over K = 320, mxf4: every sum", product_right<ScaledKind::mxf4>(Narrow::e2m1, 40, 320, kMxf4));
  r.check("128 x 200 over K = 192, mxf4nvf4: every sum",
          product_right<ScaledKind::mxf4nvf4>(Narrow::e2m1, 200, 192, kNvf4));
}

/// mxf8f6f4, N = 48, K = 160.
Verdict unusual_right(Kernel kernel) {
  return product_right<ScaledKind::mxf8f6f4>(Narrow::e4m3, 48, 160, kMxf8, kernel);
}

#include "mistakes.inc"

}  // namespace

void add_layouts(Chapter& chapter) {
  chapter.part("rows", "Which byte multiplies which row", part_rows);
  chapter.part("along", "Scales along K", part_along);
  chapter.part("unusual", "A shape that is no power of two", part_unusual);
  chapter.mistakes(kMistakes);
}
