// A streaming multiprocessor, as far as warps share it.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/machine/extension.h"

namespace tinygpu {

class Cta;
class Domain;

struct Sm {
  Domain* domain = nullptr;
  uint32_t index = 0;              // %smid
  int64_t port[4] = {0, 0, 0, 0};  // issue ports of the sub-partitions (see Warp::run)
  uint64_t shared_port = 0;        // next free cycle of the shared-memory pipe
  uint32_t threads = 0, blocks = 0;
  uint32_t shared_used = 0, registers_used = 0;
  std::vector<Cta*> resident;
  Extensions extensions;  // its engines: tensor core, TMA, Tensor Memory …
};

}  // namespace tinygpu
