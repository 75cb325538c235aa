#include "common/tinygpu/engines/mma/matrix_descriptor.h"

#include <fmt/format.h>

#include <array>

namespace tinygpu {
namespace {

constexpr uint64_t bits(uint64_t v, int high, int low) { return v >> low & ((uint64_t(1) << (high - low + 1)) - 1); }

std::optional<SwizzleMode> tcgen05_swizzle(uint32_t code) {
  switch (code) {
    case 0: return SwizzleMode::none;
    case 1: return SwizzleMode::b128_atom32;
    case 2: return SwizzleMode::b128;
    case 4: return SwizzleMode::b64;
    case 6: return SwizzleMode::b32;
    default: return std::nullopt;
  }
}

FieldProblem problem(std::string field, std::string holds, std::string legal) {
  return {std::move(field), std::move(holds), std::move(legal)};
}

std::optional<FieldProblem> check_alignment_bits(uint64_t raw) {
  if (bits(raw, 15, 14)) return problem("reserved bits 15:14", std::to_string(bits(raw, 15, 14)), "0");
  if (bits(raw, 31, 30)) return problem("reserved bits 31:30", std::to_string(bits(raw, 31, 30)), "0");
  return std::nullopt;
}

}  // namespace

std::string FieldProblem::sentence() const { return fmt::format("{} holds {}; legal: {}", field, holds, legal); }

const char* name_of(SwizzleMode m) {
  static constexpr const char* kNames[] = {"none", "32-byte", "64-byte", "128-byte", "128-byte with 32-byte atoms"};
  return kNames[int(m)];
}

uint32_t span_of(SwizzleMode m) {
  static constexpr uint32_t kSpans[] = {16, 32, 64, 128, 128};
  return kSpans[int(m)];
}

MatrixDescriptor MatrixDescriptor::tcgen05(uint64_t raw) {
  MatrixDescriptor d;
  d.raw = raw;
  d.start = uint32_t(bits(raw, 13, 0)) << 4;
  d.leading = uint32_t(bits(raw, 29, 16)) << 4;
  d.stride = uint32_t(bits(raw, 45, 32)) << 4;
  d.constant = uint8_t(bits(raw, 48, 46));
  d.base_offset = uint8_t(bits(raw, 51, 49));
  d.absolute_leading = bits(raw, 52, 52);
  d.swizzle_code = uint8_t(bits(raw, 63, 61));
  d.swizzle = tcgen05_swizzle(d.swizzle_code).value_or(SwizzleMode::none);
  return d;
}

MatrixDescriptor MatrixDescriptor::wgmma(uint64_t raw) {
  MatrixDescriptor d;
  d.raw = raw;
  d.start = uint32_t(bits(raw, 13, 0)) << 4;
  d.leading = uint32_t(bits(raw, 29, 16)) << 4;
  d.stride = uint32_t(bits(raw, 45, 32)) << 4;
  d.base_offset = uint8_t(bits(raw, 51, 49));
  d.swizzle_code = uint8_t(bits(raw, 63, 62));
  static constexpr SwizzleMode kModes[] = {SwizzleMode::none, SwizzleMode::b128, SwizzleMode::b64, SwizzleMode::b32};
  d.swizzle = kModes[d.swizzle_code];
  return d;
}

std::optional<FieldProblem> check(const MatrixDescriptor& d) {
  if (auto p = check_alignment_bits(d.raw)) return p;
  if (d.constant != 1)
    return problem("the constant field (bits 48:46)", fmt::format("{:#05b}", d.constant),
                   d.constant == 0 ? "0b001 (a wgmma descriptor has zeros there: encode it for tcgen05)" : "0b001");
  if (d.absolute_leading)
    return problem("the LBO mode (bit 52)", "1 (absolute address)", "0; 1 exists on sm_103a only");
  if (bits(d.raw, 60, 53)) return problem("reserved bits 60:53", std::to_string(bits(d.raw, 60, 53)), "0");
  if (!tcgen05_swizzle(d.swizzle_code))
    return problem("the swizzle field (bits 63:61)", std::to_string(d.swizzle_code),
                   "0 none, 1 128-byte with 32-byte atoms, 2 128-byte, 4 64-byte, 6 32-byte");
  return std::nullopt;
}

std::optional<FieldProblem> check_wgmma(const MatrixDescriptor& d) {
  if (auto p = check_alignment_bits(d.raw)) return p;
  if (bits(d.raw, 48, 46))
    return problem("reserved bits 48:46", std::to_string(bits(d.raw, 48, 46)),
                   "0 (tcgen05 descriptors have 0b001 there)");
  if (bits(d.raw, 61, 52)) return problem("reserved bits 61:52", std::to_string(bits(d.raw, 61, 52)), "0");
  return std::nullopt;
}

// The pattern is an XOR of address bits 6:4 (6:5 for 32-byte atoms) with bits 9:7 of the same computed address, after
// the base offset is taken off: confirmed on an H200 for all modes that wgmma has; the 32-byte-atom mode is CuTe's
// Swizzle<2,5,2>.
inline uint32_t OperandLayout::swizzled(uint32_t address) const {
  // Bits of the 128-byte row's number, and where they are exclusive-ored into the address.
  static constexpr uint32_t kRowBits[] = {0, 1, 3, 7, 3}, kPlace[] = {4, 4, 4, 4, 5};
  const uint32_t row = (address >> 7) - descriptor.base_offset, mode = uint32_t(descriptor.swizzle);
  return (address ^ (row & kRowBits[mode]) << kPlace[mode]) & 0x3ffff;
}

uint32_t OperandLayout::k_major_chunk(uint32_t row, uint32_t chunk) const {
  const bool plain = descriptor.swizzle == SwizzleMode::none;
  return swizzled(descriptor.start + row % 8 * span_of(descriptor.swizzle) + row / 8 * descriptor.stride +
                  chunk * (plain ? descriptor.leading : 16));
}

void OperandLayout::k_major_chunks(uint32_t row, uint32_t chunk, uint32_t (&offsets)[8]) const {
  const bool plain = descriptor.swizzle == SwizzleMode::none;
  const uint32_t span = span_of(descriptor.swizzle);
  const uint32_t first = descriptor.start + row / 8 * descriptor.stride + chunk * (plain ? descriptor.leading : 16);
  for (uint32_t i = 0; i < 8; ++i) offsets[i] = swizzled(first + i * span);
}

uint32_t OperandLayout::mn_major_chunk(uint32_t chunk, uint32_t k) const {
  const bool plain = descriptor.swizzle == SwizzleMode::none;
  const uint32_t span = span_of(descriptor.swizzle), per_span = span / 16;
  const uint32_t k_group = descriptor.swizzle == SwizzleMode::b128_atom32 ? 4 : 8;
  const uint32_t mn_step = plain ? descriptor.stride : descriptor.leading;
  const uint32_t k_step = plain ? descriptor.leading : descriptor.stride;
  return swizzled(descriptor.start + chunk % per_span * 16 + chunk / per_span * mn_step + k % k_group * span +
                  k / k_group * k_step);
}

uint32_t OperandLayout::element(uint32_t row, uint32_t k) const {
  if (mn_major) {
    const uint32_t byte = row * element_bytes;
    return mn_major_chunk(byte / 16, k) + byte % 16;
  }
  const uint32_t byte = k * element_bytes;
  return k_major_chunk(row, byte / 16) + byte % 16;
}

std::optional<FieldProblem> check_operand(const OperandLayout& o, const char* name) {
  const SwizzleMode m = o.descriptor.swizzle;
  const std::string field = fmt::format("the swizzle field (bits 63:61) of {}'s descriptor", name);
  if (o.mn_major && o.element_bytes == 4 && m != SwizzleMode::b128_atom32)
    return problem(field, fmt::format("{} ({})", o.descriptor.swizzle_code, name_of(m)),
                   "1 (128-byte with 32-byte atoms) for MN-major operands of 32-bit elements");
  if (o.mn_major && o.element_bytes < 4 && m == SwizzleMode::b128_atom32)
    return problem(field, "1 (128-byte with 32-byte atoms)",
                   "any other mode for MN-major operands of 8- and 16-bit elements");
  return std::nullopt;
}

const char* name_of(MmaKind k) {
  static constexpr const char* kNames[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  return kNames[int(k)];
}

std::optional<MmaKind> mma_kind_from(std::string_view name) {
  for (int k = 0; k <= int(MmaKind::mxf4nvf4); ++k)
    if (name == name_of(MmaKind(k))) return MmaKind(k);
  return std::nullopt;
}

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
    d.b_code = uint8_t(kind == MmaKind::mxf8f6f4 ? bits(raw, 12, 10) : bits(raw, 11, 10));
    d.scale_code = uint8_t(bits(raw, 23, 23));
    d.m = uint32_t(bits(raw, 28, 27)) << 7;
    d.sfa_id = uint8_t(bits(raw, 30, 29));
    d.k96 = kind != MmaKind::mxf8f6f4 && bits(raw, 31, 31);
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
  switch (kind) {
    case MmaKind::f16:
      if (code == 0) return Format::f16;
      if (code == 1) return Format::bf16;
      break;
    case MmaKind::tf32:
      if (code == 2) return Format::tf32;
      break;
    case MmaKind::f8f6f4:
    case MmaKind::mxf8f6f4:
      switch (code) {
        case 0: return Format::e4m3;
        case 1: return Format::e5m2;
        case 3: return Format::e2m3;
        case 4: return Format::e3m2;
        case 5: return Format::e2m1;
        default: break;
      }
      break;
    case MmaKind::i8:
      if (code == 0) return Format::u8;
      if (code == 1) return Format::s8;
      break;
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4:
      if (code == 1) return Format::e2m1;
      break;
  }
  return std::nullopt;
}

const char* legal_types(MmaKind kind) {
  switch (kind) {
    case MmaKind::f16: return "0 (f16), 1 (bf16)";
    case MmaKind::tf32: return "2 (tf32)";
    case MmaKind::f8f6f4:
    case MmaKind::mxf8f6f4: return "0 (e4m3), 1 (e5m2), 3 (e2m3), 4 (e3m2), 5 (e2m1)";
    case MmaKind::i8: return "0 (u8), 1 (s8)";
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4: break;
  }
  return "1 (e2m1)";
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

std::optional<InstructionDescriptor::Accumulator> InstructionDescriptor::d_type() const {
  if (block_scaled()) return Accumulator::f32;
  if (kind == MmaKind::i8) return d_code == 2 ? std::optional(Accumulator::s32) : std::nullopt;
  if (d_code == 1) return Accumulator::f32;
  if (d_code == 0 && kind != MmaKind::tf32) return Accumulator::f16;
  return std::nullopt;
}

uint32_t InstructionDescriptor::k() const {
  uint32_t dense = 32;
  switch (kind) {
    case MmaKind::f16: dense = 16; break;
    case MmaKind::tf32: dense = 8; break;
    case MmaKind::mxf4:
    case MmaKind::mxf4nvf4: return k96 ? 96 : sparse ? 128 : 64;
    default: break;
  }
  return sparse ? 2 * dense : dense;
}

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
  if (!d.d_type())
    return problem("the D type (bits 5:4)", std::to_string(d.d_code),
                   (d.kind == MmaKind::i8     ? "2 (s32)"
                    : d.kind == MmaKind::tf32 ? "1 (f32)"
                                              : "0 (f16), 1 (f32)") +
                       kind);
  if (bits(d.raw, 6, 6)) return problem("reserved bit 6", "1", "0");
  if (!d.a_type()) return problem("the A type (bits 9:7)", std::to_string(d.a_code), legal_types(d.kind) + kind);
  if (!d.b_type()) return problem("the B type (bits 12:10)", std::to_string(d.b_code), legal_types(d.kind) + kind);
  if (d.kind == MmaKind::f16 && *d.d_type() == InstructionDescriptor::Accumulator::f16 && (d.a_code || d.b_code))
    return problem("the D type (bits 5:4)", "0 (f16)", "1 (f32) when A or B is bf16");
  if (d.kind == MmaKind::i8 && (d.negate_a || d.negate_b)) return problem("negate (bits 14:13)", "set", "0" + kind);
  const auto narrow = [](Format f) { return f == Format::e2m3 || f == Format::e3m2 || f == Format::e2m1; };
  if (d.a_mn_major && narrow(*d.a_type()))
    return problem("the A major bit (bit 15)", "1 (M-major)", "0 (K-major) for 4- and 6-bit types");
  if (d.b_mn_major && narrow(*d.b_type()))
    return problem("the B major bit (bit 16)", "1 (N-major)", "0 (K-major) for 4- and 6-bit types");
  if (d.a_mn_major && form.a_in_tmem)
    return problem("the A major bit (bit 15)", "1 (M-major)", "0 (K-major) when A is in Tensor Memory");
  if (auto p = check_n(d, form)) return p;
  if (auto p = check_m(d, form)) return p;
  if (d.block_scaled()) {
    if (bits(d.raw, 26, 24)) return problem("reserved bits 26:24", std::to_string(bits(d.raw, 26, 24)), "0" + kind);
    if (d.scale_code == 0 && d.kind != MmaKind::mxf4nvf4)
      return problem("the scale type (bit 23)", "0 (ue4m3)", "1 (ue8m0)" + kind);
    if (d.kind == MmaKind::mxf8f6f4) {
      if (bits(d.raw, 31, 31)) return problem("reserved bit 31", "1", "0" + kind);
    } else {
      if (bits(d.raw, 12, 12)) return problem("reserved bit 12", "1", "0" + kind);
      if (d.sfa_id % 2) return problem("the SFA id (bits 30:29)", std::to_string(d.sfa_id), "0, 2" + kind);
      if (d.sfb_id % 2) return problem("the SFB id (bits 5:4)", std::to_string(d.sfb_id), "0, 2" + kind);
      if (d.k96) return problem("the K bit (bit 31)", "1 (K = 96)", "0; 1 exists on sm_103a only");
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
