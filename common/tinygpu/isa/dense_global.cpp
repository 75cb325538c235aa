#include "common/tinygpu/isa/dense_global.h"

#include "common/tinygpu/isa/memory_access.h"
#include "common/tinygpu/isa/memory_unit.h"

TINYGPU_ISA_BEGIN

using ptx::Space;

bool dense_global(Warp& w, const Op& op, Space space, uint32_t bytes, bool load, DenseGlobal& out) {
  if (space != Space::global && space != Space::constant && space != Space::generic) return false;
  if (!w.full() || op.a == kNoSlot || !memory_operand(op).wide || memory_operand(op).strong) return false;
  if (w.told(Observer::global_accesses | Observer::traffic)) return false;
  const uint64_t* address = w.at<uint64_t>(op.a);
  const uint64_t first = address[0] + uint64_t(op.imm), length = 32 * uint64_t(bytes);
  if (first & (bytes - 1)) return false;
  if (space == Space::generic && first + length > kSharedWindow && first < kFunctionWindow + kWindowSize) return false;
  const int log = __builtin_ctz(bytes);
  uint64_t gaps = 0;
  for (int i = 0; i < 32; ++i) gaps |= (address[i] - address[0]) ^ uint64_t(i) << log;
  if (gaps) return false;
  out.first = global_bytes(w, first, length);
  if (!out.first) return false;
  MemoryUnit& unit = memory_unit(w);
  uint32_t latency = unit.global_latency;
  if (space != Space::constant) {
    L2View& l2 = w.domain().l2;
    if (!load)
      l2.write(first, length);
    else if (l2.read(first, length))
      latency += unit.timing.miss_latency;
  }
  const uint32_t sectors = uint32_t(((first + length - 1) >> 5) - (first >> 5) + 1);
  out.ready = Turn(w, unit).global(sectors, latency);
  return true;
}

TINYGPU_ISA_END
