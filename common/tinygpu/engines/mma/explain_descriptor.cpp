#include "common/tinygpu/engines/mma/explain_descriptor.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/engines/mma/data_path.h"

namespace tinygpu {
namespace {

void field(std::string& out, const char* bits, const char* name, const std::string& holds, const std::string& meaning) {
  out += fmt::format("  {:<7} {:<20} {:<10} {}\n", bits, name, holds, meaning);
}

/// What LBO and SBO are, for this major-ness and swizzle (PTX ISA 9.7.16.3).
struct Strides {
  const char *leading, *stride;
};

Strides meaning_of(const OperandLayout& o) {
  const SwizzleMode m = o.descriptor.swizzle;
  if (!o.mn_major)
    return {m == SwizzleMode::none ? "from a 16-byte column of K to the next" : "not read with a swizzle",
            "from 8 rows to the next 8"};
  if (m == SwizzleMode::none) return {"from 8 k to the next 8", "from 16 bytes of M or N to the next"};
  return {"from one span of M or N to the next",
          m == SwizzleMode::b128_atom32 ? "from 4 k to the next 4" : "from 8 k to the next 8"};
}

std::string name_or_bad(const std::optional<numerics::Format>& f) {
  return f ? std::string(numerics::info(*f).name) : "no type of this kind";
}

const char* d_name(const InstructionDescriptor& d) {
  const auto t = d.d_type();
  if (!t) return "no type of this kind";
  switch (*t) {
    case InstructionDescriptor::Accumulator::f16: return "f16";
    case InstructionDescriptor::Accumulator::f32: return "f32";
    case InstructionDescriptor::Accumulator::s32: return "s32";
  }
  return "";
}

}  // namespace

std::string explain_matrix_descriptor(uint64_t raw, const ExplainOperand& operand) {
  OperandLayout o;
  o.descriptor = operand.wgmma ? MatrixDescriptor::wgmma(raw) : MatrixDescriptor::tcgen05(raw);
  o.mn_major = operand.mn_major;
  o.element_bytes = operand.element_bytes;
  const MatrixDescriptor& d = o.descriptor;
  const Strides s = meaning_of(o);
  const uint32_t span = span_of(d.swizzle);

  std::string out =
      fmt::format("{} matrix descriptor {:#018x}, read as {} with {}-byte elements\n\n",
                  operand.wgmma ? "wgmma" : "tcgen05", raw, o.mn_major ? "MN-major" : "K-major", o.element_bytes);
  field(out, "13:0", "start address", fmt::format("{:#x}", d.start >> 4), fmt::format("shared offset {:#x}", d.start));
  field(out, "29:16", "LBO", fmt::format("{:#x}", d.leading >> 4), fmt::format("{} bytes: {}", d.leading, s.leading));
  field(out, "45:32", "SBO", fmt::format("{:#x}", d.stride >> 4), fmt::format("{} bytes: {}", d.stride, s.stride));
  if (!operand.wgmma) field(out, "48:46", "constant", fmt::format("{:#05b}", d.constant), "0b001");
  field(out, "51:49", "base offset", std::to_string(d.base_offset), "taken off address bits 9:7 before the swizzle");
  if (!operand.wgmma)
    field(out, "52", "LBO mode", d.absolute_leading ? "1" : "0",
          d.absolute_leading ? "absolute (sm_103a)" : "relative");
  field(out, operand.wgmma ? "63:62" : "63:61", "swizzle", std::to_string(d.swizzle_code),
        fmt::format("{}: rows of {} bytes", name_of(d.swizzle), span));

  auto problem = operand.wgmma ? check_wgmma(d) : check(d);
  if (!problem) problem = check_operand(o, "the operand");
  if (problem) out += "\n  illegal: " + problem->sentence() + "\n";

  // 32 bytes along K, as one instruction reads them.
  uint32_t low = ~0u, high = 0;
  const uint32_t k_count = 32 / o.element_bytes;
  for (uint32_t r = 0; r < operand.rows; ++r)
    for (uint32_t k = 0; k < k_count; ++k) {
      low = std::min(low, o.element(r, k));
      high = std::max(high, o.element(r, k) + o.element_bytes - 1);
    }
  out += fmt::format("\n{} rows of 32 bytes along K lie between shared offsets {:#x} and {:#x}.\n", operand.rows, low,
                     high);

  if (!o.mn_major) {
    out += "Shared offset of each row's two 16-byte pieces along K:\n\n";
    for (uint32_t r = 0; r < operand.rows; ++r)
      out += fmt::format("  row {:>3}   {:#07x} {:#07x}\n", r, o.k_major_chunk(r, 0), o.k_major_chunk(r, 1));
  } else {
    const uint32_t per = 16 / o.element_bytes, pieces = (operand.rows + per - 1) / per;
    out += fmt::format("Shared offset of 16 bytes ({} rows) for each k:\n\n  k    ", per);
    for (uint32_t c = 0; c < pieces; ++c) out += fmt::format(" {:>7}", fmt::format("row {}", c * per));
    out += "\n";
    for (uint32_t k = 0; k < k_count; ++k) {
      out += fmt::format("  {:>2}   ", k);
      for (uint32_t c = 0; c < pieces; ++c) out += fmt::format(" {:#07x}", o.mn_major_chunk(c, k));
      out += "\n";
    }
  }
  return out;
}

namespace {

/// How an operand's elements lie, where that isn't plain.
std::string packing_note(MmaKind kind, const std::optional<numerics::Format>& f, bool in_tmem) {
  if (!f) return "";
  switch (packing_of(kind, *f)) {
    case ElementPacking::natural: return "";
    case ElementPacking::nibbles: return ", two elements to a byte";
    case ElementPacking::padded_b6:
      return in_tmem ? ", an element in bits 5:0 of a byte" : ", 16 elements in 12 of 16 bytes";
    case ElementPacking::padded_b4:
      return in_tmem ? ", an element in bits 5:2 of a byte" : ", 16 elements in 8 of 16 bytes";
  }
  return "";
}

/// Where D's rows and columns lie.
std::string data_path_note(const InstructionDescriptor& d, const MmaForm& form) {
  const DataPath p = DataPath::of(d, form);
  const std::string columns = fmt::format("{} columns{}", p.width(), p.ctas == 2 ? " in both CTAs" : "");
  const auto layout = [&](const std::string& text) {
    return fmt::format("D: {}; {} (layout {})\n", columns, text, p.layout);
  };
  switch (p.layout) {
    case 'A': return layout("CTA c has rows 128c to 128c+127 in lanes 0 to 127");
    case 'B': return layout("CTA c has rows 64c to 64c+63, columns from N/2 on in lanes 64 to 127");
    case 'C':
      return layout(
          "CTA c has rows 64c to 64c+63, its row r in lane 32*(r/16) + r%16; +16 with lane 16 in the address");
    case 'E': return layout("row r in lane r, columns from N/2 on in lanes 64 to 127");
    case 'F':
      return fmt::format("D: {}; row r in lane 32*(r/16) + r%16 (layout F; +16 with lane 16 in the address)\n",
                         columns);
    case 'G': return layout("row r in lanes r, 32+r, 64+r and 96+r, a quarter of the columns each");
    default: return layout("row r in lane r");
  }
}

/// Scale factors: where they lie.
std::string scales_note(const InstructionDescriptor& d, const MmaForm& form) {
  const DataPath path = DataPath::of(d, form);
  const uint32_t count = form.scales ? form.scales : d.kind == MmaKind::mxf8f6f4 ? 1 : 2;
  const auto bytes = [&](uint32_t id) {
    return count == 1 ? fmt::format("byte {}", id) : fmt::format("bytes {} to {}", id, id + count - 1);
  };
  std::string out = fmt::format(
      "scale factors ({}), {} a row, one for each {} of K: row or column r in lane r%32 of all four partitions\n"
      "  of A: {} of columns 0 to {} (r/32)\n",
      numerics::info(d.scale_type()).name, count, d.k() / count, bytes(d.sfa_id), (path.rows - 1) / 32);
  const uint32_t n = path.layout == 'B' ? d.n / 2 : d.n;
  out +=
      fmt::format("  of B: {} of columns 0 to {}{}\n", bytes(d.sfb_id), (n - 1) / 32,
                  path.layout == 'B' ? ", those of N/2 and on in partitions 2 and 3 only, the others in 0 and 1" : "");
  return out;
}

std::string metadata_note(const InstructionDescriptor& d) {
  if (d.kind == MmaKind::tf32) return "metadata: 4 bits for each 2 of K; 2 columns\n";
  return fmt::format("metadata: 4 bits for each {} of K, of which {} are stored; 2 columns\n",
                     info(d.kind).metadata_span, info(d.kind).metadata_span / 2);
}

}  // namespace

std::string explain_instruction_descriptor(uint32_t raw, MmaKind kind, const MmaForm& form) {
  const InstructionDescriptor d = InstructionDescriptor::decode(raw, kind);
  std::string out = fmt::format("instruction descriptor {:#010x} of kind::{}\n\n", raw, name_of(kind));
  const auto yes = [](bool b) { return std::string(b ? "1" : "0"); };
  if (!d.block_scaled()) {
    field(out, "1:0", "sparsity selector", std::to_string(d.sparsity_selector), "");
    field(out, "2", "sparse", yes(d.sparse), d.sparse ? "A is 2:4 compressed (.sp)" : "dense");
    field(out, "3", "saturate", yes(d.saturate), d.saturate ? "the sum is clamped to s32" : "");
    field(out, "5:4", "D type", std::to_string(d.d_code), d_name(d));
  } else {
    field(out, "2", "sparse", yes(d.sparse), d.sparse ? "A is compressed (.sp)" : "dense");
    field(out, "5:4", "SFB id", std::to_string(d.sfb_id), "first byte of B's scale factors");
  }
  field(out, "9:7", "A type", std::to_string(d.a_code), name_or_bad(d.a_type()));
  field(out, d.nibbles() ? "11:10" : "12:10", "B type", std::to_string(d.b_code), name_or_bad(d.b_type()));
  field(out, "13", "negate A", yes(d.negate_a), "");
  field(out, "14", "negate B", yes(d.negate_b), "");
  field(out, "15", "A major", yes(d.a_mn_major), d.a_mn_major ? "M-major" : "K-major");
  field(out, "16", "B major", yes(d.b_mn_major), d.b_mn_major ? "N-major" : "K-major");
  field(out, "22:17", "N >> 3", std::to_string(d.n >> 3), fmt::format("N = {}", d.n));
  if (!d.block_scaled()) {
    field(out, "28:24", "M >> 4", std::to_string(d.m >> 4), fmt::format("M = {}", d.m));
    field(out, "31:30", "maximum shift", std::to_string(d.max_shift),
          fmt::format("B by up to {} columns, .ws only", d.max_shift_columns()));
  } else {
    field(out, "23", "scale type", std::to_string(d.scale_code), d.scale_code ? "ue8m0" : "ue4m3");
    field(out, "28:27", "M >> 7", std::to_string(d.m >> 7), fmt::format("M = {}", d.m));
    field(out, "30:29", "SFA id", std::to_string(d.sfa_id), "first byte of A's scale factors");
    if (d.nibbles()) field(out, "31", "K", yes(d.k96), d.k96 ? "96 (sm_103a)" : std::to_string(d.k()));
  }
  if (const auto problem = check(d, form)) return out + "\n  illegal: " + problem->sentence() + "\n";

  const DataPath path = DataPath::of(d, form);
  const char* each = path.ctas == 2 ? " in each CTA" : "";
  out += fmt::format("\nD[{} x {}] = A[{} x {}] * B[{} x {}] (+ D)\n", d.m, d.n, d.m, d.k(), d.k(), d.n);
  if (form.a_in_tmem)
    out += fmt::format("A: Tensor Memory, 8 columns{}\n", packing_note(kind, d.a_type(), true));
  else
    out += fmt::format("A: shared memory, {} rows of 32 bytes{}{}\n", path.rows, each,
                       packing_note(kind, d.a_type(), false));
  out += fmt::format("B: shared memory, {} rows of {} bytes{}{}\n", path.b_columns(), d.sparse ? 64 : 32, each,
                     packing_note(kind, d.b_type(), false));
  if (d.sparse) out += metadata_note(d);
  if (d.block_scaled()) out += scales_note(d, form);
  return out + data_path_note(d, form);
}

}  // namespace tinygpu
