// A streaming multiprocessor, as far as warps share it.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "common/tinygpu/machine/chip/cold_start.h"
#include "common/tinygpu/machine/chip/reservation_table.h"
#include "common/tinygpu/machine/chip/sm_resources.h"
#include "common/tinygpu/machine/extension.h"
#include "common/tinygpu/machine/memory/l1.h"
#include "common/tinygpu/program/op.h"

namespace tinygpu {

class Cta;
class LoadStoreUnit;  // engines/lsu

struct Sm {
  Sm(uint32_t i, const CtaResources& all) : index(i), room(all) {}
  /// The sub-partition of the first warp of a CTA that comes now; its other warps go to the following ones in turn. The
  /// next CTA goes on where this one stops; behind one that fills all four alike, one further (measured on an H200,
  /// 2026-11-24: %warpid of CTAs of 1 to 8 warps, on empty SMs and where others have ended).
  uint32_t place_cta(uint32_t warps) {
    return std::exchange(next_sub_partition, (next_sub_partition + (warps % 4 ? warps : 1)) % 4);
  }
  const uint32_t index;  // %smid
  uint32_t next_sub_partition = 0;
  uint64_t warps_started = 0;
  ReservationTable port[4];           // issue ports of the sub-partitions (see Warp::run)
  ReservationTable pipes[4][kPipes];  // and their units
  int64_t reads_until[4] = {};        // and until when an mma.sync reads its registers
  LongReservationTable shared_port;   // the shared-memory pipe
  uint64_t wgmma_until = 0;           // the tensor cores have wgmma to do, as far as it is known
  uint64_t stores_held = 0;           // no store leaves before: those on their way are too many
  L1Cache l1;
  ColdMiss translation;          // of an address
  ColdMiss copy_constants;       // that its first bulk copy needs
  ColdMiss first_copy;           // out of global memory
  SmResources room;              // that no CTA has
  uint64_t set_up_for = 0;       // the grid that last found no CTA here,
  uint32_t carveout = 0;         // and the bytes of shared memory that it was given: they stay while CTAs are there
  uint64_t next_start = 0;       // it can start no CTA's warps sooner
  std::vector<Cta*> resident;    // of all grids
  Extensions extensions;         // its engines: tensor core, TMA, Tensor Memory …
  LoadStoreUnit* lsu = nullptr;  // one of them, at hand for every load and store; null before the first
};

}  // namespace tinygpu
