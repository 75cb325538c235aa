// One kernel of the template in common/kernels, included once for each: POINT says what its point has, NAME is a name
// of its own. The template wants its parameters as constants of the namespace that it stands in.

namespace NAME {

constexpr tiny::Point kPoint{POINT};

// ---- What a point does not choose: bf16 in, f32 out, stored by TMA in boxes of 128 bytes.
using In = uint16_t;
using Out = float;
constexpr auto kInType = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
constexpr auto kOutType = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
constexpr auto kElement = gen5::layout::Element::bf16;
constexpr auto kKind = gen5::layout::Kind::f16;
enum class Epilogue { tma, tma_whole, direct };
enum class Schedule { serial, persistent, launch_control, stream_k };
constexpr Epilogue kEpilogue = Epilogue::tma;
constexpr uint32_t kStoreBytes = 128, kClusterM = 1, kClusterN = 1, kSplit = 1, kBand = tiny::kBand;
constexpr bool kMeets = false;

// ---- What it chooses
constexpr uint32_t kRows = kPoint.rows(), kTileN = kPoint.n, kPair = kPoint.ctas;
constexpr uint32_t kBlockBytes = kPoint.block, kSpan = kPoint.span, kStages = kPoint.stages;
constexpr uint32_t kAccumulators = kPoint.accumulators;
constexpr Schedule kSchedule = kPoint.persistent ? Schedule::persistent : Schedule::serial;

// In the order in which each uses the ones before.
#include "common/kernels/host.cuh"

#include "common/kernels/gemm_begin.cuh"

#include "common/kernels/gemm_plain.cuh"

#include "common/kernels/gemm_blackwell.cuh"

inline void run(const search::Operands& o) { launch({o.a, o.b, o.d, o.m, o.n, o.k}); }

}  // namespace NAME

#undef NAME
#undef POINT
