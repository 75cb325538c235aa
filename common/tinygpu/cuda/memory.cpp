#include "common/tinygpu/cuda/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cuda {

namespace {

void charge_copy(State& s, size_t bytes, bool over_the_link) {
  const MachineSpec& spec = s.machine.spec();
  s.advance_seconds(over_the_link ? double(bytes) / spec.host_link_bytes_per_second
                                  : 2.0 * double(bytes) / spec.copy_bytes_per_second);
}

/// Rows of pitched memory begin at multiples of this (the device's texture alignment).
constexpr uint64_t kPitch = 512;

/// Bytes from the first to behind the last one of a strided block: the largest number if that passes 64 bits, or if
/// rows or planes overlap.
uint64_t extent(CheckedSize width, size_t height, size_t depth, CheckedSize pitch, CheckedSize slice) {
  const CheckedSize plane = (height - 1) * pitch + width;
  if ((height > 1 && pitch.value() < width.value()) || (depth > 1 && slice.value() < plane.value()))
    return CheckedSize(~uint64_t(0)).value();
  return ((depth - 1) * slice + plane).value();
}

/// "1024 bytes", or "16 bytes × 3 × 2".
std::string block_text(CheckedSize width, size_t height, size_t depth) {
  std::string out = fmt::format("{} bytes", width.value());
  if (height > 1 || depth > 1) out += fmt::format(" × {}", height);
  if (depth > 1) out += fmt::format(" × {}", depth);
  return out;
}

}  // namespace

CUresult allocate(State& s, uint64_t& address, size_t size, MemoryKind kind) {
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  address = s.machine.memory().allocate(size, kind);
  if (address != 0) return CUDA_SUCCESS;
  say("out-of-memory",
      fmt::format("{} bytes asked for, {} of the machine's {} bytes are free", size,
                  s.machine.memory().capacity() - s.machine.memory().used(), s.machine.memory().capacity()));
  return CUDA_ERROR_OUT_OF_MEMORY;
}

void tell_leaks(const State& s) {
  const auto [n, bytes] = s.machine.memory().checked();
  if (!n) return;
  show({.code = "memory-leak",
        .severity = Severity::warning,
        .message = fmt::format("the program ends with {} allocation{} of device memory, {} bytes, never freed", n,
                               n == 1 ? "" : "s", bytes),
        .help = "free each with cudaFree (or the call that belongs to it)"});
}

CUresult release(State& s, uint64_t address, MemoryKind kind) {
  if (kind == MemoryKind::device && s.graph_memory.holds(address)) return s.graph_memory.free_now(address);
  const Allocation* a = s.machine.memory().find(address);
  const bool managed = a && a->kind == MemoryKind::managed && kind == MemoryKind::device;
  if (!a || a->base != address || (a->kind != kind && !managed)) {
    say("invalid-free", fmt::format("{:#x} is not the start of a live allocation", address),
        s.machine.memory().describe(address));
    return CUDA_ERROR_INVALID_VALUE;
  }
  s.pools.gave_back(address);
  return s.machine.memory().release(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult free_memory(State& s, uint64_t address, MemoryKind kind) {
  s.synchronize();
  return address ? release(s, address, kind) : CUDA_SUCCESS;
}

CUresult allocate_pitched(State& s, uint64_t& address, size_t& pitch, size_t width, size_t height, size_t depth) {
  const CheckedSize row = CheckedSize(width).rounded_up(kPitch);
  if (row.overflowed()) return CUDA_ERROR_INVALID_VALUE;
  pitch = row.value();
  address = 0;
  if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
  return allocate(s, address, (row * height * depth).value(), MemoryKind::device);
}

CUresult register_host(State& s, void* p, size_t size) {
  if (!p || size == 0) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t address = address_of(p);
  const Allocation* known = s.machine.memory().find(address);
  if (!known && (s.machine.memory().reserved(address) || !image::host_accessible(p, size, true))) {
    say("invalid-host-memory",
        fmt::format("{} bytes at {} are not memory of this process that can be written, all along", size, p));
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (known && known->kind == MemoryKind::device) return CUDA_ERROR_INVALID_VALUE;
  return s.machine.memory().register_host(p, size) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

uint8_t* reach(State& s, const void* p, size_t size, Side side, bool write) {
  const uint64_t address = address_of(p);
  const Allocation* a = s.machine.memory().find(address);
  if (a && (side != Side::host || host_sees(*a))) {
    uint8_t* here = s.machine.memory().at(address, size);
    // Registered memory is the program's own: it may have unmapped it since.
    return a->kind != MemoryKind::registered || image::host_accessible(here, here ? size : 0, write) ? here : nullptr;
  }
  if (a || side == Side::device || s.machine.memory().reserved(address) || !image::host_accessible(p, size, write))
    return nullptr;
  return const_cast<uint8_t*>(static_cast<const uint8_t*>(p));
}

CUresult copy(State& s, const CopyEnd& dst, const CopyEnd& src, size_t width, size_t height, size_t depth) {
  if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
  const auto first = [](const CopyEnd& e) {
    return reinterpret_cast<const void*>((address_of(e.base) + e.offset).value());
  };
  const void *to_place = first(dst), *from_place = first(src);
  uint8_t* to = reach(s, to_place, extent(width, height, depth, dst.pitch, dst.slice), dst.side, true);
  const uint8_t* from = reach(s, from_place, extent(width, height, depth, src.pitch, src.slice), src.side, false);
  if (!to || !from) {
    const void* bad = to ? from_place : to_place;
    const Side side = to ? src.side : dst.side;
    say("invalid-copy",
        fmt::format("the {} of a copy of {}, {}, is not {} memory all along", to ? "source" : "destination",
                    block_text(width, height, depth), bad, side == Side::host ? "host" : "device"),
        s.machine.memory().describe(address_of(bad)));
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (s.rehearsal) {
    for (const void* p : {to_place, from_place}) s.rehearsal->pageable |= !s.machine.memory().find(address_of(p));
    return CUDA_SUCCESS;
  }
  const uint64_t address = address_of(to_place);
  const uint64_t to_pitch = dst.pitch.value(), to_slice = dst.slice.value();
  const uint64_t from_pitch = src.pitch.value(), from_slice = src.slice.value();
  for (size_t z = 0; z < depth; ++z)
    for (size_t y = 0; y < height; ++y) {
      std::memmove(to + z * to_slice + y * to_pitch, from + z * from_slice + y * from_pitch, width);
      s.machine.memory().written(address + z * to_slice + y * to_pitch, width);
    }
  const bool device_only = to != to_place && from != from_place;
  charge_copy(s, width * height * depth, !device_only);
  return CUDA_SUCCESS;
}

CUresult fill(State& s, uint64_t dst, uint32_t value, uint32_t bytes, size_t width, size_t height, CheckedSize pitch,
              size_t depth, CheckedSize slice) {
  if (width == 0 || height == 0 || depth == 0) return CUDA_SUCCESS;
  if (dst % bytes || (height > 1 && pitch.value() % bytes)) return CUDA_ERROR_INVALID_VALUE;
  const CheckedSize row_bytes = CheckedSize(width) * bytes;
  uint8_t* to =
      reach(s, reinterpret_cast<const void*>(dst), extent(row_bytes, height, depth, pitch, slice), Side::device, true);
  if (!to) {
    say("invalid-fill",
        fmt::format("a fill of {} at {:#x} leaves device memory", block_text(row_bytes, height, depth), dst),
        s.machine.memory().describe(dst));
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (s.rehearsal) return CUDA_SUCCESS;
  const uint64_t in_row = row_bytes.value(), to_pitch = pitch.value(), to_slice = slice.value();
  for (size_t z = 0; z < depth; ++z)
    for (size_t y = 0; y < height; ++y) {
      uint8_t* row = to + z * to_slice + y * to_pitch;
      if (bytes == 1)
        std::memset(row, int(value & 0xff), width);
      else if (bytes == 2)
        std::fill_n(reinterpret_cast<uint16_t*>(row), width, uint16_t(value));
      else
        std::fill_n(reinterpret_cast<uint32_t*>(row), width, value);
      s.machine.memory().written(dst + z * to_slice + y * to_pitch, in_row);
    }
  charge_copy(s, in_row * height * depth / 2, false);
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
