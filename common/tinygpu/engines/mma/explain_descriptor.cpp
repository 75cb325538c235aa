#include "common/tinygpu/engines/mma/explain_descriptor.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string explain_instruction_descriptor(uint32_t raw, MmaKind kind, const MmaForm& form) {
  const InstructionDescriptor d = InstructionDescriptor::decode(raw, kind);
  std::string out = fmt::format("instruction descriptor {:#010x} of kind::{}\n\n", raw, name_of(kind));
  const auto yes = [](bool b) { return std::string(b ? "1" : "0"); };
  if (!d.block_scaled()) {
    field(out, "1:0", "sparsity selector", std::to_string(d.sparsity_selector), "");
    field(out, "2", "sparse", yes(d.sparse), d.sparse ? "A is 2:4 compressed (.sp)" : "dense");
    field(out, "3", "saturate", yes(d.saturate), "");
    field(out, "5:4", "D type", std::to_string(d.d_code), d_name(d));
  } else {
    field(out, "2", "sparse", yes(d.sparse), d.sparse ? "A is compressed (.sp)" : "dense");
    field(out, "5:4", "SFB id", std::to_string(d.sfb_id), "");
  }
  field(out, "9:7", "A type", std::to_string(d.a_code), name_or_bad(d.a_type()));
  field(out, "12:10", "B type", std::to_string(d.b_code), name_or_bad(d.b_type()));
  field(out, "13", "negate A", yes(d.negate_a), "");
  field(out, "14", "negate B", yes(d.negate_b), "");
  field(out, "15", "A major", yes(d.a_mn_major), d.a_mn_major ? "M-major" : "K-major");
  field(out, "16", "B major", yes(d.b_mn_major), d.b_mn_major ? "N-major" : "K-major");
  field(out, "22:17", "N >> 3", std::to_string(d.n >> 3), fmt::format("N = {}", d.n));
  if (!d.block_scaled()) {
    field(out, "28:24", "M >> 4", std::to_string(d.m >> 4), fmt::format("M = {}", d.m));
    field(out, "31:30", "maximum shift", std::to_string(d.max_shift), "of B's columns, .ws only");
  } else {
    field(out, "23", "scale type", std::to_string(d.scale_code), d.scale_code ? "ue8m0" : "ue4m3");
    field(out, "28:27", "M >> 7", std::to_string(d.m >> 7), fmt::format("M = {}", d.m));
    field(out, "30:29", "SFA id", std::to_string(d.sfa_id), "");
    if (kind != MmaKind::mxf8f6f4) field(out, "31", "K", yes(d.k96), d.k96 ? "96 (sm_103a)" : "64");
  }
  if (const auto problem = check(d, form)) return out + "\n  illegal: " + problem->sentence() + "\n";

  const uint32_t ctas = uint32_t(form.cta_group);
  out += fmt::format("\nD[{} x {}] = A[{} x {}] * B[{} x {}] (+ D)\n", d.m, d.n, d.m, d.k(), d.k(), d.n);
  if (form.a_in_tmem)
    out += "A: Tensor Memory, 8 columns\n";
  else
    out += fmt::format("A: shared memory, {} rows of 32 bytes{}\n", d.m / ctas, ctas == 2 ? " in each CTA" : "");
  out += fmt::format("B: shared memory, {} rows of {} bytes{}\n", d.n / ctas, d.sparse ? 64 : 32,
                     ctas == 2 ? " in each CTA" : "");
  if (form.cta_group == 1 && !form.weight_stationary)
    out += d.m == 64
               ? fmt::format(
                     "D: {} columns; row r in lane 32*(r/16) + r%16 (layout F; +16 with lane 16 in the address)\n", d.n)
               : fmt::format("D: {} columns; row r in lane r (layout D)\n", d.n);
  else if (form.cta_group == 2)
    out += d.m == 256
               ? fmt::format(
                     "D: {} columns in both CTAs; CTA c has rows 128c to 128c+127 in lanes 0 to 127 (layout A)\n", d.n)
               : fmt::format(
                     "D: {} columns in both CTAs; CTA c has rows 64c to 64c+63, columns from N/2 on in lanes 64 to 127 "
                     "(layout B)\n",
                     d.n / 2);
  return out;
}

}  // namespace tinygpu
