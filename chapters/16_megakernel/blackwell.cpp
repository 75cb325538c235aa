#include "chapters/16_megakernel/target.h"

namespace megakernel {

const Target kTarget{"a whole layer in one kernel", "b200", [](uint32_t) { return Tiling{}; },
                     [](uint32_t batch) { return batch <= 16 ? 16 : kLargestBatch; }};

}  // namespace megakernel
