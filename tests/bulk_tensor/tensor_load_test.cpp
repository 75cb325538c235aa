// Tensor loads against a model that works element by element from the text of the manual and of the H200's
// measurements.
#include <gtest/gtest.h>

#include <random>

#include "tests/bulk_tensor/kernels.h"
#include "tests/bulk_tensor/map_bits.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

constexpr uint32_t kShared = 64 * 1024;
// Where `buffer` lies: the first multiple of 1024 behind the window's reserved KiB and the 8-byte mbarrier.
constexpr uint32_t kBufferOffset = 2048;

int element_bytes(int type) {
  constexpr int bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2};
  return bytes[type];
}

uint32_t swizzled(uint32_t a, int swizzle, int atomicity) {
  // The pattern tables of PTX ISA 5.5.7 in words: which address bits select the row, which they flip.
  const auto bit = [&](int i) { return a >> i & 1; };
  if (swizzle == 1) return a ^ (bit(7) << 4);
  if (swizzle == 2) return a ^ (bit(7) << 4) ^ (bit(8) << 5);
  if (swizzle != 3) return a;
  if (atomicity == 0) return a ^ (bit(7) << 4) ^ (bit(8) << 5) ^ (bit(9) << 6);
  if (atomicity == 1) return a ^ (bit(7) << 5) ^ (bit(8) << 6);
  if (atomicity == 2) return a ^ (bit(7) << 5) ^ (bit(8) << 6) ^ (bit(7) << 3);
  return a ^ (bit(7) << 6);
}

struct Case {
  MapFields map;
  int at[5] = {0, 0, 0, 0, 0};
  uint32_t offset = 0;  // of the box in `buffer`
};

struct Expected {
  std::vector<uint8_t> shared = std::vector<uint8_t>(kShared, 0xee);
  uint64_t bytes = 0;
};

void put(Expected& e, const Case& c, uint32_t logical, const uint8_t* data, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    const uint32_t a = swizzled(kBufferOffset + c.offset + logical + uint32_t(i), c.map.swizzle, c.map.atomicity);
    e.shared[a - kBufferOffset] = data[i];
  }
}

/// The element as it arrives: f32 as tf32 where the map says so.
void arrive(const MapFields& m, uint8_t* element) {
  if (!m.tf32) return;
  uint32_t x;
  std::memcpy(&x, element, 4);
  const uint32_t exponent = x >> 23 & 0xff, fraction = x & 0x7fffff;
  if (exponent == 255 && fraction) {
    x = 0x7fffe000;
  } else if (exponent != 255) {
    const uint32_t low = x & 0x1fff, keep = x & ~0x1fffu;
    const bool up = low > 0x1000 || (low == 0x1000 && (x & 0x2000));
    x = keep + (up ? 0x2000 : 0);
  }
  std::memcpy(element, &x, 4);
}

Expected expected_tile(const Case& c, const std::vector<uint8_t>& memory) {
  const MapFields& m = c.map;
  Expected e;
  const int size = element_bytes(m.type);
  constexpr int spans[] = {0, 32, 64, 128};
  const int row = m.box[0] * size, pitch = m.swizzle ? spans[m.swizzle] : row;
  int n[5];
  for (int i = 0; i < 5; ++i) n[i] = i == 0 ? m.box[0] : i < m.rank ? (m.box[i] + m.step[i] - 1) / m.step[i] : 1;
  uint32_t line = 0;
  for (int k4 = 0; k4 < n[4]; ++k4)
    for (int k3 = 0; k3 < n[3]; ++k3)
      for (int k2 = 0; k2 < n[2]; ++k2)
        for (int k1 = 0; k1 < n[1]; ++k1, ++line)
          for (int k0 = 0; k0 < n[0]; ++k0) {
            const int k[5] = {k0, k1, k2, k3, k4};
            bool inside = true;
            int64_t address = 0;
            for (int i = 0; i < m.rank; ++i) {
              const int64_t g = c.at[i] + int64_t(k[i]) * (i ? m.step[i] : 1);
              inside = inside && g >= 0 && g < int64_t(m.dim[i]);
              address += g * (i ? int64_t(m.stride[i]) : size);
            }
            uint8_t element[8];
            if (inside) {
              std::memcpy(element, memory.data() + address, size_t(size));
              arrive(m, element);
            } else {
              for (int i = 0; i < size; ++i) element[i] = !m.nan_fill ? 0 : i % 2 ? 0x7f : 0xf7;
            }
            put(e, c, line * uint32_t(pitch) + uint32_t(k0 * size), element, size);
          }
  e.bytes = uint64_t(line) * uint64_t(row);
  return e;
}

class TensorLoad : public ::testing::Test {
 protected:
  TensorLoad() : gpu_(load_kernels()) {
    gpu_.dynamic_shared = kShared;
    std::mt19937 random(7);
    memory_.resize(1 << 20);
    for (auto& b : memory_) b = uint8_t(random());
    address_ = gpu_.upload(memory_);
    out_ = gpu_.buffer<uint8_t>(kShared + 8);
  }
  /// Runs `kernel`, returns what shared memory holds and how many bytes the mbarrier counted.
  Expected run(const std::string& kernel, Case c, std::array<uint16_t, 3> offsets = {}) {
    c.map.address = address_;
    gpu_.launch(kernel, {1, 1, 1}, {128, 1, 1}, make_map(c.map), out_, kShared, c.offset, c.at[0], c.at[1], c.at[2],
                c.at[3], c.at[4], offsets[0], offsets[1], offsets[2]);
    Expected e;
    e.shared = gpu_.download<uint8_t>(out_, kShared);
    const uint64_t word = gpu_.download<uint64_t>(out_ + kShared, 1)[0];
    int64_t field = int64_t(word >> 21 & 0x1fffff);
    if (field >= 1 << 20) field -= 1 << 21;
    e.bytes = uint64_t(0x80000 + field);
    return e;
  }
  void compare(const Expected& want, const Expected& got, const std::string& what) {
    EXPECT_EQ(want.bytes, got.bytes) << what;
    for (size_t i = 0; i < want.shared.size(); ++i)
      if (want.shared[i] != got.shared[i]) {
        ADD_FAILURE() << what << ": byte " << i << " is " << int(got.shared[i]) << ", not " << int(want.shared[i]);
        return;
      }
  }
  RunPtx gpu_;
  std::vector<uint8_t> memory_;
  uint64_t address_ = 0, out_ = 0;
};

TEST_F(TensorLoad, GemmTileWithSwizzle128) {
  Case c;
  c.map.rank = 2;
  c.map.type = 10;
  c.map.swizzle = 3;
  c.map.dim[0] = 256;
  c.map.dim[1] = 512;
  c.map.stride[1] = 512;
  c.map.box[0] = 64;
  c.map.box[1] = 128;
  c.at[0] = 64;
  c.at[1] = 100;
  compare(expected_tile(c, memory_), run("tile2", c), "128x64 bf16");
}

TEST_F(TensorLoad, RandomTiles) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) { return low + int(random() % unsigned(high - low + 1)); };
  for (int n = 0; n < 400; ++n) {
    Case c;
    MapFields& m = c.map;
    m.rank = pick(1, 5);
    m.type = pick(0, 10);
    if ((m.type == 7 || m.type == 8) && pick(0, 1)) m.tf32 = true;
    m.nan_fill = m.type >= 6 && pick(0, 1);
    m.swizzle = pick(0, 3);
    if (m.swizzle == 3 && pick(0, 1)) m.atomicity = pick(0, 3);
    const int size = element_bytes(m.type);
    constexpr int spans[] = {256, 32, 64, 128};
    m.box[0] = std::min(256, 16 * pick(1, spans[m.swizzle] / 16) / size);
    m.dim[0] = uint64_t(pick(1, 80));
    uint64_t stride = (m.dim[0] * uint64_t(size) + 15) / 16 * 16;
    for (int i = 1; i < m.rank; ++i) {
      m.dim[i] = uint64_t(pick(1, 9));
      m.stride[i] = stride + 16 * uint64_t(pick(0, 2));
      if (pick(0, 9) == 0) m.stride[i] = 16;  // rows may overlap
      stride = std::max<uint64_t>(m.stride[i] * m.dim[i], 16);
      m.box[i] = pick(1, 5);
      m.step[i] = pick(0, 2) ? 1 : pick(1, 3);
    }
    for (int i = 0; i < m.rank; ++i) c.at[i] = pick(-4, 8);
    c.at[0] = pick(-3, 6) * 16 / size;
    c.offset = 128 * uint32_t(pick(0, 9));
    uint64_t last = m.dim[0] * uint64_t(size);
    for (int i = 1; i < m.rank; ++i) last += (m.dim[i] - 1) * m.stride[i];
    if (last > memory_.size()) continue;
    const Expected want = expected_tile(c, memory_);
    if (want.bytes > kShared / 8) continue;
    compare(want, run("tile" + std::to_string(m.rank), c), "case " + std::to_string(n));
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace tinygpu::test
