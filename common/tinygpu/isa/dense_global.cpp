#include "common/tinygpu/isa/dense_global.h"

#include <cstring>

#include "common/tinygpu/isa/memory_access.h"
#include "common/tinygpu/isa/memory_unit.h"

namespace tinygpu::isa {

using ptx::Space;

uint8_t* dense_global(Warp& w, const Op& op, Space space, uint32_t bytes, bool load) {
  if (space != Space::global && space != Space::constant && space != Space::generic) return nullptr;
  if (!w.full() || op.a == kNoSlot || !memory_operand(op).wide || memory_operand(op).strong) return nullptr;
  if (w.told(Observer::global_accesses | Observer::traffic)) return nullptr;
  const uint64_t* address = w.at<uint64_t>(op.a);
  const uint64_t first = address[0] + uint64_t(op.imm), length = 32 * uint64_t(bytes);
  if (first & (bytes - 1)) return nullptr;
  if (space == Space::generic && first + length > kSharedWindow && first < kFunctionWindow + kWindowSize)
    return nullptr;
  const int log = __builtin_ctz(bytes);
  uint64_t gaps = 0;
  for (int i = 0; i < 32; ++i) gaps |= (address[i] - address[0]) ^ uint64_t(i) << log;
  if (gaps) return nullptr;
  uint8_t* const host = global_bytes(w, first, length);
  if (!host) return nullptr;
  if (space == Space::constant) {
    w.result_at(op, w.time() + memory_unit(w).constant_latency);
    return host;
  }
  TouchedLines lines;
  const auto [line, end] = w.gpu().l2.lines_of(first, length);
  const uint32_t sectors = uint32_t(((first + length - 1) >> 5) - (first >> 5) + 1);
  uint64_t at = first;
  for (uint64_t l = line; l < end; ++l) {
    const uint64_t next = std::min(first + length, (at / L2Cache::kLine + 1) * L2Cache::kLine);
    const uint32_t low = uint32_t(at % L2Cache::kLine / 32), high = uint32_t((next - 1) % L2Cache::kLine / 32);
    lines.line[lines.count] = uint32_t(l);
    lines.sectors[lines.count] = uint8_t((2u << high) - (1u << low));
    std::memset(lines.bytes[lines.count], 32, 4);
    if (at % 32) lines.bytes[lines.count][low] = 1;
    if (next % 32) lines.bytes[lines.count][high] = 1;
    ++lines.count;
    at = next;
  }
  if (load)
    finish_global_load(w, op, lines, sectors);
  else
    finish_global_store(w, lines, sectors);
  return host;
}

}  // namespace tinygpu::isa
