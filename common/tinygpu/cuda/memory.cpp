#include "common/tinygpu/cuda/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

namespace {

/// Copies outside kernels pass at these rates where the profile names none (estimated: PCIe 5.0 ×16; HBM3e).
constexpr double kHostLinkBytesPerSecond = 55e9;
constexpr double kDeviceBytesPerSecond = 7e12;

double rate(const State& s, const char* key, double otherwise) {
  const auto it = s.gpu.spec.numbers.find(key);
  return it == s.gpu.spec.numbers.end() ? otherwise : it->second;
}

void charge_copy(State& s, size_t bytes, bool over_the_link) {
  s.advance_seconds(over_the_link ? double(bytes) / rate(s, "host_link.bytes_per_second", kHostLinkBytesPerSecond)
                                  : 2.0 * double(bytes) / rate(s, "hbm.bytes_per_second", kDeviceBytesPerSecond));
}

/// Bytes from the first to behind the last one of a strided block.
size_t extent(size_t width, size_t height, size_t depth, size_t pitch, size_t slice) {
  return (depth - 1) * slice + (height - 1) * pitch + width;
}

}  // namespace

CUresult allocate(State& s, uint64_t& address, size_t size, MemoryKind kind) {
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t align = kind == MemoryKind::device ? 512 : 4096;
  address = s.gpu.memory.allocate(size, align, kind);
  if (address != 0) return CUDA_SUCCESS;
  say("out-of-memory", fmt::format("{} bytes asked for, {} of the machine's {} bytes are free", size,
                                   s.gpu.memory.capacity() - s.gpu.memory.used(), s.gpu.memory.capacity()));
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult release(State& s, uint64_t address, MemoryKind kind) {
  const Allocation* a = s.gpu.memory.find(address);
  const bool managed = a && a->kind == MemoryKind::managed && kind == MemoryKind::device;
  if (!a || a->base != address || (a->kind != kind && !managed)) {
    say("invalid-free", fmt::format("{:#x} is not the start of a live allocation", address),
        s.gpu.memory.describe(address));
    return CUDA_ERROR_INVALID_VALUE;
  }
  return s.gpu.memory.release(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

uint8_t* reach(State& s, const void* p, size_t size, Side side) {
  const uint64_t address = reinterpret_cast<uint64_t>(p);
  const Allocation* a = s.gpu.memory.find(address);
  if (a && (side != Side::host || (a->kind != MemoryKind::device && a->kind != MemoryKind::constant)))
    return s.gpu.memory.translate(address, size);
  if (a || side == Side::device || s.gpu.memory.reserved(address)) return nullptr;
  return const_cast<uint8_t*>(static_cast<const uint8_t*>(p));
}

CUresult copy(State& s, const CopyEnd& dst, const CopyEnd& src, size_t width, size_t height, size_t depth) {
  if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
  uint8_t* to = reach(s, dst.base, extent(width, height, depth, dst.pitch, dst.slice), dst.side);
  const uint8_t* from = reach(s, src.base, extent(width, height, depth, src.pitch, src.slice), src.side);
  if (!to || !from) {
    const void* bad = to ? src.base : dst.base;
    const Side side = to ? src.side : dst.side;
    say("invalid-copy",
        fmt::format("the {} of a copy of {} bytes, {}, is not {} memory all along", to ? "source" : "destination",
                    width * height * depth, bad, side == Side::host ? "host" : "device"),
        s.gpu.memory.describe(reinterpret_cast<uint64_t>(bad)));
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t address = reinterpret_cast<uint64_t>(dst.base);
  for (size_t z = 0; z < depth; ++z)
    for (size_t y = 0; y < height; ++y) {
      std::memmove(to + z * dst.slice + y * dst.pitch, from + z * src.slice + y * src.pitch, width);
      s.gpu.l2.written(address + z * dst.slice + y * dst.pitch, width);
    }
  const bool device_only = to != dst.base && from != src.base;
  charge_copy(s, width * height * depth, !device_only);
  return CUDA_SUCCESS;
}

CUresult fill(State& s, uint64_t dst, uint32_t value, int bytes, size_t width, size_t height, size_t pitch,
              size_t depth, size_t slice) {
  if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
  if (dst % bytes) return CUDA_ERROR_INVALID_VALUE;
  uint8_t* to =
      reach(s, reinterpret_cast<const void*>(dst), extent(width * bytes, height, depth, pitch, slice), Side::device);
  if (!to) {
    say("invalid-fill",
        fmt::format("a fill of {} bytes at {:#x} leaves device memory", width * bytes * height * depth, dst),
        s.gpu.memory.describe(dst));
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t z = 0; z < depth; ++z)
    for (size_t y = 0; y < height; ++y) {
      uint8_t* row = to + z * slice + y * pitch;
      if (bytes == 1)
        std::memset(row, int(value & 0xff), width);
      else if (bytes == 2)
        std::fill_n(reinterpret_cast<uint16_t*>(row), width, uint16_t(value));
      else
        std::fill_n(reinterpret_cast<uint32_t*>(row), width, value);
      s.gpu.l2.written(dst + z * slice + y * pitch, width * size_t(bytes));
    }
  charge_copy(s, width * bytes * height * depth / 2, false);
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
