// tensormap.replace and tensormap.cp_fenceproxy (PTX ISA 9.7.9.27.1, 9.7.13.6). The fields' places are those that
// ptxas's own code for tensormap.replace writes.
#include <fmt/format.h>

#include "common/tinygpu/engines/tma/bulk_engine.h"
#include "common/tinygpu/isa/address_list.h"
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

namespace {

enum class Field : uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  fill_mode,
  swizzle_atomicity
};
constexpr std::string_view kFields[] = {"global_address", "rank",           "box_dim",          "global_dim",
                                        "global_stride",  "element_stride", "elemtype",         "interleave_layout",
                                        "swizzle_mode",   "fill_mode",      "swizzle_atomicity"};

/// Writes `count` bits of the object, from bit `low` on; none of the fields crosses a 32-bit word.
void put(uint8_t* object, uint32_t low, uint32_t count, uint64_t value) {
  uint32_t word;
  uint8_t* at = object + low / 32 * 4;
  std::memcpy(&word, at, 4);
  const uint32_t mask = count == 32 ? ~0u : ((1u << count) - 1) << (low % 32);
  word = (word & ~mask) | (uint32_t(value) << (low % 32) & mask);
  std::memcpy(at, &word, 4);
}

void replace(uint8_t* o, Field field, uint32_t ordinal, uint64_t value) {
  switch (field) {
    case Field::global_address:
      put(o, 0, 32, value);
      put(o, 32, 32, value >> 32);
      return;
    case Field::rank: return put(o, 68, 3, value);  // the operand is the rank less one
    case Field::box_dim: return put(o, 440 + 8 * ordinal, 8, value - 1);
    case Field::global_dim: return put(o, 256 + 32 * ordinal, 32, value - 1);
    case Field::global_stride:
      put(o, 96 + 32 * ordinal, 32, value >> 4);
      put(o, 224 + 4 * ordinal, 4, value >> 36);
      return;
    case Field::element_stride: return put(o, 416 + 3 * ordinal, 3, value - 1);
    case Field::elemtype:
      // tf32 is f32 and a bit; the packed types, of sm_100a, come in the place that this leaves.
      if (value == 11 || value == 12) {
        put(o, 80, 1, 1);
        value -= 4;
      } else if (value > 12) {
        value -= 2;
      }
      return put(o, 71, 4, value);
    case Field::interleave_layout: return put(o, 75, 2, value);
    case Field::swizzle_mode: put(o, 77, 2, value); return put(o, 86, 1, value == 4);
    case Field::fill_mode: return put(o, 79, 1, value);
    case Field::swizzle_atomicity: return put(o, 83, 2, value);
  }
}

/// The object's bytes; a map in global memory needs an acquire before its next use.
uint8_t* object_at(Warp& w, const uint32_t* words, ptx::Space space, AccessKind kind, int lane, const char* verb) {
  const uint64_t address = address_at(w, words, lane);
  const Place place = locate(w, space, address, TensorMap::kBytes, 64, kind, lane, verb);
  if (place.space == ptx::Space::global) BulkEngine::of(w).map_written(place.address);
  if (place.space == ptx::Space::global || place.cta)
    tell_operation(w.partition(), kind, Proxy::generic, origin_of(w, lane), place.cta, w.time(), place.address,
                   TensorMap::kBytes);
  w.partition().made_progress();
  return place.host;
}

/// The object cannot hold such a stride in full: hardware uses the bits that it holds.
void check_stride(Warp& w, int lane, uint32_t ordinal, uint64_t value) {
  const uint64_t kept = value & ((1ull << 40) - 1) & ~15ull;
  if (kept == value) return;
  Diagnosis d;
  d.code = "tensormap-invalid";
  d.message = fmt::format(
      "tensormap.replace gives dimension {} a stride of {} bytes; the map can hold only {}, and copies silently use a "
      "wrong stride",
      ordinal + 1, value, kept);
  d.help = "pad the rows of the tensor to a multiple of 16 bytes, and pass that as the stride";
  d.rule =
      "Strides of a tensor map are multiples of 16 bytes and less than 2^40 (CUDA driver API, cuTensorMapEncodeTiled, "
      "globalStrides).";
  origin_of(w, lane).report(std::move(d));
}

struct ReplaceDetails {
  Field field;
  ptx::Space space;
  uint32_t ordinal;
  bool wide;  // the new value has 64 bits
};

void exec_replace(Warp& w, const Op& op) {
  const auto details = op.get<ReplaceDetails>();
  for_lanes(w.exec(), [&](int lane) {
    uint8_t* object = object_at(w, op.list, details.space, AccessKind::write, lane, "tensormap.replace");
    const uint64_t value = word_at(w, op.b, details.wide, lane);
    if (details.field == Field::global_stride) check_stride(w, lane, details.ordinal, value);
    replace(object, details.field, details.ordinal, value);
  });
}

void exec_cp_fenceproxy(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  const int lane = __builtin_ctz(w.exec());
  const uint8_t* from =
      object_at(w, op.list + kAddressWords, ptx::Space::shared_cta, AccessKind::read, lane, "tensormap.cp_fenceproxy");
  uint8_t* to = object_at(w, op.list, ptx::Space::global, AccessKind::write, lane, "tensormap.cp_fenceproxy");
  std::memcpy(to, from, TensorMap::kBytes);
}

// ---- decoding

void decode_replace(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  Field field{};
  for (size_t k = 0; k < std::size(kFields); ++k)
    if (i.has(kFields[k])) field = Field(k);
  d.set_list(op, addresses(d, {&d.operand("map")}));
  const ptx::Operand* dimension = d.find("dimension");
  const ptx::Space space = i.has("global")        ? ptx::Space::global
                           : i.has("shared::cta") ? ptx::Space::shared_cta
                                                  : ptx::Space::generic;
  const bool wide = i.has("b64");
  op.set(ReplaceDetails{field, space, dimension ? uint32_t(dimension->bits & 0xff) : 0, wide});
  op.b = d.src(d.operand("value"), wide ? ptx::Type::b64 : ptx::Type::b32);
  finish(d, op, exec_replace, CostClass::shared_store);
}

void decode_cp_fenceproxy(Decoder& d, Op& op) {
  d.set_list(op, addresses(d, {&d.operand(0), &d.operand(1)}));
  finish(d, op, exec_cp_fenceproxy, CostClass::fence);
}

constexpr Entry kTensormapTable[] = {
    {Opcode::tensormap_replace, decode_replace},
    {Opcode::tensormap_cp_fenceproxy, decode_cp_fenceproxy},
};

}  // namespace

Table tensormap_table() { return {kTensormapTable}; }

}  // namespace tinygpu::isa
