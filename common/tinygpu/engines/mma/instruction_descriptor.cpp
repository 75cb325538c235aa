#include "common/tinygpu/engines/mma/instruction_descriptor.h"

#include <fmt/format.h>

namespace tinygpu {
namespace {

constexpr uint32_t bits(uint32_t v, int high, int low) {
  return uint32_t(uint64_t(v) >> low & ((uint64_t(1) << (high - low + 1)) - 1));
}

FieldProblem problem(std::string field, std::string holds, std::string legal) {
  return {std::move(field), std::move(holds), std::move(legal)};
}

}  // namespace

InstructionDescriptor InstructionDescriptor::decode(uint32_t raw, MmaKind kind) {
  InstructionDescriptor d;
  d.raw = raw;
  d.kind = kind;
  d.sparse = bits(raw, 2, 2);
  d.a_code = uint8_t(bits(raw, 9, 7));
  d.negate_a = bits(raw, 13, 13);
  d.negate_b = bits(raw, 14, 14);
  d.a_mn_major = bits(raw, 15, 15);
  d.b_mn_major = bits(raw, 16, 16);
  d.n = uint32_t(bits(raw, 22, 17)) << 3;
  if (d.block_scaled()) {
    d.sfb_id = uint8_t(bits(raw, 5, 4));
    d.b_code = uint8_t(d.nibbles() ? bits(raw, 11, 10) : bits(raw, 12, 10));
    d.scale_code = uint8_t(bits(raw, 23, 23));
    d.m = uint32_t(bits(raw, 28, 27)) << 7;
    d.sfa_id = uint8_t(bits(raw, 30, 29));
    d.k96 = d.nibbles() && bits(raw, 31, 31);
  } else {
    d.sparsity_selector = uint8_t(bits(raw, 1, 0));
    d.saturate = bits(raw, 3, 3);
    d.d_code = uint8_t(bits(raw, 5, 4));
    d.b_code = uint8_t(bits(raw, 12, 10));
    d.m = uint32_t(bits(raw, 28, 24)) << 4;
    d.max_shift = uint8_t(bits(raw, 31, 30));
  }
  return d;
}

namespace {

using numerics::Format;

std::optional<Format> operand_type(MmaKind kind, uint32_t code) {
  for (const MmaKindInfo::Type& t : info(kind).types)
    if (t.code == code) return t.format;
  return std::nullopt;
}

const char* name_of(MmaAccumulator a) {
  static constexpr const char* kNames[] = {"f16", "f32", "s32"};
  return kNames[size_t(a)];
}

std::string legal_types(MmaKind kind) {
  std::string out;
  for (const MmaKindInfo::Type& t : info(kind).types)
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", t.code, numerics::info(t.format).name);
  return out;
}

std::string legal_results(MmaKind kind) {
  std::string out;
  for (const MmaKindInfo::Result& r : info(kind).results)
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", r.code, name_of(r.type));
  return out;
}

std::optional<FieldProblem> check_m(const InstructionDescriptor& d, const MmaForm& f) {
  const bool ok = [&] {
    if (f.weight_stationary) return !d.block_scaled() && (d.m == 32 || d.m == 64 || d.m == 128);
    if (f.cta_group == 1) return d.m == 128 || (d.m == 64 && !d.block_scaled());
    return d.m == 256 || (d.m == 128 && !(d.block_scaled() && f.sparse));
  }();
  if (ok) return std::nullopt;
  const char* legal = f.weight_stationary ? "32, 64, 128 with .ws"
                      : f.cta_group == 1  ? (d.block_scaled() ? "128 with .cta_group::1" : "64, 128 with .cta_group::1")
                      : d.block_scaled() && f.sparse ? "256 with .cta_group::2 and .sp"
                                                     : "128, 256 with .cta_group::2";
  return problem(d.block_scaled() ? "M >> 7 (bits 28:27)" : "M >> 4 (bits 28:24)",
                 fmt::format("{} (M = {})", d.block_scaled() ? d.m >> 7 : d.m >> 4, d.m), legal);
}

std::optional<FieldProblem> check_n(const InstructionDescriptor& d, const MmaForm& f) {
  const auto bad = [&](std::string legal) {
    return problem("N >> 3 (bits 22:17)", fmt::format("{} (N = {})", d.n >> 3, d.n), std::move(legal));
  };
  if (f.weight_stationary) {
    if (d.n == 64 || d.n == 128 || (d.n == 256 && !f.sparse)) return std::nullopt;
    return bad(f.sparse ? "64, 128 with .ws.sp" : "64, 128, 256 with .ws");
  }
  if (d.kind == MmaKind::i8) {
    if (f.cta_group == 1 && d.b_mn_major) {
      if (d.n >= 16 && d.n <= 256 && d.n % 16 == 0) return std::nullopt;
      return bad("16 to 256 in steps of 16, for kind::i8 with an N-major B");
    }
    if (f.cta_group == 1) {
      if (d.n == 8 || d.n == 24 || (d.n >= 16 && d.n <= 256 && d.n % 16 == 0)) return std::nullopt;
      return bad("8, 16, 24, 32, 48, and 64 to 256 in steps of 16, for kind::i8");
    }
    if (d.n >= 32 && d.n <= 256 && d.n % 32 == 0) return std::nullopt;
    return bad("32 to 256 in steps of 32 for kind::i8 with .cta_group::2");
  }
  const bool byte_wide = d.kind == MmaKind::f8f6f4 || d.kind == MmaKind::mxf8f6f4;
  const uint32_t step = (f.cta_group == 1 ? 8 : 16) * (byte_wide && d.b_mn_major ? 2 : 1);
  if (d.n >= step && d.n <= 256 && d.n % step == 0) return std::nullopt;
  return bad(fmt::format("{} to 256 in steps of {} for kind::{} with .cta_group::{}{}", step, step, name_of(d.kind),
                         f.cta_group, byte_wide && d.b_mn_major ? " and an N-major B of 8-bit elements" : ""));
}

}  // namespace

std::optional<Format> InstructionDescriptor::a_type() const { return operand_type(kind, a_code); }
std::optional<Format> InstructionDescriptor::b_type() const { return operand_type(kind, b_code); }

std::optional<MmaAccumulator> InstructionDescriptor::d_type() const {
  if (block_scaled()) return MmaAccumulator::f32;
  for (const MmaKindInfo::Result& r : info(kind).results)
    if (r.code == d_code) return r.type;
  return std::nullopt;
}

uint32_t InstructionDescriptor::k() const { return k96 ? 96 : info(kind).k * (sparse ? 2 : 1); }

std::optional<FieldProblem> check(const InstructionDescriptor& d, const MmaForm& form) {
  const std::string kind = fmt::format(" for kind::{}", name_of(d.kind));
  if (d.sparse != form.sparse)
    return problem("sparse (bit 2)", d.sparse ? "1" : "0",
                   form.sparse ? "1, because the instruction has .sp" : "0, because the instruction has no .sp");
  const bool selects = (d.kind == MmaKind::f16 || d.kind == MmaKind::tf32) && d.sparse;
  if (!d.block_scaled() && d.sparsity_selector && !selects)
    return problem("the sparsity selector (bits 1:0)", std::to_string(d.sparsity_selector),
                   "0 unless kind::f16 or kind::tf32 is used with .sp");
  if (d.block_scaled() && bits(d.raw, 1, 0))
    return problem("reserved bits 1:0", std::to_string(bits(d.raw, 1, 0)), "0" + kind);
  if (bits(d.raw, 3, 3) && d.kind != MmaKind::i8) return problem("saturate (bit 3)", "1", "0" + kind);
  if (!d.d_type()) return problem("the D type (bits 5:4)", std::to_string(d.d_code), legal_results(d.kind) + kind);
  if (bits(d.raw, 6, 6)) return problem("reserved bit 6", "1", "0");
  if (!d.a_type()) return problem("the A type (bits 9:7)", std::to_string(d.a_code), legal_types(d.kind) + kind);
  if (!d.b_type()) return problem("the B type (bits 12:10)", std::to_string(d.b_code), legal_types(d.kind) + kind);
  if (d.kind == MmaKind::f16 && *d.d_type() == InstructionDescriptor::Accumulator::f16 && (d.a_code || d.b_code))
    return problem("the D type (bits 5:4)", "0 (f16)", "1 (f32) when A or B is bf16");
  if (d.kind == MmaKind::i8 && (d.negate_a || d.negate_b)) return problem("negate (bits 14:13)", "set", "0" + kind);
  if (d.a_mn_major && d.nibbles()) return problem("the A major bit (bit 15)", "1 (M-major)", "0 (K-major)" + kind);
  if (d.b_mn_major && d.nibbles()) return problem("the B major bit (bit 16)", "1 (N-major)", "0 (K-major)" + kind);
  if (d.a_mn_major && form.a_in_tmem)
    return problem("the A major bit (bit 15)", "1 (M-major)", "0 (K-major) when A is in Tensor Memory");
  if (auto p = check_n(d, form)) return p;
  if (auto p = check_m(d, form)) return p;
  if (d.block_scaled()) {
    if (bits(d.raw, 26, 24)) return problem("reserved bits 26:24", std::to_string(bits(d.raw, 26, 24)), "0" + kind);
    if (d.scale_code == 0 && d.kind != MmaKind::mxf4nvf4)
      return problem("the scale type (bit 23)", "0 (ue4m3)", "1 (ue8m0)" + kind);
    if (!d.nibbles()) {
      if (bits(d.raw, 31, 31)) return problem("reserved bit 31", "1", "0" + kind);
    } else {
      if (bits(d.raw, 12, 12)) return problem("reserved bit 12", "1", "0" + kind);
      if (d.sfa_id % 2) return problem("the SFA id (bits 30:29)", std::to_string(d.sfa_id), "0, 2" + kind);
      if (d.sfb_id % 2) return problem("the SFB id (bits 5:4)", std::to_string(d.sfb_id), "0, 2" + kind);
      if (d.k96) return problem("the K bit (bit 31)", "1 (K = 96)", "0; 1 exists on sm_103a only");
      if (form.scales == 4 && d.sfa_id)
        return problem("the SFA id (bits 30:29)", std::to_string(d.sfa_id), "0 with four scales a row");
      if (form.scales == 4 && d.sfb_id)
        return problem("the SFB id (bits 5:4)", std::to_string(d.sfb_id), "0 with four scales a row");
      if (form.scales == 2 && d.scale_code == 0)
        return problem("the scale type (bit 23)", "0 (ue4m3)", "1 (ue8m0) with two scales a row");
    }
  } else {
    if (bits(d.raw, 23, 23)) return problem("reserved bit 23", "1", "0" + kind);
    if (bits(d.raw, 29, 29)) return problem("reserved bit 29", "1", "0" + kind);
    if (d.max_shift && !form.weight_stationary)
      return problem("the maximum shift (bits 31:30)", std::to_string(d.max_shift), "0 without .ws");
  }
  return std::nullopt;
}

}  // namespace tinygpu
