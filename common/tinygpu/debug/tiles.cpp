#include "common/tinygpu/debug/tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "common/tinygpu/debug/cells.h"
#include "common/tinygpu/engines/mma/matrix_operands.h"
#include "common/tinygpu/engines/tma/tensor_box.h"
#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/numerics/formats.h"

namespace tinygpu::debug {
namespace {

using numerics::Format;

/// An element type that a user names.
struct Type {
  std::string_view name;
  uint32_t bytes;
  std::optional<Format> format;
  enum class Kind : uint8_t { number, hex, is_signed, is_unsigned } kind = Kind::number;
};
constexpr Type kTypes[] = {{"f32", 4, Format::f32},
                           {"tf32", 4, Format::tf32},
                           {"f16", 2, Format::f16},
                           {"bf16", 2, Format::bf16},
                           {"e4m3", 1, Format::e4m3},
                           {"e5m2", 1, Format::e5m2},
                           {"s8", 1, Format::s8},
                           {"u8", 1, Format::u8},
                           {"s32", 4, {}, Type::Kind::is_signed},
                           {"u32", 4, {}, Type::Kind::is_unsigned},
                           {"u16", 2, {}, Type::Kind::is_unsigned},
                           {"b8", 1, {}, Type::Kind::hex},
                           {"b16", 2, {}, Type::Kind::hex},
                           {"b32", 4, {}, Type::Kind::hex},
                           {"b64", 8, {}, Type::Kind::hex}};

std::string text_of(const Type& t, const uint8_t* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, t.bytes);
  if (t.format) return text_of_element(*t.format, uint32_t(bits));
  if (t.kind == Type::Kind::is_signed) return fmt::format("{}", int32_t(bits));
  if (t.kind == Type::Kind::hex) return fmt::format("{:#x}", bits);
  return fmt::format("{}", bits);
}

std::string text_of_cta(const Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

std::string text_of_layout(const OperandLayout& l) {
  return fmt::format("shared offset {:#x}, {}-major, swizzle {}", l.descriptor.start, l.mn_major ? "MN" : "K",
                     name_of(l.descriptor.swizzle));
}

Json operand(const Json& request, const MatrixOperand& m, const std::string& of) {
  const auto bits = m.read();
  if (!bits) return no_tile(fmt::format("{} reaches beyond shared memory", m.name));
  const std::string where =
      m.in_tmem ? fmt::format("Tensor Memory column {}", m.in_tmem->column) : text_of_layout(m.layout);
  return cells_of(request, m.rows, m.k(),
                  fmt::format("{} of {}: {} rows x {} of K, {}, in CTA {}, {}", m.name, of, m.rows, m.k(),
                              numerics::info(m.format).name, text_of_cta(m.cta->key.id), where),
                  m.name == 'A' ? "m" : "n", "k", [&](uint32_t row, uint32_t k) {
                    return Json(text_of_element(m.format, (*bits)[size_t(row) * m.k() + k]));
                  });
}

Json result(const Json& request, const MatrixResult& d, const std::string& of) {
  const TensorMemory& memory = TensorMemory::of(d.cta->sm);
  const char* type = d.type == MmaAccumulator::f32 ? "f32" : d.type == MmaAccumulator::f16 ? "f16" : "s32";
  return cells_of(request, d.rows(), d.columns(),
                  fmt::format("D of {}: {} x {}, {}, in CTA {}, Tensor Memory column {}", of, d.rows(), d.columns(),
                              type, text_of_cta(d.cta->key.id), d.at.column),
                  "m", "n", [&](uint32_t row, uint32_t column) -> Json {
                    const TmemAddress at = d.cell(row, column);
                    if (at.lane >= kTmemLanes || at.column >= kTmemColumns ||
                        !(memory.written(at.column, at.lane / 32) >> (at.lane % 32) & 1))
                      return nullptr;
                    const uint32_t cell = memory.cell(at.lane, at.column);
                    if (d.type == MmaAccumulator::s32) return fmt::format("{}", int32_t(cell));
                    return text_of_element(d.type == MmaAccumulator::f32 ? Format::f32 : Format::f16, cell);
                  });
}

Json matrix(const Json& request, Cta& cta, char name) {
  const MatrixOperands* all = cta.extensions.find<MatrixOperands>();
  if (!all) return no_tile("this CTA has issued no tcgen05.mma and no wgmma.mma_async");
  const std::string of = fmt::format(
      "the {} of CTA {}, warp {}, issued at cycle {}", all->results.empty() ? "wgmma.mma_async" : "tcgen05.mma",
      text_of_cta(all->who.cta.id), all->who.warp, all->issued - all->who.launch->start_time);
  if (name == 'D') {
    for (const MatrixResult& d : all->results)
      if (d.cta == &cta) return result(request, d, of);
    return no_tile("D of wgmma is in registers: print them");
  }
  for (const MatrixOperand& m : all->operands)
    if (m.name == name && m.cta == &cta) return operand(request, m, of);
  return no_tile("A of this wgmma is in registers: print them");
}

/// The type of a map's elements; bytes where they are packed.
const Type& type_of(const TensorMap& map) {
  using E = TensorElement;
  std::string_view name = "b8";
  switch (map.element) {
    case E::u8: name = "u8"; break;
    case E::u16: name = "u16"; break;
    case E::u32: name = "u32"; break;
    case E::s32: name = "s32"; break;
    case E::u64:
    case E::s64:
    case E::f64: name = "b64"; break;
    case E::f16: name = "f16"; break;
    case E::f32:
    case E::f32_ftz: name = "f32"; break;
    case E::bf16: name = "bf16"; break;
    case E::tf32:
    case E::tf32_ftz: name = "tf32"; break;
    default: break;
  }
  return *std::ranges::find(kTypes, name, &Type::name);
}

Json laid_out(const Json& request, Cta& cta, const TensorMap& map, uint32_t begin, uint32_t rows, uint32_t row_bytes,
              uint32_t pitch, const Type& type, const std::string& title) {
  const uint32_t columns = row_bytes / type.bytes;
  if (uint64_t(begin) + uint64_t(rows - 1) * pitch + row_bytes > cta.shared.size())
    return no_tile("the tile reaches beyond the CTA's shared memory");
  return cells_of(request, rows, columns, title, "row", "column", [&](uint32_t row, uint32_t column) -> Json {
    uint8_t bytes[8] = {};
    for (uint32_t i = 0; i < type.bytes; ++i) {
      const uint32_t at = map.place(begin + row * pitch + column * type.bytes + i);
      if (at >= cta.shared.size()) return nullptr;
      bytes[i] = cta.shared.data()[at];
    }
    return text_of(type, bytes);
  });
}

Json shared(const Json& request, Cta& cta) {
  const std::string name = request.value("type", "");
  const Type* type = std::ranges::find(kTypes, name, &Type::name);
  if (type == std::end(kTypes)) {
    std::string names;
    for (const Type& t : kTypes) names += fmt::format("{}{}", names.empty() ? "" : ", ", t.name);
    return no_tile(fmt::format("there is no type {}: {}", name, names));
  }
  TensorMap map;
  const uint32_t swizzle = request.value("swizzle", 0u), begin = request.value("begin", 0u),
                 rows = request.value("rows", 0u), columns = request.value("columns", 0u);
  switch (swizzle) {
    case 0: break;
    case 32: map.swizzle = Swizzle::b32; break;
    case 64: map.swizzle = Swizzle::b64; break;
    case 128: map.swizzle = Swizzle::b128; break;
    default: return no_tile("swizzles are 32, 64 and 128");
  }
  constexpr uint32_t kMost = 1 << 16;
  if (!rows || !columns || rows > kMost || columns > kMost) return no_tile("a tile has rows and columns: write 8x64");
  const uint32_t row_bytes = columns * type->bytes;
  if (swizzle && row_bytes > swizzle)
    return no_tile(
        fmt::format("a row of {} bytes is longer than the {} that the swizzle spans: a wider tile is several of "
                    "them, one behind the other",
                    row_bytes, swizzle));
  return laid_out(request, cta, map, begin, rows, row_bytes, swizzle ? swizzle : row_bytes, *type,
                  fmt::format("{} rows x {} {} at shared offset {:#x} of CTA {}, {}", rows, columns, type->name, begin,
                              text_of_cta(cta.key.id), swizzle ? fmt::format("swizzle {}", swizzle) : "no swizzle"));
}

Json box(const Json& request, Cta& cta, const Boxes& boxes) {
  const AsyncOperation* o = boxes.find(cta, request.value("begin", 0u), !request.contains("begin"));
  if (!o || !o->box) return no_tile("no tensor copy into or out of this CTA's shared memory was issued for this place");
  const TensorBox& b = *o->box;
  const Type& type = type_of(b.map);
  std::string at;
  for (uint32_t k = 0; k < b.map.rank; ++k) at += fmt::format("{}{}", k ? "," : "", b.tile.at[k]);
  constexpr const char* kSwizzles[] = {"no swizzle", "swizzle 32", "swizzle 64", "swizzle 128", "swizzle 96"};
  return laid_out(
      request, cta, b.map, o->shared, uint32_t(b.rows()), b.row_bytes(), b.pitch(), type,
      fmt::format("box at ({}) of the tensor at {:#x}, {} rows x {} {}, at shared offset {:#x} of CTA {}, {}; {} {}",
                  at, b.map.base, b.rows(), b.row_bytes() / type.bytes, b.map.packed() ? "bytes" : type.name, o->shared,
                  text_of_cta(cta.key.id), kSwizzles[size_t(b.map.swizzle)], name_of(o->kind),
                  o->end ? "has been done" : "is under way"));
}

}  // namespace

void Boxes::issued(const AsyncOperation& o) {
  if (o.kind != AsyncOperation::Kind::tensor_load && o.kind != AsyncOperation::Kind::tensor_store) return;
  for (const auto& use : o.shared_uses) {
    if (use.ranges.empty()) continue;
    const uint32_t first = std::ranges::min(use.ranges, {}, &AsyncOperation::SharedUse::Range::offset).offset;
    at_[{use.cta, first}] = o.shared_from_this();
    last_[use.cta] = first;
  }
}

void Boxes::gone(const Cta& cta) {
  at_.erase(at_.lower_bound({&cta, 0}), at_.upper_bound({&cta, ~0u}));
  last_.erase(&cta);
}

const AsyncOperation* Boxes::find(const Cta& cta, uint32_t offset, bool anywhere) const {
  if (anywhere) {
    const auto last = last_.find(&cta);
    if (last == last_.end()) return nullptr;
    offset = last->second;
  }
  const auto found = at_.find({&cta, offset});
  return found == at_.end() ? nullptr : found->second.get();
}

Json tile(const Json& request, const Warp& w, const Boxes& boxes) {
  Cta& cta = w.cta();
  const std::string name = request.value("tile", "");
  if (name == "a" || name == "b" || name == "d") return matrix(request, cta, char(name[0] - 'a' + 'A'));
  if (name == "box") return box(request, cta, boxes);
  if (name == "shared") return shared(request, cta);
  return no_tile(fmt::format("there is no tile {}: a, b, d, box, shared", name));
}

}  // namespace tinygpu::debug
