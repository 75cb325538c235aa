// mma() with AVX-512.
#include "common/tinygpu/numerics/mma_levels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include "common/tinygpu/numerics/mma_avx512.h"
#include "common/tinygpu/numerics/mma_vector.h"

namespace tinygpu::numerics {

bool mma_v4(const MmaTile& tile) { return VectorMma<Avx512, 16>::run(tile); }

}  // namespace tinygpu::numerics
#else
namespace tinygpu::numerics {
bool mma_v4(const MmaTile&) { return false; }
}  // namespace tinygpu::numerics
#endif
