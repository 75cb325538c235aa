// A streaming multiprocessor, as far as warps share it.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/machine/chip/bookings.h"
#include "common/tinygpu/machine/chip/cold_start.h"
#include "common/tinygpu/machine/chip/room.h"
#include "common/tinygpu/machine/extension.h"
#include "common/tinygpu/machine/memory/l1.h"
#include "common/tinygpu/program/op.h"

namespace tinygpu {

class Cta;

struct Sm {
  Sm(uint32_t i, const SmShare& all) : index(i), room(all) {}
  const uint32_t index;         // %smid
  Bookings port[4];             // issue ports of the sub-partitions (see Warp::run)
  Bookings pipes[4][kPipes];    // and their units
  int64_t reads_until[4] = {};  // and until when an mma.sync reads its registers
  LongBookings shared_port;     // the shared-memory pipe
  uint64_t wgmma_until = 0;     // the tensor cores have wgmma to do, as far as it is known
  uint64_t stores_held = 0;     // no store leaves before: those on their way are too many
  L1Cache l1;
  FirstWait translation;       // of an address
  SmRoom room;                 // that no CTA has
  uint64_t set_up_for = 0;     // the grid that found nobody here last,
  uint32_t carveout = 0;       // and the bytes of shared memory that it was given: they stay while somebody is there
  uint64_t next_start = 0;     // it can start no CTA's warps sooner
  std::vector<Cta*> resident;  // of all grids
  Extensions extensions;       // its engines: tensor core, TMA, Tensor Memory …
  Extension* memory_unit = nullptr;  // one of them, at hand for every load and store: isa/memory_unit.h
};

}  // namespace tinygpu
