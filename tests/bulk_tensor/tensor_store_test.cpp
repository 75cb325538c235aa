// Tensor stores and reductions of every mode against the reference.
#include "tests/bulk_tensor/tensor_fixture.h"

namespace tinygpu::test {
namespace {

class TensorStore : public TensorCopy {
 protected:
  TensorStore() : TensorCopy(store_kernels()) {}
  void place(Case& c) {
    for (int i = 1; i < c.map.rank; ++i) c.at[i] = pick(0, 8);
    c.at[0] = pick(0, 6) * 16 / unit_bytes(c.map);
  }
  /// Bytes that are finite floats of `type` with exponents that sums care about.
  std::vector<uint8_t> finite(int type, size_t bytes) {
    std::vector<uint8_t> out(bytes);
    const size_t size = type == 6 || type == 10 ? 2 : type == 9 ? 8 : 4;
    for (size_t i = 0; i < bytes; i += size) {
      const uint64_t noise = uint64_t(random_()) << 32 | random_();
      const unsigned exponent = unsigned(pick(0, 24));
      uint64_t v = 0;
      if (type == 6) v = (noise & 0x83ff) | exponent << 10;
      if (type == 10) v = (noise & 0x807f) | (pick(0, 3) ? 110 + exponent : 0) << 7;
      if (type == 7 || type == 8) v = (noise & 0x807fffff) | uint64_t(pick(0, 3) ? 110 + exponent : 0) << 23;
      if (type == 9) v = (noise & 0x800fffffffffffff) | uint64_t(1000 + exponent) << 52;
      std::memcpy(out.data() + i, &v, size);
    }
    return out;
  }
};

TEST_F(TensorStore, RandomTiles) {
  for (int n = 0; n < 200 && !HasFailure(); ++n) {
    const int rank = pick(1, 5), type = pick(0, 10);
    Case c = random_case(rank, type);
    c.map.tf32 = (type == 7 || type == 8) && pick(0, 1);  // stores convert nothing
    place(c);
    compare_store("store" + std::to_string(rank), c, "case " + std::to_string(n));
  }
}

TEST_F(TensorStore, RandomIm2col) {
  for (int n = 0; n < 100 && !HasFailure(); ++n) {
    const int rank = pick(3, 5);
    Case c = random_im2col(rank, pick(0, 10));
    c.mode = Mode::im2col;
    MapFields& m = c.map;
    for (int i = 1; i < rank - 1; ++i) {
      m.step[i] = 1;
      m.lower[i - 1] = pick(0, 2);
      m.upper[i - 1] = pick(-2, 0);
      if (int(m.dim[i]) - 1 + m.upper[i - 1] < m.lower[i - 1]) m.lower[i - 1] = m.upper[i - 1] = 0;
      c.at[i] = pick(m.lower[i - 1], int(m.dim[i]) - 1 + m.upper[i - 1]);
    }
    m.step[rank - 1] = 1;
    c.at[0] = pick(0, 4) * 16 / unit_bytes(m);
    c.at[rank - 1] = pick(0, int(m.dim[rank - 1]));
    compare_store("im2col_store" + std::to_string(rank), c, "case " + std::to_string(n));
  }
}

TEST_F(TensorStore, RandomScatter4) {
  for (int n = 0; n < 100 && !HasFailure(); ++n) {
    Case c = random_case(2, pick(0, 10));
    c.mode = Mode::gather4;
    c.map.box[1] = 1;
    c.at[0] = pick(0, 6) * 16 / unit_bytes(c.map);
    const int first = pick(0, 12);
    for (int i = 1; i < 5; ++i) c.at[i] = (first + 7 * i) % 13;  // four different rows, some outside
    compare_store("scatter4", c, "case " + std::to_string(n));
  }
}

TEST_F(TensorStore, RandomInterleaved) {
  for (int n = 0; n < 100 && !HasFailure(); ++n) {
    Case c;
    if (random_interleaved(c, 1, 0))
      compare_store("store" + std::to_string(c.map.rank), c, "case " + std::to_string(n));
  }
}

TEST_F(TensorStore, SixBitElementsLoseTheirUpperBits) {
  // b6p2x16: 16 bytes of shared memory become 12 of global memory, bits 5:0 of each.
  Case c;
  c.map = matrix_map(13, {128, 4}, 96, {128, 2});
  c.at[1] = 1;
  std::vector<uint8_t> source(kShared), want = memory_;
  for (auto& b : source) b = uint8_t(random_());
  std::memcpy(gpu_.gpu.memory.translate(out_, kShared), source.data(), kShared);
  for (uint32_t row = 0; row < 2; ++row)
    for (uint32_t group = 0; group < 8; ++group) {
      // Four elements fill three bytes.
      const uint8_t* e = &source[row * 128 + group * 16];
      uint8_t* to = &want[(row + 1) * 96 + group * 12];
      for (int q = 0; q < 4; ++q, e += 4, to += 3) {
        const uint32_t word = uint32_t(e[0] % 64) + 64u * (e[1] % 64) + 4096u * (e[2] % 64) + 262144u * (e[3] % 64);
        to[0] = uint8_t(word);
        to[1] = uint8_t(word >> 8);
        to[2] = uint8_t(word >> 16);
      }
    }
  launch("store2", c);
  compare(want, gpu_.download<uint8_t>(address_, want.size()), "16U6");
}

TEST_F(TensorStore, EveryReductionOnEveryTypeThatItTakes) {
  const std::pair<const char*, std::vector<int>> operations[] = {{"add", {2, 3, 4, 6, 7, 8, 9, 10}},
                                                                 {"min", {2, 3, 4, 5, 6, 10}},
                                                                 {"max", {2, 3, 4, 5, 6, 10}},
                                                                 {"inc", {2}},
                                                                 {"dec", {2}},
                                                                 {"and", {2, 3, 4}},
                                                                 {"or", {2, 3, 4}},
                                                                 {"xor", {2, 3, 4}}};
  const std::vector<uint8_t> random = memory_;
  for (const auto& [op, types] : operations)
    for (const int type : types)
      for (int n = 0; n < 12 && !HasFailure(); ++n) {
        const int rank = pick(1, 5);
        Case c = random_case(rank, type);
        place(c);
        std::vector<uint8_t> source;
        memory_ = random;
        if (type >= 6) {
          memory_ = finite(type, memory_.size());
          source = finite(type, kShared);
        }
        if (std::string(op) == "inc" || std::string(op) == "dec") {
          // Small numbers, so that both sides of the comparison happen.
          source.resize(kShared);
          for (size_t i = 0; i < kShared; ++i) source[i] = i % 4 ? 0 : uint8_t(pick(0, 5));
          for (size_t i = 0; i < memory_.size(); ++i) memory_[i] = i % 4 ? 0 : uint8_t(pick(0, 5));
        }
        compare_store("reduce_" + std::string(op) + std::to_string(rank), c,
                      std::string(op) + " of type " + std::to_string(type), op, source);
      }
}

TEST_F(TensorStore, ReductionsInIm2colAndScatter4Mode) {
  Case c = random_case(2, 3);
  c.mode = Mode::gather4;
  c.map.box[1] = 1;
  c.map.dim[1] = 9;
  for (int i = 1; i < 5; ++i) c.at[i] = 9 - 2 * i;
  compare_store("reduce_scatter4", c, "scatter4", "add");
  Case p = random_im2col(3, 2);
  p.mode = Mode::im2col;
  p.map.lower[0] = 1;
  p.map.upper[0] = -1;
  p.map.step[1] = p.map.step[2] = 1;
  p.map.pixels = 7;
  p.at[1] = 1;
  compare_store("reduce_im2col3", p, "im2col", "add");
}

}  // namespace
}  // namespace tinygpu::test
