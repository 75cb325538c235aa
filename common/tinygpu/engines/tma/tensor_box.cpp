#include "common/tinygpu/engines/tma/tensor_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tinygpu {
namespace {

constexpr uint32_t kLargestRow = 2048;  // 256 elements of 8 bytes

/// Position of one row in global memory. `address` is where dimension 0 starts (it may lie outside the tensor, and
/// wraps as addresses do), `inside` covers the other dimensions.
struct Row {
  uint64_t address;
  bool inside;
};

uint32_t steps(uint32_t box, uint32_t step) { return (box + step - 1) / step; }

/// Interleaved maps: dimension 0 counts slices of 16 or 32 bytes along W; dimension rank−2 is the slice of channels, of
/// which a box holds one; the last is the image. Measured on an H200.
uint32_t box_steps(const TensorMap& m, uint32_t i) {
  if (i >= m.rank) return 1;
  if (m.interleave) return i == m.rank - 2 ? 1 : steps(m.box[i], m.step[i]);
  return i == 0 ? 1 : steps(m.box[i], m.step[i]);
}

template <class F>
void each_tile_row(const TensorBox& b, F&& f) {
  const TensorMap& m = b.map;
  const uint64_t slice = 16 * uint64_t(m.interleave);
  uint32_t n[5], k[5] = {};
  uint64_t stride[5] = {slice};
  for (uint32_t i = 0; i < 5; ++i) {
    n[i] = box_steps(m, i);
    if (i) stride[i] = i < m.rank ? m.stride[i] : 0;
  }
  uint32_t index = 0;
  for (k[4] = 0; k[4] < n[4]; ++k[4])
    for (k[3] = 0; k[3] < n[3]; ++k[3])
      for (k[2] = 0; k[2] < n[2]; ++k[2]) {
        uint64_t outer = m.base;
        bool outer_inside = true;
        for (uint32_t i = 2; i < m.rank; ++i) {
          const int64_t g = int64_t(b.tile.at[i]) + int64_t(k[i]) * m.step[i];
          outer_inside &= g >= 0 && g < int64_t(m.dim[i]);
          outer += uint64_t(g) * stride[i];
        }
        const bool plane = m.rank > 1;
        int64_t y = plane ? b.tile.at[1] : 0;
        for (k[1] = 0; k[1] < n[1]; ++k[1], y += m.step[1]) {
          const Row row{outer + uint64_t(y) * stride[1], outer_inside && (!plane || uint64_t(y) < m.dim[1])};
          if (!m.interleave) {
            f(index++, row);
            continue;
          }
          for (k[0] = 0; k[0] < n[0]; ++k[0]) {
            const int64_t x = int64_t(b.tile.at[0]) + int64_t(k[0]) * m.step[0];
            f(index++, Row{row.address + uint64_t(x) * stride[0], row.inside && uint64_t(x) < m.dim[0]});
          }
        }
      }
}

template <class F>
void each_gathered_row(const TensorBox& b, F&& f) {
  const TensorMap& m = b.map;
  for (uint32_t j = 0; j < 4; ++j) {
    const int64_t row = b.tile.at[1 + j];
    f(j, Row{m.base + uint64_t(row) * m.stride[1], row >= 0 && row < int64_t(m.dim[1])});
  }
}

/// im2col (PTX ISA 5.5.4): pixels walk W, then H, then D between the corners, then to the next image; each by
/// its traversal stride.
template <class F>
void each_pixel(const TensorBox& b, F&& f) {
  const TensorMap& m = b.map;
  const TensorTile& t = b.tile;
  const uint32_t spatial = m.rank - 2;
  // Dimensions of W, H, D: behind the channels; of an interleaved map they come first and the channels' slice after
  // them.
  const uint32_t w = m.interleave ? 0 : 1;
  const uint32_t image = m.rank - 1;
  int64_t position[3];
  for (uint32_t i = 0; i < spatial; ++i) position[i] = t.at[w + i];
  int64_t n = t.at[image];
  const auto emit = [&](uint32_t index, const int64_t* offset) {
    Row r{m.base + uint64_t(n) * m.stride[image], n >= 0 && n < int64_t(m.dim[image])};
    for (uint32_t i = 0; i < spatial; ++i) {
      const int64_t g = position[i] + offset[i];
      r.inside &= g >= 0 && g < int64_t(m.dim[w + i]);
      r.address += uint64_t(g) * (w + i == 0 ? 16 * uint64_t(m.interleave) : m.stride[w + i]);
    }
    if (m.interleave) {
      const int64_t c = t.at[image - 1];
      r.inside &= c >= 0 && c < int64_t(m.dim[image - 1]);
      r.address += uint64_t(c) * m.stride[image - 1];
    }
    f(index, r);
  };
  if (t.mode == TensorTile::Mode::im2col) {
    int64_t offset[3];
    for (uint32_t i = 0; i < spatial; ++i) offset[i] = t.offset[i];
    for (uint32_t p = 0; p < m.pixels; ++p) {
      emit(p, offset);
      for (uint32_t i = 0;; ++i) {
        if (i == spatial) {
          n += m.step[image];
          break;
        }
        position[i] += m.step[w + i];
        if (position[i] <= int64_t(m.dim[w + i]) - 1 + m.upper[i]) break;
        position[i] = m.lower[i];
      }
    }
    return;
  }
  // im2col::w and ::w::128 walk W alone; the halo's pixels follow the last, or every 32nd. Inferred from the manual's
  // text: what lies outside the tensor is filled, the corners do not cut the walk.
  const bool blocks = t.mode == TensorTile::Mode::im2col_w128;
  const uint32_t halo = t.offset[0];
  const int64_t zero[3] = {};
  const uint32_t pixels = blocks ? 32 : m.pixels;
  position[0] += t.offset[1];
  const int64_t start = position[0];
  uint32_t index = 0;
  for (uint32_t block = 0; block < (blocks ? 4u : 1u); ++block)
    for (uint32_t p = 0; p < pixels + halo; ++p) {
      position[0] = start + int64_t(block * 32 + p) * m.step[w];
      emit(index++, zero);
    }
}

template <class F>
void each_row(const TensorBox& b, F&& f) {
  if (b.map.im2col) return each_pixel(b, f);
  if (b.tile.mode == TensorTile::Mode::gather4) return each_gathered_row(b, f);
  each_tile_row(b, f);
}

/// Byte range [low, high) of a row that lies inside the tensor along dimension 0, and the row's first byte from there.
struct Clip {
  int64_t start;  // of the row, bytes from the beginning of dimension 0
  uint32_t low, high;
};

Clip clip_of(const TensorBox& b, uint32_t source_bytes) {
  if (b.map.interleave) return {0, 0, source_bytes};
  const int64_t bits = b.map.bits;
  const int64_t start = int64_t(b.tile.at[0]) * bits / 8, size = int64_t(b.map.dim[0] * uint64_t(bits) / 8);
  const int64_t low = std::clamp<int64_t>(-start, 0, source_bytes);
  const int64_t high = std::clamp<int64_t>(size - start, low, source_bytes);
  return {start, uint32_t(low), uint32_t(high)};
}

/// Bytes of a row in global memory.
uint32_t source_bytes(const TensorBox& b) { return b.map.padded() ? b.map.box[0] * b.map.bits / 8 : b.row_bytes(); }

/// The bytes of global memory that the box covers: f(address, bytes) for what of each row lies inside the tensor.
template <class F>
void each_part_inside(const TensorBox& b, F&& f) {
  const Clip clip = clip_of(b, source_bytes(b));
  each_row(b, [&](uint32_t, const Row& r) {
    if (r.inside) f(r.address + uint64_t(clip.start + clip.low), clip.high - clip.low);
  });
}

uint32_t round_to_tf32(uint32_t x) {
  if ((x & 0x7fffffff) > 0x7f800000) return 0x7fffe000;
  if ((x & 0x7f800000) == 0x7f800000) return x;
  return (x + 0xfff + (x >> 13 & 1)) & ~0x1fffu;
}

bool converts(const TensorMap& m) { return m.element == TensorElement::tf32 || m.element == TensorElement::tf32_ftz; }

void convert(const TensorMap& m, uint8_t* row, uint32_t bytes) {
  if (!converts(m)) return;
  for (uint32_t i = 0; i < bytes; i += 4) {
    uint32_t x;
    std::memcpy(&x, row + i, 4);
    x = round_to_tf32(x);
    std::memcpy(row + i, &x, 4);
  }
}

/// Shared memory under a swizzle, 16-byte chunks at a time.
class SwizzledShared {
 public:
  SwizzledShared(const TensorBox& b, Cta& cta, uint32_t offset, const Origin& who, const char* verb)
      : map_(b.map), base_(offset), bytes_(cta.shared.data()), whole_(b.map.keeps_chunks()) {
    if (map_.swizzle == Swizzle::b32) rows_ = 1;
    if (map_.swizzle == Swizzle::b64) rows_ = 3;
    if (map_.swizzle == Swizzle::b128) rows_ = map_.atomicity == 0 ? 7 : map_.atomicity == 1 ? 3 : 1;
    if (map_.swizzle == Swizzle::b128) shift_ = map_.atomicity == 0 ? 4 : map_.atomicity == 1 ? 5 : 6;
    b.check_fits(cta, offset, who, verb);
  }
  /// `bytes` from `logical` on, a multiple of 16.
  void write(uint32_t logical, const uint8_t* from, uint32_t bytes) {
    const uint32_t first = base_ + logical;
    if (whole_) {
      // Locals: for all the compiler knows, a byte that is written could be one of this object's.
      uint8_t* const to = bytes_;
      const uint32_t rows = rows_, shift = shift_;
      for (uint32_t i = 0; i < bytes; i += 16) {
        const uint32_t a = first + i;
        std::memcpy(to + (a ^ (a >> 7 & rows) << shift), from + i, 16);
      }
    } else {
      for (uint32_t i = 0; i < bytes; i += 8) std::memcpy(bytes_ + map_.place(first + i), from + i, 8);
    }
  }
  void write_part(uint32_t logical, const uint8_t* chunk, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i += 4) std::memcpy(bytes_ + map_.place(base_ + logical + i), chunk + i, 4);
  }
  void read(uint32_t logical, uint8_t* chunk) const {
    const uint32_t a = base_ + logical;
    if (whole_) {
      std::memcpy(chunk, bytes_ + map_.place(a), 16);
    } else {
      std::memcpy(chunk, bytes_ + map_.place(a), 8);
      std::memcpy(chunk + 8, bytes_ + map_.place(a + 8), 8);
    }
  }

 private:
  const TensorMap map_;  // a copy: the swizzle's fields stay in registers
  uint32_t base_;
  uint8_t* bytes_;
  bool whole_;
  // Swizzles that keep chunks whole: bits of the row number, and where they flip.
  uint32_t rows_ = 0, shift_ = 4;
};

}  // namespace

uint8_t* GlobalView::find(uint64_t address, uint64_t bytes) {
  const Allocation* a = memory_.find(address);
  if (!a || !inside(a->base, a->size, address, bytes))
    who_.fault(FaultKind::illegal_address, "illegal-address",
               fmt::format("{} of {} bytes at global address {:#x}: {}", verb_, bytes, address,
                           memory_.describe(address + (a ? bytes - 1 : 0))),
               "the tensor that a map describes, or the range that a bulk copy names, must lie inside one allocation");
  base_ = a->base;
  end_ = a->base + a->size;
  host_ = a->host;
  return host_ + (address - base_);
}

uint64_t TensorBox::rows() const {
  if (map.im2col) {
    if (tile.mode == TensorTile::Mode::im2col_w128) return 4 * (32 + tile.offset[0]);
    return map.pixels + (tile.mode == TensorTile::Mode::im2col_w ? tile.offset[0] : 0);
  }
  if (tile.mode == TensorTile::Mode::gather4) return 4;
  uint64_t n = 1;
  for (uint32_t i = 0; i < map.rank; ++i) n *= box_steps(map, i);
  return n;
}

void TensorBox::check_fits(const Cta& cta, uint32_t offset, const Origin& who, const char* verb) const {
  uint64_t end = offset + extent();
  if (map.swizzle != Swizzle::none) end = (end + 127) & ~127ull;
  if (offset < kSharedBase || end > cta.shared.size())
    who.fault(
        FaultKind::illegal_address, "shared-out-of-bounds",
        fmt::format(
            "{} of {} rows of {} bytes ({} with padding) at shared offset {:#x} of CTA rank {}, whose shared memory "
            "ends at {:#x}",
            verb, rows(), row_bytes(), extent(), offset, cta.rank, cta.shared.size()),
        "the box of the tensor map must fit into the buffer; compare boxDim with what the kernel declares");
}

bool TensorBox::shared_without_gaps(uint32_t offset) const {
  // A swizzle moves chunks within 128 bytes: whole ones stay whole.
  const bool whole = map.swizzle == Swizzle::none || (extent() % 128 == 0 && offset % 128 == 0);
  return whole && pitch() == row_bytes();
}

uint64_t TensorBox::transfer_bytes() const { return rows() * source_bytes(*this); }

namespace {

/// Passes ranges on, joining each with the one before where it continues it.
class Joined {
 public:
  explicit Joined(MemoryAccess::Range f) : f_(f) {}
  ~Joined() {
    if (bytes_) f_(address_, bytes_);
  }
  void add(uint64_t address, uint64_t bytes) {
    if (bytes_ && address == address_ + bytes_) {
      bytes_ += bytes;
      return;
    }
    if (bytes_) f_(address_, bytes_);
    address_ = address;
    bytes_ = bytes;
  }

 private:
  MemoryAccess::Range f_;
  uint64_t address_ = 0, bytes_ = 0;
};

}  // namespace

void TensorBox::each_global(bool load, MemoryAccess::Range f) const {
  Joined joined(f);
  // store() below writes a chunk of 16 bytes that begins inside whole.
  const bool chunks = !load && map.element != TensorElement::b6x16;
  each_part_inside(*this, [&](uint64_t address, uint32_t bytes) {
    if (bytes) joined.add(address, chunks ? (bytes + 15) & ~15u : bytes);
  });
}

void TensorBox::each_shared(uint32_t offset, bool load, MemoryAccess::Range f) const {
  Joined joined(f);
  if (shared_without_gaps(offset) && !(load && map.padded())) return joined.add(offset, extent());
  // A padded row fills the first bytes of each container; the 8-byte flip parts the chunks.
  const uint32_t filled = load && map.padded() ? map.bits * 2 : 16, step = map.keeps_chunks() ? 16 : 8;
  const uint32_t bytes = row_bytes(), n = uint32_t(rows());
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t i = 0; i < bytes; i += 16)
      for (uint32_t part = 0; part < filled; part += step)
        joined.add(map.place(offset + r * pitch() + i + part), std::min(step, filled - part));
}

void TensorBox::add_lines(MemoryRequests& memory) const {
  each_part_inside(*this, [&](uint64_t address, uint32_t bytes) { memory.add_lines(address, bytes); });
}

std::optional<TensorBox::Place> TensorBox::place_of(uint32_t offset, uint32_t address) const {
  const uint32_t plain = map.place(address);  // the swizzle is its own inverse
  if (map.interleave || map.step[0] != 1 || !map.keeps_chunks() || plain < offset || plain - offset >= extent())
    return std::nullopt;
  Place p;
  p.row = (plain - offset) / pitch();
  p.byte = (plain - offset) % pitch();
  if (p.byte >= row_bytes()) return std::nullopt;
  const int64_t first = tile.at[0];
  p.along = (map.padded() ? first : first * int64_t(map.bits) / 8) + p.byte;
  if (tile.mode == TensorTile::Mode::gather4) {
    p.at[1] = tile.at[1 + p.row];
  } else if (tile.mode == TensorTile::Mode::tile) {
    uint32_t row = p.row;
    for (uint32_t d = 1; d < map.rank; ++d) {
      const uint32_t n = box_steps(map, d);
      p.at[d] = int64_t(tile.at[d]) + int64_t(row % n) * map.step[d];
      row /= n;
    }
  }
  return p;
}

std::string TensorBox::name_of(const Place& p, uint32_t bytes) const {
  const uint32_t bits = map.padded() ? 8 : map.bits, last = p.byte + std::max(bytes, 1u) - 1;
  return fmt::format("row {}, columns {} to {} of the box", p.row, p.byte * 8 / bits, last * 8 / bits);
}

namespace {

/// Rows mostly lie too far apart for the host's own prefetcher: this one asks for the rows to come, taking the distance
/// of the last two rows for that of the next.
class RowsAhead {
 public:
  RowsAhead(uint64_t rows, uint32_t bytes) : rows_(rows), bytes_(bytes) {}
  void at(uint32_t index, const uint8_t* row) {
    const uintptr_t now = reinterpret_cast<uintptr_t>(row), step = now - last_;
    const uint32_t from = step == step_ ? kAhead : 1;  // a new step: all of them
    for (uint32_t i = last_ ? from : kAhead + 1; i <= kAhead && index + i < rows_; ++i) fetch(now + i * step);
    last_ = now;
    step_ = step;
  }

 private:
  static constexpr uint32_t kAhead = 16, kLine = 64;
  void fetch(uintptr_t row) const {
    for (uint32_t i = 0; i < bytes_; i += kLine) __builtin_prefetch(reinterpret_cast<const void*>(row + i));
  }
  const uint64_t rows_;
  const uint32_t bytes_;
  uintptr_t last_ = 0, step_ = 0;
};

}  // namespace

void TensorBox::load(const GlobalMemory& memory, Cta& cta, uint32_t offset, const Origin& who) const {
  SwizzledShared shared(*this, cta, offset, who, "a tensor load");
  GlobalView global(memory, who, "a tensor load");
  const uint32_t bytes = source_bytes(*this), distance = pitch();
  const Clip clip = clip_of(*this, bytes);
  const bool plain = clip.low == 0 && clip.high == bytes && !converts(map) && !map.padded();
  alignas(16) uint8_t row[kLargestRow];
  RowsAhead ahead(rows(), bytes);
  each_row(*this, [&](uint32_t index, const Row& r) {
    const uint32_t to = index * distance;
    if (plain && r.inside) {
      const uint8_t* const from = global.at(r.address + uint64_t(clip.start), bytes);
      ahead.at(index, from);
      return shared.write(to, from, bytes);
    }
    // Zero, or the NaN that every float type sees as one: 0x7ff7 in each half.
    const uint16_t fill = map.nan_fill ? 0x7ff7 : 0;
    for (uint32_t i = 0; i < bytes; i += 2) std::memcpy(row + i, &fill, 2);
    if (r.inside && clip.high > clip.low) {
      std::memcpy(row + clip.low, global.at(r.address + uint64_t(clip.start + clip.low), clip.high - clip.low),
                  clip.high - clip.low);
      convert(map, row + clip.low, clip.high - clip.low);
    }
    if (map.padded()) {
      const uint32_t data = map.bits * 2;  // bytes of 16 elements; the rest of the 16-byte container is left alone
      for (uint32_t group = 0; group * data < bytes; ++group)
        shared.write_part(to + 16 * group, row + group * data, data);
      return;
    }
    shared.write(to, row, bytes);
  });
}

std::vector<uint8_t> TensorBox::gather_shared(Cta& cta, uint32_t offset, const Origin& who) const {
  const SwizzledShared shared(*this, cta, offset, who, "a tensor store");
  const uint32_t bytes = row_bytes(), distance = pitch(), n = rows();
  std::vector<uint8_t> out(size_t(n) * bytes);
  for (uint32_t r = 0; r < n; ++r)
    for (uint32_t i = 0; i < bytes; i += 16) shared.read(r * distance + i, out.data() + size_t(r) * bytes + i);
  return out;
}

namespace {

/// Calls f(host, from, bytes) for what of each of `rows` reaches global memory: a chunk of 16 bytes that begins inside
/// is written whole (measured on an H200).
template <class F>
void each_written(const TensorBox& b, GlobalView& global, const std::vector<uint8_t>& rows, F&& f) {
  const uint32_t bytes = b.row_bytes();
  const Clip clip = clip_of(b, bytes);
  const uint32_t high = (clip.high + 15) & ~15u;
  if (high <= clip.low) return;
  each_row(b, [&](uint32_t index, const Row& r) {
    if (!r.inside) return;
    const uint64_t to = r.address + uint64_t(clip.start + clip.low);
    uint8_t* host = global.at(to, clip.high - clip.low);
    f(host, rows.data() + size_t(index) * bytes + clip.low, global.rest(to, high - clip.low));
  });
}

/// b6p2x16: sixteen 6-bit values in bits 5:0 of sixteen bytes become 12 bytes.
void pack_b6(const uint8_t* from, uint8_t* packed) {
  std::fill_n(packed, 12, uint8_t(0));
  for (uint32_t i = 0; i < 16; ++i)
    for (uint32_t bit = 0; bit < 6; ++bit)
      packed[(i * 6 + bit) / 8] |= uint8_t((from[i] >> bit & 1) << ((i * 6 + bit) % 8));
}

}  // namespace

void TensorBox::store(const GlobalMemory& memory, const std::vector<uint8_t>& rows_in, const Origin& who) const {
  GlobalView global(memory, who, "a tensor store");
  if (map.element != TensorElement::b6x16) return each_written(*this, global, rows_in, std::memcpy);
  const uint32_t bytes = row_bytes();
  const Clip clip = clip_of(*this, source_bytes(*this));
  each_row(*this, [&](uint32_t index, const Row& r) {
    if (!r.inside) return;
    for (uint32_t group = 0; group * 16 < bytes; ++group) {
      if (group * 12 < clip.low || group * 12 >= clip.high) continue;
      pack_b6(rows_in.data() + size_t(index) * bytes + group * 16,
              global.at(r.address + uint64_t(clip.start + group * 12), 12));
    }
  });
}

void TensorBox::reduce(const GlobalMemory& memory, const std::vector<uint8_t>& rows_in, ReduceOperation operation,
                       const Origin& who) const {
  constexpr ReduceType types[] = {ReduceType::u32,  ReduceType::u32, ReduceType::u32, ReduceType::s32, ReduceType::u64,
                                  ReduceType::s64,  ReduceType::f16, ReduceType::f32, ReduceType::f32, ReduceType::f64,
                                  ReduceType::bf16, ReduceType::f32, ReduceType::f32};
  const ReduceType type = types[std::min(int(map.element), 12)];
  GlobalView global(memory, who, "a tensor reduction");
  each_written(*this, global, rows_in, [&](uint8_t* host, const uint8_t* from, uint64_t bytes) {
    tinygpu::reduce(operation, type, host, from, bytes);
  });
}

}  // namespace tinygpu
