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

uint32_t rows_of_page(const Sizes& s) { return s.prefill ? kTokenTile : input_rows(s.batch); }

}  // namespace

const Target kTarget{"a whole layer in one kernel, on Hopper",
                     "h200",
                     [](const Sizes& s) {
                       const uint32_t n = rows_of_page(s);
                       Tiling t;
                       t.rows = tile_rows(n);
                       t.gated = s.prefill ? t.rows / 2 : t.rows;
                       t.columns = page_blocks(n) * kBlock;
                       t.split = t.norms_apart = is_wide(n);
                       if (s.prefill) t.tokens = kTokenTile;
                       t.gate_apart = !s.prefill;
                       return t;
                     },
                     rows_of_page,
                     &kMarkedStep,
                     true,
                     true};

}  // namespace megakernel
