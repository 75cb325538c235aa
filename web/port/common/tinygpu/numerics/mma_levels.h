// WebAssembly's vectors, of 128 bits and without a fused multiply-add: the sums that need neither that nor a rounding
// mode (general.h), on the vectors of lanes.h beside this.
#pragma once
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu::numerics {

namespace wasm {
bool mma_vector(const MmaTile& tile);
}

struct Level {
  const char* name;
  bool (*supported)();
  bool (*run)(const MmaTile&);
};

inline bool always() { return true; }
constexpr Level kLevels[] = {{"wasm", always, wasm::mma_vector}, {"scalar", always, nullptr}};

}  // namespace tinygpu::numerics
