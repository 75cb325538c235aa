#include "common/tinygpu/machine/warp/frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"
#include "common/tinygpu/machine/warp/special.h"

namespace tinygpu {

Frames::~Frames() { warp_.partition().launch.give_memory(taken_); }

void Frames::ensure_registers(size_t bytes) {
  if (file_.size() >= bytes) return;
  bytes = std::max(bytes, file_.size() * 2);
  take_memory(bytes - file_.size());
  file_.resize(bytes, 0xCD);
}

void Frames::take_memory(size_t bytes) {
  taken_ += bytes;
  if (warp_.partition().launch.take_memory(bytes)) return;
  const char* help = "end the recursion, launch fewer threads, or give each less local memory";
  const std::string message = fmt::format(
      "the registers and local memory of all threads in flight need more than the {} MiB that this host can give",
      warp_.partition().launch.memory_limit() >> 20);
  if (warp_.started()) warp_.fault(FaultKind::stack_overflow, "stack-overflow", message, help);
  Where where;
  where.kernel = warp_.partition().launch.config.kernel->name;
  throw KernelFault({"stack-overflow", Severity::error, FaultKind::stack_overflow, message, help, where});
}

uint8_t* Frames::local(const Group& g, uint32_t lane, uint32_t offset, uint32_t size) {
  auto& bytes = local_[lane];
  const uint64_t end = uint64_t(offset) + size;
  if (end > kLocalLimit)
    warp_.fault(FaultKind::stack_overflow, "stack-overflow",
                fmt::format("local memory offset {} is past the {} bytes a thread may have", end, kLocalLimit),
                "recursion without end, or a local array that is too large", int(lane));
  if (bytes.size() < end) {
    // A whole frame at a time, so that pointers taken within one op stay valid.
    const size_t frame = size_t(g.local_base) + g.function->local_bytes;
    if (frame > kLocalLimit)
      warp_.fault(FaultKind::stack_overflow, "stack-overflow",
                  fmt::format("local memory up to offset {}, past the {} bytes a thread may have", frame, kLocalLimit),
                  "recursion without end, or a local array that is too large", int(lane));
    const size_t size = std::max<size_t>({size_t(end), frame, std::min<size_t>(2 * bytes.size(), kLocalLimit)});
    take_memory(size - bytes.size());
    bytes.reserve(std::max<size_t>(size, 1024));
    bytes.resize(size, 0xCD);
  }
  return bytes.data() + offset;
}

uint32_t Frames::shared_offset(const ptx::Variable& v) const {
  const Function& kernel = *warp_.partition().launch.config.kernel;
  const auto it = kernel.shared_offsets.find(&v);
  if (it == kernel.shared_offsets.end())
    warp_.fault(FaultKind::not_modelled, "not-modelled",
                fmt::format("not modelled: a function with shared memory of its own ({}) whose address {} has not from "
                            "its own code nor from an initialised variable",
                            v.name, kernel.name),
                "call the function by its name");
  return it->second;
}

namespace {

/// A loop that compilers turn into vectors, for the widths that registers have most.
template <class T>
void write_all(uint8_t* slot, const uint64_t* lanes) {
  for (size_t i = 0; i < 32; ++i) {
    const T value = T(lanes[i]);
    std::memcpy(slot + i * sizeof value, &value, sizeof value);
  }
}

}  // namespace

void Frames::write_constants(const Function& f, uint32_t base, uint32_t local_base, uint32_t mask) {
  uint64_t lanes[32];
  for (const FrameConstant& c : f.constants) {
    uint8_t* slot = file_.data() + base + c.slot;
    uint64_t bits = c.bits;
    if (c.kind == FrameConstant::Kind::special) {
      special_values(warp_, Special(c.bits), lanes);
    } else {
      const bool kernels = c.kind == FrameConstant::Kind::kernel_shared;
      if (kernels || c.kind == FrameConstant::Kind::shared) bits += uint64_t(warp_.cta().rank) << 24;
      if (kernels) bits += shared_offset(*c.variable);
      if (c.kind == FrameConstant::Kind::local) bits += local_base;
      std::fill(lanes, lanes + 32, bits);
    }
    if (c.width == 0) {
      uint32_t m = 0;
      for (int i = 0; i < 32; ++i) m |= uint32_t(lanes[i] & 1) << i;
      uint32_t& p = *reinterpret_cast<uint32_t*>(slot);
      p = (p & ~mask) | (m & mask);
      continue;
    }
    if (mask == ~0u && c.width == 4) {
      write_all<uint32_t>(slot, lanes);
      continue;
    }
    if (mask == ~0u && c.width == 8) {
      write_all<uint64_t>(slot, lanes);
      continue;
    }
    for (int i = 0; i < 32; ++i) {
      if (!(mask >> i & 1)) continue;
      uint64_t value[2] = {lanes[i], 0};
      std::memcpy(slot + size_t(i) * c.width, value, c.width);
    }
  }
}

}  // namespace tinygpu
