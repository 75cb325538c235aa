// Steps 4 to 8 of chapter 13 as points of the template.
#include "chapters/15_search/template.cuh"

namespace search {
namespace {

#define NAME roles
#define POINT
#include "chapters/15_search/kernel.cuh"

#define NAME stays
#define POINT .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME overlap
#define POINT .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME wide
#define POINT .n = 256, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME two_sms
#define POINT .m = 256, .n = 256, .ctas = 2, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

constexpr Kernel kSteps[] = {{roles::kPoint, roles::run},
                             {stays::kPoint, stays::run},
                             {overlap::kPoint, overlap::run},
                             {wide::kPoint, wide::run},
                             {two_sms::kPoint, two_sms::run}};

}  // namespace

std::span<const Kernel> steps() { return kSteps; }

}  // namespace search
