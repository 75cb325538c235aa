// Runs one tensor copy on a GPU whose memory is random bytes, and compares with the reference.
#pragma once
#include <gtest/gtest.h>

#include <random>

#include "tests/bulk_tensor/kernels.h"
#include "tests/bulk_tensor/reference.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {

class TensorCopy : public ::testing::Test {
 protected:
  explicit TensorCopy(const std::string& kernels) : gpu_(kernels) {
    gpu_.dynamic_shared = kShared;
    memory_.resize(1 << 20);
    for (auto& b : memory_) b = uint8_t(random_());
    address_ = gpu_.upload(memory_);
    out_ = gpu_.buffer<uint8_t>(kShared + 8);
  }
  int pick(int low, int high) { return low + int(random_() % unsigned(high - low + 1)); }

  void launch(const std::string& kernel, Case& c) {
    c.map.address = address_;
    gpu_.launch(kernel, {1, 1, 1}, {128, 1, 1}, make_map(c.map), out_, kShared, c.box_offset, c.at[0], c.at[1], c.at[2],
                c.at[3], c.at[4], uint16_t(c.offset[0]), uint16_t(c.offset[1]), uint16_t(c.offset[2]));
  }
  /// What shared memory holds after a load, and how many bytes the mbarrier counted.
  Expected loaded(const std::string& kernel, Case c) {
    launch(kernel, c);
    Expected e;
    e.shared = gpu_.download<uint8_t>(out_, kShared);
    const uint64_t word = gpu_.download<uint64_t>(out_ + kShared, 1)[0];
    int64_t field = int64_t(word >> 21 & 0x1fffff);
    if (field >= 1 << 20) field -= 1 << 21;
    e.bytes = uint64_t(0x80000 + field);
    return e;
  }
  void compare_load(const std::string& kernel, const Case& c, const std::string& what) {
    const Expected want = expected_load(c, memory_), got = loaded(kernel, c);
    EXPECT_EQ(want.bytes, got.bytes) << what;
    compare(want.shared, got.shared, what);
  }
  /// Stores, or reduces, random bytes (or `source`) from shared memory, and compares all of memory.
  void compare_store(const std::string& kernel, Case c, const std::string& what, const std::string& operation = {},
                     std::vector<uint8_t> source = {}) {
    if (source.empty()) {
      source.resize(kShared);
      for (auto& b : source) b = uint8_t(random_());
    }
    std::memcpy(gpu_.gpu.memory.translate(out_, kShared), source.data(), kShared);
    std::vector<uint8_t> want = memory_;
    std::memcpy(gpu_.gpu.memory.translate(address_, memory_.size()), memory_.data(), memory_.size());
    expected_store(c, source, want, operation);
    launch(kernel, c);
    compare(want, gpu_.download<uint8_t>(address_, want.size()), what);
    EXPECT_TRUE(gpu_.reports.empty()) << what << ": " << diagnosis::render(gpu_.reports[0]);
  }
  void compare(const std::vector<uint8_t>& want, const std::vector<uint8_t>& got, const std::string& what) {
    for (size_t i = 0; i < want.size(); ++i)
      if (want[i] != got[i]) {
        ADD_FAILURE() << what << ": byte " << i << " is " << int(got[i]) << ", not " << int(want[i]);
        return;
      }
  }

  /// A tensor of at most a few KiB without overlapping rows, dims and coordinates small enough to fall off its edges.
  Case random_case(int rank, int type) {
    Case c;
    MapFields& m = c.map;
    m.rank = rank;
    m.type = type;
    m.swizzle = pick(0, 3);
    if (m.swizzle == 3 && pick(0, 1)) m.atomicity = pick(0, 3);
    m.large = rank % 2 == 0;  // nothing depends on it
    const int size = unit_bytes(m);
    constexpr int spans[] = {256, 32, 64, 128};
    m.box[0] = std::min(256, 16 * pick(1, spans[m.swizzle] / 16) / size);
    m.dim[0] = uint64_t(pick(1, 80));
    uint64_t stride = (m.dim[0] * uint64_t(size) + 15) / 16 * 16;
    for (int i = 1; i < rank; ++i) {
      m.dim[i] = uint64_t(pick(1, 9));
      m.stride[i] = stride + 16 * uint64_t(pick(0, 2));
      stride = m.stride[i] * m.dim[i];
      m.box[i] = pick(1, 5);
      m.step[i] = pick(0, 2) ? 1 : pick(1, 3);
    }
    c.box_offset = 128 * uint32_t(pick(0, 9));
    return c;
  }
  /// The same as an im2col map, its corners inside the limits of the rank.
  Case random_im2col(int rank, int type) {
    Case c = random_case(rank, type);
    MapFields& m = c.map;
    m.im2col = true;
    m.channels = m.box[0];
    m.pixels = pick(1, 60);
    for (int i = 1; i < rank - 1; ++i) {
      m.dim[i] = uint64_t(pick(5, 9));
      m.lower[i - 1] = pick(-2, 2);
      m.upper[i - 1] = pick(-2, 2);
    }
    for (int i = 1; i < rank; ++i)
      m.stride[i] = i == 1 ? (m.dim[0] * uint64_t(unit_bytes(m)) + 15) / 16 * 16 : m.stride[i - 1] * m.dim[i - 1];
    return c;
  }
  /// A map of interleaved slices, of which a copy takes each or up to every `most`-th, from coordinates of at least
  /// `lowest` on; false where the tensor does not fit into memory.
  bool random_interleaved(Case& c, int most, int lowest) {
    const int rank = pick(3, 5);
    c = random_case(rank, pick(0, 10));
    MapFields& m = c.map;
    m.interleave = pick(1, 2);
    m.swizzle = m.interleave == 2 ? 1 : 0;
    m.atomicity = 0;
    if (most > 1) m.step[0] = pick(1, most);
    m.box[0] = pick(1, 8);
    m.dim[0] = uint64_t(pick(1, 9));
    uint64_t stride = m.dim[0] * 32;
    for (int i = 1; i < rank; ++i) {
      m.stride[i] = stride;
      stride *= m.dim[i];
    }
    if (stride > memory_.size()) return false;
    for (int i = 0; i < rank; ++i) c.at[i] = pick(lowest, 5);
    return true;
  }

  std::mt19937 random_{11};
  RunPtx gpu_;
  std::vector<uint8_t> memory_;
  uint64_t address_ = 0, out_ = 0;
};

}  // namespace tinygpu::test
