// Tiles of 8-bit and narrower numbers with AVX-512.
#include "common/tinygpu/numerics/mma_levels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include "common/tinygpu/numerics/mma_avx512.h"
#include "common/tinygpu/numerics/mma_bytes.h"

namespace tinygpu::numerics {

bool mma_bytes_v4(const MmaTile& tile, const NarrowRest* parts, NarrowRest& rest) {
  return ByteMma<Avx512>::run(tile, parts, rest);
}

}  // namespace tinygpu::numerics
#else
namespace tinygpu::numerics {
bool mma_bytes_v4(const MmaTile&, const NarrowRest*, NarrowRest&) { return false; }
}  // namespace tinygpu::numerics
#endif
