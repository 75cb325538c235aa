#include "common/tinygpu/engines/mma/mma_kind.h"

namespace tinygpu {
namespace {

using numerics::Format;
using Type = MmaKindInfo::Type;
using Result = MmaKindInfo::Result;

constexpr Type kHalves[] = {{0, Format::f16}, {1, Format::bf16}};
constexpr Type kTf32[] = {{2, Format::tf32}};
constexpr Type kNarrow[] = {
    {0, Format::e4m3}, {1, Format::e5m2}, {3, Format::e2m3}, {4, Format::e3m2}, {5, Format::e2m1}};
constexpr Type kBytes[] = {{0, Format::u8}, {1, Format::s8}};
constexpr Type kFp4[] = {{1, Format::e2m1}};

constexpr Result kFloats[] = {{0, MmaAccumulator::f16}, {1, MmaAccumulator::f32}};
constexpr Result kF32[] = {{1, MmaAccumulator::f32}};
constexpr Result kS32[] = {{2, MmaAccumulator::s32}};

using Timed = MmaShape::Kind;
constexpr MmaKindInfo kKinds[] = {
    // name, K, bytes, types, results, metadata span, timed as, scale vectors
    {"f16", 16, 2, kHalves, kFloats, 4, Timed::floats, 0},        {"tf32", 8, 4, kTf32, kF32, 2, Timed::floats, 0},
    {"f8f6f4", 32, 1, kNarrow, kFloats, 4, Timed::floats, 0},     {"i8", 32, 1, kBytes, kS32, 4, Timed::integers, 0},
    {"mxf8f6f4", 32, 1, kNarrow, {}, 4, Timed::block_scaled, 1},  {"mxf4", 64, 1, kFp4, {}, 8, Timed::block_scaled, 2},
    {"mxf4nvf4", 64, 1, kFp4, {}, 8, Timed::block_scaled, 2 + 4},
};

}  // namespace

const MmaKindInfo& info(MmaKind k) { return kKinds[size_t(k)]; }
const char* name_of(MmaKind k) { return info(k).name.data(); }

std::optional<MmaKind> mma_kind_from(std::string_view name) {
  for (size_t k = 0; k < std::size(kKinds); ++k)
    if (name == kKinds[k].name) return MmaKind(k);
  return std::nullopt;
}

ElementPacking packing_of(MmaKind kind, Format f) {
  switch (numerics::info(f).bits) {
    case 6: return ElementPacking::padded_b6;
    case 4: return info(kind).nibbles() ? ElementPacking::nibbles : ElementPacking::padded_b4;
    default: return ElementPacking::natural;
  }
}

uint32_t per_chunk(ElementPacking p, uint32_t element_bytes) {
  return p == ElementPacking::nibbles ? 32 : 16 / element_bytes;
}
uint32_t per_cell(ElementPacking p, uint32_t element_bytes) {
  return p == ElementPacking::nibbles ? 8 : 4 / element_bytes;
}

}  // namespace tinygpu
