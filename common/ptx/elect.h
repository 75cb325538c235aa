// elect.sync (PTX ISA 9.7.13.14): one lane of the warp steps forward.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// True in exactly one lane of the converged warp; the same lane each time.
GEN5_PTX bool elect_sync() {
  uint32_t elected;
  asm volatile(GEN5_PTX_SETS_P("elect.sync _|p, 0xffffffff;") : "=r"(elected)::"memory");
  return elected != 0;
}

}  // namespace gen5::ptx
