#include "chapters/16_megakernel/target.h"

namespace megakernel {

const Target kTarget{"a whole layer in one kernel", "b200",
                     [](const Sizes& s) {
                       Tiling t;
                       if (s.prefill) t.tokens = kTokenTile;
                       return t;
                     },
                     [](const Sizes& s) { return s.prefill       ? kTokenTile
                                                 : s.batch <= 16 ? 16
                                                                 : kLargestBatch; }};

}  // namespace megakernel
