// A streaming multiprocessor, as far as warps share it.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/machine/chip/bookings.h"
#include "common/tinygpu/machine/chip/cold_start.h"
#include "common/tinygpu/machine/extension.h"
#include "common/tinygpu/machine/memory/l1.h"
#include "common/tinygpu/program/op.h"

namespace tinygpu {

class Cta;
class Domain;

struct Sm {
  explicit Sm(uint32_t l1_bytes) : l1(l1_bytes) {}
  Domain* domain = nullptr;
  uint32_t index = 0;           // %smid
  Bookings port[4];             // issue ports of the sub-partitions (see Warp::run)
  Bookings pipes[4][kPipes];    // and their units
  int64_t reads_until[4] = {};  // and until when an mma.sync reads its registers
  LongBookings shared_port;     // the shared-memory pipe
  uint64_t wgmma_until = 0;     // the tensor cores have wgmma to do, as far as it is known
  uint64_t stores_held = 0;     // no store leaves before: those on their way are too many
  L1Cache l1;
  ColdStart cold;
  uint32_t threads = 0, blocks = 0;
  uint32_t shared_used = 0, registers_used = 0;
  std::vector<Cta*> resident;
  Extensions extensions;             // its engines: tensor core, TMA, Tensor Memory …
  Extension* memory_unit = nullptr;  // one of them, at hand for every load and store: isa/memory_unit.h
};

}  // namespace tinygpu
