// Where an address points, with hardware's checks: bounds, alignment, the CTA rank in shared addresses.
#pragma once
#include <cstdint>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access_events.h"
#include "common/tinygpu/machine/origin.h"
#include "common/tinygpu/ptx/types.h"

namespace tinygpu {

/// A resolved address. `host` is valid for the `bytes` asked for.
struct Place {
  ptx::Space space = ptx::Space::global;  // global, shared, local, param
  uint8_t* host = nullptr;
  Cta* cta = nullptr;    // owner of shared memory
  uint64_t address = 0;  // global address, or offset in the space
};

/// Resolves `address` for one lane. `space` is the instruction's (generic: by window). Shared addresses are
/// rank << 24 | offset; .shared and .shared::cta accept only the warp's own rank, .shared::cluster any live one.
/// Faults: misaligned_address, illegal_address with how far outside what. `verb` is the word for messages: "load" …
Place locate(Warp& w, ptx::Space space, uint64_t address, uint32_t bytes, uint32_t align, AccessKind kind, int lane,
             const char* verb);

/// The shared-window part alone: CTA and offset of a 32-bit shared::cluster address; no bounds check of the offset.
/// Faults if the rank is not in the cluster or that CTA has exited; for a plain store, the latter is a warning.
Cta& shared_owner(Warp& w, uint32_t address, uint32_t& offset, int lane, const char* verb, bool plain_store = false);

/// 32-bit shared::cluster address of a generic or 32-bit shared address operand (mbarrier and bulk-copy operands may be
/// either). Faults if a generic address is not in the shared window.
uint32_t to_shared(Warp& w, uint64_t address, bool wide, int lane, const char* what);

// ---- mbarrier operations, shared by isa/mbarrier.cpp and every engine that signals one
/// The live barrier at `offset` of `owner`, or a fault "mbarrier-not-initialised".
MBarrier& mbarrier_at(Cta& owner, uint32_t offset, const Origin& who, const char* operation);
/// pending −= count (faults past the limits, which an H200 showed), then the completion test at time `when`.
void mbarrier_arrive(Cta& owner, uint32_t offset, uint32_t count, uint64_t when, const Origin& who);
/// expected −= count for the later phases, then an arrive of `count`.
void mbarrier_arrive_drop(Cta& owner, uint32_t offset, uint32_t count, uint64_t when, const Origin& who);
/// tx += bytes, then the completion test (bytes that landed before they were expected end the phase here).
void mbarrier_expect_tx(Cta& owner, uint32_t offset, uint64_t bytes, uint64_t when, const Origin& who);
/// tx −= bytes, then the completion test.
void mbarrier_complete_tx(Cta& owner, uint32_t offset, uint64_t bytes, uint64_t when, const Origin& who);

}  // namespace tinygpu
