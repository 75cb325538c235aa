// mma() with AVX2.
#include "common/tinygpu/numerics/mma_levels.h"

#if defined(__AVX2__) && defined(__F16C__)
#include "common/tinygpu/numerics/mma_avx2.h"
#include "common/tinygpu/numerics/mma_vector.h"

namespace tinygpu::numerics {

bool mma_v3(const MmaTile& tile) { return VectorMma<Avx2, 16>::run(tile); }

}  // namespace tinygpu::numerics
#else
namespace tinygpu::numerics {
bool mma_v3(const MmaTile&) { return false; }
}  // namespace tinygpu::numerics
#endif
