#include "chapters/16_megakernel/target.h"

#include "chapters/16_megakernel/hopper/sizes.h"

namespace megakernel {

const Target kTarget{"a whole layer in one kernel, on Hopper",
                     "h200",
                     {.rows = kBand, .columns = kBlocks * kBlock, .split = false, .norms_apart = false},
                     input_rows};

}  // namespace megakernel
