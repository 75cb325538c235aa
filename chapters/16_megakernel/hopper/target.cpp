#include "chapters/16_megakernel/target.h"

#include "chapters/16_megakernel/hopper/sizes.h"
#include "chapters/16_megakernel/megakernel.h"

namespace megakernel {
namespace {

const Step kMarkedStep{7,
                       "marked",
                       "step 4, with numbers that bring their own mark",
                       "a hand-over waits for no fence.",
                       launch_marked,
                       true,
                       true,
                       false,
                       true};

}  // namespace

const Target kTarget{"a whole layer in one kernel, on Hopper",
                     "h200",
                     [](uint32_t batch) {
                       const bool wide = is_wide(input_rows(batch));
                       return Tiling{tile_rows(wide), page_blocks(wide) * kBlock, wide, wide};
                     },
                     input_rows,
                     &kMarkedStep,
                     true,
                     true};

}  // namespace megakernel
