// Tiles of 8-bit and narrower numbers with AVX2.
#include "common/tinygpu/numerics/mma_levels.h"

#if defined(__AVX2__) && defined(__F16C__)
#include "common/tinygpu/numerics/mma_avx2.h"
#include "common/tinygpu/numerics/mma_bytes.h"

namespace tinygpu::numerics {

bool mma_bytes_v3(const MmaTile& tile, const NarrowRest* parts, NarrowRest& rest) {
  return ByteMma<Avx2>::run(tile, parts, rest);
}

}  // namespace tinygpu::numerics
#else
namespace tinygpu::numerics {
bool mma_bytes_v3(const MmaTile&, const NarrowRest*, NarrowRest&) { return false; }
}  // namespace tinygpu::numerics
#endif
