#include "chapters/16_megakernel/target.h"

#include "chapters/16_megakernel/hopper/sizes.h"

namespace megakernel {

const Target kTarget{"a whole layer in one kernel, on Hopper", "h200",
                     [](uint32_t batch) {
                       const bool wide = is_wide(input_rows(batch));
                       return Tiling{tile_rows(wide), page_blocks(wide) * kBlock, wide, wide};
                     },
                     input_rows};

}  // namespace megakernel
