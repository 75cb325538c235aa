#include "common/tinygpu/debug/fragments.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/tinygpu/debug/cells.h"
#include "common/tinygpu/debug/registers.h"
#include "common/tinygpu/engines/tmem/access_shape.h"
#include "common/tinygpu/engines/wgmma/element_format.h"
#include "common/tinygpu/engines/wgmma/fragment.h"
#include "common/tinygpu/machine/chip/cta.h"

namespace tinygpu::debug {
namespace {

using numerics::Format;
using ptx::Opcode;

constexpr uint32_t kWarps = 4;  // of a warpgroup

bool is_wgmma(const ptx::Instruction& i) {
  return i.opcode == Opcode::wgmma_mma_async || i.opcode == Opcode::wgmma_mma_async_sp;
}
bool is_access(const ptx::Instruction& i) {
  return i.opcode == Opcode::tcgen05_ld || i.opcode == Opcode::tcgen05_ld_red || i.opcode == Opcode::tcgen05_st;
}

/// The registers of one operand, and which element of the matrix each value of them is.
struct Fragment {
  std::string title;
  const char *row_name = "row", *column_name = "column";
  uint32_t rows = 0, columns = 0;
  const ptx::Operand* registers = nullptr;
  uint32_t values = 1;  // a register
  uint32_t bits = 32;   // a value
  std::function<std::pair<uint32_t, uint32_t>(uint32_t r, uint32_t value, uint32_t thread)> place;
  std::function<std::string(uint32_t bits)> text;
};

std::string text_in(const std::string& format, uint32_t bits) {
  if (format == "f") return text_of_element(Format::f32, bits);
  if (format == "h") return text_of_element(Format::f16, bits & 0xffff);
  if (format == "bf") return text_of_element(Format::bf16, bits & 0xffff);
  return fmt::format("{:#x}", bits);
}

Fragment accumulator(const ptx::Instruction& i) {
  Fragment f;
  const bool halves = i.type(0) == ptx::Type::f16;
  f.registers = i.operand("d");
  f.rows = 16 * kWarps;
  f.columns = uint32_t(f.registers->elems.size()) * (halves ? 4 : 2);
  f.title = fmt::format("D of {}, {} x {} {}", i.spelling(), f.rows, f.columns, ptx::name_of(i.type(0)));
  f.row_name = "m";
  f.column_name = "n";
  f.values = halves ? 2 : 1;
  f.bits = halves ? 16 : 32;
  f.place = [halves](uint32_t r, uint32_t value, uint32_t t) {
    const WgmmaCell c = wgmma_cell(halves, r, value, t);
    return std::pair(c.row, c.column);
  };
  f.text = [format = element_format(i.type(0))](uint32_t bits) {
    return format ? text_of_element(*format, bits) : fmt::format("{}", int32_t(bits));
  };
  return f;
}

Fragment wgmma_operand(const ptx::Instruction& i, Format format) {
  Fragment f;
  f.bits = format == Format::tf32 ? 32 : format == Format::f16 || format == Format::bf16 ? 16 : 8;
  f.values = 32 / f.bits;
  f.registers = i.operand("a");
  f.rows = 16 * kWarps;
  f.columns = 32 * 8 / f.bits;
  f.title = fmt::format("A of {}, {} x {} {}", i.spelling(), f.rows, f.columns, ptx::name_of(i.type(1)));
  f.row_name = "m";
  f.column_name = "k";
  f.place = [bytes = f.bits / 8](uint32_t r, uint32_t value, uint32_t t) {
    const WgmmaOperandPlace at = wgmma_operand_place(r, t);
    return std::pair(at.row, at.byte / bytes + value);
  };
  f.text = [format](uint32_t bits) { return text_of_element(format, bits); };
  return f;
}

Fragment tensor_memory_access(const ptx::Instruction& i, const std::string& format) {
  Fragment f;
  f.registers = i.operand("r");
  uint32_t s = 0;
  while (s + 1 < kTmemShapes && !i.has(kTmemShapeNames[s])) ++s;
  const TmemRepeat& repeat = kTmemRepeat[s];
  const auto registers = uint32_t(f.registers->elems.size());
  const bool packed = i.has("pack::16b") || i.has("unpack::16b");
  const bool split = TmemShape(s) == TmemShape::s16x32bx2;
  f.values = packed ? 2 : 1;
  f.bits = 32 / f.values;
  const uint32_t half = registers / repeat.registers * repeat.columns * f.values;  // columns
  f.rows = repeat.lanes * kWarps;
  f.columns = split ? 2 * half : half;
  f.title = fmt::format("registers of {}, {} lanes x {} columns a warp", i.spelling(), repeat.lanes, f.columns);
  if (split) f.title += fmt::format(", column {} on from the split offset on", half);
  f.row_name = "lane";
  f.place = [repeat, packed, split, half, s](uint32_t r, uint32_t value, uint32_t t) {
    const TmemShapeCell c = cell_of(TmemShape(s), t % 32, r % repeat.registers);
    const uint32_t column = ((c.column + r / repeat.registers * repeat.columns) << packed) + value;
    return std::pair(c.lane + t / 32 * repeat.lanes, column + (split && t % 32 >= 16 ? half : 0));
  };
  f.text = [format](uint32_t bits) { return text_in(format, bits); };
  return f;
}

/// The instruction, as an index into the function's ops.
std::optional<uint32_t> find(const Json& request, const Warp& w, const Group& g) {
  const Function& f = *g.function;
  const Registers here(w, *call_of(g, 0));
  const auto is = [&](uint32_t k) {
    const ptx::Instruction& i = f.instruction(f.ops[k]);
    return !(f.ops[k].flags & Op::injected) && (is_wgmma(i) || is_access(i));
  };
  if (request.contains("ptx_line")) {
    for (uint32_t k = 0; k < f.ops.size(); ++k)
      if (is(k) && f.instruction(f.ops[k]).pos.line == request["ptx_line"]) return k;
    return {};
  }
  // Rather one whose registers have values: an instruction that comes later in the text may stand in another branch.
  std::optional<uint32_t> nearest;
  for (uint32_t k = std::min<uint32_t>(g.pc + 1, uint32_t(f.ops.size())); k-- > 0;) {
    if (!is(k)) continue;
    if (!nearest) nearest = k;
    const ptx::Instruction& i = f.instruction(f.ops[k]);
    for (const ptx::Operand& e : i.operand(is_wgmma(i) ? "d" : "r")->elems)
      if (e.kind == ptx::Operand::Kind::reg && here.find(e.reg)) return k;
  }
  return nearest;
}

/// The group of a warp that stands where `g` does, whole.
const Group* beside(const Warp& other, const Group& g) {
  for (const Group& o : other.groups())
    if (o.function == g.function && o.pc == g.pc && o.mask == other.live()) return &o;
  return nullptr;
}

}  // namespace

Json fragment(const Json& request, const Warp& w, const Group& g) {
  const auto at = find(request, w, g);
  if (!at)
    return no_tile(
        request.contains("ptx_line")
            ? fmt::format("no wgmma.mma_async, tcgen05.ld or tcgen05.st stands at line {} of the PTX of {}",
                          request["ptx_line"].get<int>(), g.function->name)
            : fmt::format("no wgmma.mma_async, tcgen05.ld or tcgen05.st stands at or before this place in {}",
                          g.function->name));
  const ptx::Instruction& i = g.function->instruction(g.function->ops[*at]);
  Fragment f;
  if (request.value("operand", "d") == "a") {
    const auto format = is_wgmma(i) ? element_format(i.type(1)) : std::nullopt;
    if (!format || i.opcode == Opcode::wgmma_mma_async_sp || i.operand("a")->kind != ptx::Operand::Kind::vector)
      return no_tile(fmt::format("{} at line {} of the PTX has no A in registers that is a plain matrix", i.spelling(),
                                 i.pos.line));
    f = wgmma_operand(i, *format);
  } else {
    f = is_wgmma(i) ? accumulator(i) : tensor_memory_access(i, request.value("format", ""));
  }
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> cells;
  std::string whose;
  const uint32_t first = w.index() / kWarps * kWarps;
  const auto& warps = w.cta().warps;
  for (uint32_t k = first; k < first + kWarps && k < warps.size(); ++k) {
    const Group* group = k == w.index() ? &g : warps[k]->done() ? nullptr : beside(*warps[k], g);
    if (!group) continue;
    const Registers registers(*warps[k], *call_of(*group, 0));
    whose += fmt::format("{}{}", whose.empty() ? "" : ", ", k);
    for (uint32_t r = 0; r < f.registers->elems.size(); ++r) {
      const ptx::Operand& e = f.registers->elems[r];
      const RegisterPlace* p = e.kind == ptx::Operand::Kind::reg ? registers.find(e.reg) : nullptr;
      if (!p) continue;
      for (uint32_t lane = 0; lane < 32; ++lane) {
        if (!(group->mask >> lane & 1)) continue;
        const uint32_t word = registers.word(*p, lane);
        for (uint32_t v = 0; v < f.values; ++v)
          cells[f.place(r, v, k % kWarps * 32 + lane)] =
              uint32_t(uint64_t(word) >> (f.bits * v)) & uint32_t(~0ull >> (64 - f.bits));
      }
    }
  }
  Json window = request;
  if (!window.contains("row")) window["row"] = f.rows / kWarps * (w.index() % kWarps);  // this warp's first
  Json out = cells_of(window, f.rows, f.columns,
                      fmt::format("{}, PTX line {}, in warps {} of CTA ({},{},{})", f.title, i.pos.line, whose,
                                  w.cta().key.id.x, w.cta().key.id.y, w.cta().key.id.z),
                      f.row_name, f.column_name, [&](uint32_t row, uint32_t column) -> Json {
                        const auto found = cells.find({row, column});
                        return found == cells.end() ? Json(nullptr) : Json(f.text(found->second));
                      });
  out["gap"] = "no value here: another warp's that stands elsewhere, not written yet, not read any more, or under way";
  return out;
}

}  // namespace tinygpu::debug
