// What the climb tries on its way from chapter 13's step 4, for the chapter's product.
#include "chapters/15_search/template.cuh"

namespace search {
namespace {

#define NAME tall_pair
#define POINT .m = 512, .n = 256, .ctas = 2
#include "chapters/15_search/kernel.cuh"

#define NAME tall
#define POINT .m = 256
#include "chapters/15_search/kernel.cuh"

#define NAME two_stages
#define POINT .m = 256, .n = 256, .ctas = 2, .stages = 2
#include "chapters/15_search/kernel.cuh"

#define NAME tall_two_stages
#define POINT .m = 512, .n = 128, .ctas = 2, .stages = 2
#include "chapters/15_search/kernel.cuh"

#define NAME tall_stays
#define POINT .m = 256, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME winner
#define POINT .m = 256, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME narrow_pair
#define POINT .m = 256, .ctas = 2, .stages = 6, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME large_blocks
#define POINT .m = 256, .ctas = 2, .block = 256, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME deep
#define POINT .stages = 6, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

constexpr Kernel kOthers[] = {{tall_pair::kPoint, tall_pair::run},
                              {tall::kPoint, tall::run},
                              {two_stages::kPoint, two_stages::run},
                              {tall_two_stages::kPoint, tall_two_stages::run},
                              {tall_stays::kPoint, tall_stays::run},
                              {winner::kPoint, winner::run},
                              {narrow_pair::kPoint, narrow_pair::run},
                              {large_blocks::kPoint, large_blocks::run},
                              {deep::kPoint, deep::run}};

}  // namespace

std::span<const Kernel> others() { return kOthers; }

}  // namespace search
