// Random tensor copies within the rules: a map's parameters, coordinates, and where the box lies in shared memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/conformance/bulk_tensor/encode_cases.h"

namespace conformance {

enum class Copy : int { load, store, reduce, im2col_load, im2col_store };

constexpr uint32_t kSharedRegion = 32 * 1024;   // bytes of shared memory that a case may touch and that are dumped
constexpr uint64_t kGlobalRegion = 256 * 1024;  // bytes of global memory around the tensor
constexpr uint64_t kTensorStart = 32 * 1024;    // the tensor begins this far into them, or a little later

struct TensorCase {
  Copy copy = Copy::load;
  EncodeCase map;  // `address` is relative to the region
  int at[5] = {0, 0, 0, 0, 0};
  uint16_t offset[3] = {0, 0, 0};
  uint32_t box = 0;        // offset of the box in the shared region
  uint32_t operation = 0;  // reductions: add min max inc dec and or xor
};

inline uint64_t tensor_extent(const EncodeCase& m) {
  const uint64_t slice = m.interleave ? 16ull * m.interleave : uint64_t(encode_bits(m.type)) / 8;
  uint64_t end = m.dims[0] * slice;
  for (uint32_t i = 1; i < m.rank; ++i) end += (m.dims[i] - 1) * m.strides[i - 1];
  return end + 16;
}

inline TensorCase tensor_case_once(Random& r, Copy copy, int interleaved) {
  TensorCase c;
  c.copy = copy;
  EncodeCase& m = c.map;
  const bool im2col = copy == Copy::im2col_load || copy == Copy::im2col_store;
  m.kind = im2col;
  constexpr uint32_t reducible[] = {2, 3, 4, 5, 6, 7, 9};
  m.type = copy == Copy::reduce ? r.pick(reducible) : uint32_t(r.below(13));
  const int size = encode_bits(m.type) / 8;
  m.interleave = interleaved ? uint32_t(1 + r.below(2)) : 0;
  m.rank = uint32_t(im2col || m.interleave ? r.between(3, 5) : r.between(1, 5));
  m.swizzle = m.interleave == 2 ? 1 : uint32_t(r.below(4));
  m.fill = m.type >= 6 ? uint32_t(r.below(2)) : 0;
  m.promotion = uint32_t(r.below(4));
  m.address = kTensorStart + 32 * r.below(8) + (m.interleave == 2 ? 0 : 16 * r.below(2));
  constexpr int spans[] = {256, 32, 64, 128};
  const uint32_t inner = uint32_t(std::min<int64_t>(256, 16 * r.between(1, spans[m.swizzle] / 16) / size));
  m.box[0] = m.channels = inner;
  m.dims[0] = m.interleave ? uint64_t(r.between(1, 24)) : uint64_t(r.between(1, r.one_in(3) ? 200 : 40));
  if (m.interleave) m.steps[0] = uint32_t(r.one_in(3) ? r.between(1, 3) : 1);
  const uint64_t align = m.interleave == 2 ? 32 : 16;
  uint64_t stride = (m.dims[0] * (m.interleave ? align : uint64_t(size)) + align - 1) / align * align;
  for (uint32_t i = 1; i < m.rank; ++i) {
    m.dims[i] = uint64_t(r.between(1, 9));
    m.strides[i - 1] = stride + align * r.below(3);
    if (r.one_in(10) && (copy == Copy::load || copy == Copy::im2col_load)) m.strides[i - 1] = align;  // rows overlap
    stride = std::max<uint64_t>(m.strides[i - 1] * m.dims[i], align);
    m.box[i] = uint32_t(r.between(1, 6));
    m.steps[i] = uint32_t(r.one_in(3) ? r.between(1, 4) : 1);
  }
  for (uint32_t i = 0; i < m.rank; ++i) c.at[i] = int(r.between(-4, 9));
  if (!m.interleave) c.at[0] = int(r.between(-3, 8)) * 16 / size;
  if (r.one_in(25)) c.at[r.below(m.rank)] = int(r.pick({-1000000, 1000000, 2147483632, -2147483647 - 1})) / 16 * 16;
  if (im2col) {
    const uint32_t spatial = m.rank - 2, w = m.interleave ? 0 : 1;
    for (uint32_t i = 0; i < spatial; ++i) {
      m.dims[w + i] += 3;
      m.lower[i] = int(r.between(-3, 1));
      m.upper[i] = int(r.between(-2, 2));
      const int last = int(m.dims[w + i]) - 1 + m.upper[i];
      c.at[w + i] = int(r.between(m.lower[i], std::max(m.lower[i], last)));
      c.offset[i] = uint16_t(r.below(4));
    }
    c.at[m.rank - 1] = int(r.between(-1, 4));
    if (m.interleave) c.at[m.rank - 2] = int(r.between(-1, 4));
    m.pixels = uint32_t(r.between(1, r.one_in(3) ? 200 : 40));
  }
  c.box = uint32_t(r.one_in(3) ? 128 * r.below(20) : r.one_in(2) ? 1024 * r.below(3) : 0);
  c.operation = uint32_t(r.below(8));
  if (copy == Copy::reduce) {
    // Only what the unit has: inc and dec for u32, logic for integers but INT64, floats add, min, max.
    if (m.type >= 6)
      c.operation = m.type == 7 ? 0 : uint32_t(r.below(3));
    else if (c.operation == 3 || c.operation == 4)
      m.type = 2;
    else if (c.operation >= 5 && m.type == 5)
      m.type = 4;
  }
  return c;
}

/// Bytes that the box may take in shared memory, at most.
inline uint64_t box_extent(const TensorCase& c) {
  const EncodeCase& m = c.map;
  const uint64_t slice = m.interleave ? 16ull * m.interleave : 256;
  uint64_t rows = 1;
  if (m.kind)
    rows = m.pixels;
  else
    for (uint32_t i = m.interleave ? 0 : 1; i < m.rank; ++i) rows *= (m.box[i] + m.steps[i] - 1) / m.steps[i];
  return rows * slice + c.box + 1024;
}

inline TensorCase tensor_case(Random& r, Copy copy, int interleaved) {
  for (;;) {
    TensorCase c = tensor_case_once(r, copy, interleaved);
    if (tensor_extent(c.map) <= kGlobalRegion - kTensorStart - 2048 && box_extent(c) <= kSharedRegion) return c;
  }
}

inline std::string describe(const TensorCase& c) {
  const EncodeCase& m = c.map;
  constexpr const char* names[] = {"load", "store", "reduce", "im2col load", "im2col store"};
  constexpr const char* operations[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  std::string s =
      std::string(names[int(c.copy)]) + (c.copy == Copy::reduce ? std::string(" ") + operations[c.operation] : "");
  s += " type " + std::to_string(m.type) + " interleave " + std::to_string(m.interleave) + " swizzle " +
       std::to_string(m.swizzle) + " fill " + std::to_string(m.fill) + " dims";
  for (uint32_t i = 0; i < m.rank; ++i) s += " " + std::to_string(m.dims[i]);
  s += " strides";
  for (uint32_t i = 0; i + 1 < m.rank; ++i) s += " " + std::to_string(m.strides[i]);
  s += " box";
  for (uint32_t i = 0; i < m.rank; ++i) s += " " + std::to_string(m.box[i]);
  s += " steps";
  for (uint32_t i = 0; i < m.rank; ++i) s += " " + std::to_string(m.steps[i]);
  s += " at";
  for (uint32_t i = 0; i < m.rank; ++i) s += " " + std::to_string(c.at[i]);
  if (m.kind) {
    s += " corners";
    for (uint32_t i = 0; i + 2 < m.rank; ++i) s += " " + std::to_string(m.lower[i]) + ":" + std::to_string(m.upper[i]);
    s += " offsets";
    for (uint32_t i = 0; i + 2 < m.rank; ++i) s += " " + std::to_string(c.offset[i]);
    s += " pixels " + std::to_string(m.pixels);
  }
  return s + " box at " + std::to_string(c.box);
}

}  // namespace conformance
