#include "common/tinygpu/isa/heap.h"

namespace tinygpu::isa {
namespace {

constexpr const char* kHeapName = "device heap";

}  // namespace

uint64_t allocate_in_heap(Gpu& gpu, uint64_t bytes) {
  if (!bytes || bytes > gpu.heap_limit || gpu.heap_used + bytes > gpu.heap_limit) return 0;
  const uint64_t address = gpu.memory.allocate(bytes, 16, MemoryKind::device, kHeapName);
  if (address) gpu.heap_used += bytes;
  return address;
}

void free_in_heap(Warp& w, uint64_t address, int lane) {
  if (address == 0) return;
  Gpu& gpu = w.gpu();
  const Allocation* a = gpu.memory.find(address);
  const char* help =
      "free memory once: memory from cudaMalloc on the host, memory from malloc in a kernel in a "
      "kernel";
  if (!a) w.fault(FaultKind::launch_failure, "heap-free-invalid", "free of a pointer to no allocation", help, lane);
  // An H200 goes on 64 bytes into memory of cudaMalloc, and faults 4 bytes into it: by the alignment, it is inferred.
  if (address % 16 || (a->name == kHeapName && a->base != address))
    w.fault(FaultKind::illegal_address, "heap-free-invalid", "free of a pointer into the middle of an allocation", help,
            lane);
  if (a->name != kHeapName) {
    w.report(Severity::error, "heap-free-invalid", "free of a pointer that device-side malloc did not return", help,
             lane);
    return;
  }
  gpu.heap_used -= a->size;
  gpu.memory.release(address);
}

}  // namespace tinygpu::isa
