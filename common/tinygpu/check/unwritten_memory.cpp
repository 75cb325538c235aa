#include "common/tinygpu/check/unwritten_memory.h"

#include <fmt/format.h>

#include <cstring>

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu::checks {
namespace {

constexpr uint64_t kWord = 4;

/// What an unwritten word at `address` holds.
uint32_t mark(uint64_t address) {
  const uint64_t mixed = (address / kWord + 1) * 0x9e3779b97f4a7c15ull;
  return uint32_t(mixed >> 32) ^ uint32_t(mixed);
}

}  // namespace

void mark_unwritten(const GlobalMemory& memory, uint64_t address, uint64_t size) {
  uint8_t* const bytes = memory.translate(address, size);
  for (uint64_t at = 0; bytes && at + kWord <= size; at += kWord) {
    const uint32_t word = mark(address + at);
    std::memcpy(bytes + at, &word, kWord);
  }
}

void UnwrittenMemory::on_launch(const Launch&) { told_.clear(); }

void UnwrittenMemory::on_access(const MemoryAccess& a) {
  if (a.space != ptx::Space::global || a.kind == AccessKind::write) return;
  const GlobalMemory& memory = a.partition.launch.gpu.memory;
  bool found = false;
  a.each([&](uint64_t address, uint64_t bytes, int lane) {
    if (found) return;
    const uint64_t first = address / kWord * kWord, end = (address + bytes + kWord - 1) / kWord * kWord;
    const Allocation* const in = memory.find(address);
    const uint8_t* const words =
        in && in->kind == MemoryKind::device && in->name.empty() ? memory.translate(first, end - first) : nullptr;
    for (uint64_t at = first; words && at < end; at += kWord) {
      uint32_t word;
      std::memcpy(&word, words + (at - first), kWord);
      if (word != mark(at)) continue;
      found = true;
      Origin who = a.who();
      std::lock_guard lock(mutex_);
      if (!told_.insert(who.op).second) return;
      if (lane >= 0) who.lane = lane;
      who.report(
          {.code = "global-uninitialised",
           .severity = Severity::warning,
           .message = fmt::format("{} reads {} bytes at global address {:#x}: byte {} of an allocation of {}, which "
                                  "neither a kernel nor the host has written",
                                  who.function->instruction(*who.op).name(), kWord, at, at - in->base, in->size),
           .help = "write it first, by a copy, by cudaMemset or in a kernel; or compare the address with the end of "
                   "the data",
           .where = who.where(a.time),
           .label = "reads arbitrary bytes"});
      return;
    }
  });
}

}  // namespace tinygpu::checks
