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

FieldProblem wrong_field(std::string field, std::string holds, std::string legal) {
  return {std::move(field), std::move(holds), std::move(legal)};
}

std::optional<FieldProblem> check_alignment_bits(uint64_t raw) {
  if (bits(raw, 15, 14)) return wrong_field("reserved bits 15:14", std::to_string(bits(raw, 15, 14)), "0");
  if (bits(raw, 31, 30)) return wrong_field("reserved bits 31:30", std::to_string(bits(raw, 31, 30)), "0");
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

namespace {
/// The fields that both kinds of descriptor have.
MatrixDescriptor common_fields(uint64_t raw) {
  MatrixDescriptor d;
  d.raw = raw;
  d.start = uint32_t(bits(raw, 13, 0)) << 4;
  d.leading = uint32_t(bits(raw, 29, 16)) << 4;
  d.stride = uint32_t(bits(raw, 45, 32)) << 4;
  d.base_offset = uint8_t(bits(raw, 51, 49));
  return d;
}
}  // namespace

MatrixDescriptor MatrixDescriptor::tcgen05(uint64_t raw) {
  MatrixDescriptor d = common_fields(raw);
  d.constant = uint8_t(bits(raw, 48, 46));
  d.absolute_leading = bits(raw, 52, 52);
  d.swizzle_code = uint8_t(bits(raw, 63, 61));
  d.swizzle = tcgen05_swizzle(d.swizzle_code).value_or(SwizzleMode::none);
  return d;
}

MatrixDescriptor MatrixDescriptor::wgmma(uint64_t raw) {
  MatrixDescriptor d = common_fields(raw);
  d.swizzle_code = uint8_t(bits(raw, 63, 62));
  static constexpr SwizzleMode kModes[] = {SwizzleMode::none, SwizzleMode::b128, SwizzleMode::b64, SwizzleMode::b32};
  d.swizzle = kModes[d.swizzle_code];
  return d;
}

std::optional<FieldProblem> check(const MatrixDescriptor& d) {
  if (auto p = check_alignment_bits(d.raw)) return p;
  if (d.constant != 1)
    return wrong_field("the constant field (bits 48:46)", fmt::format("{:#05b}", d.constant),
                       d.constant == 0 ? "0b001 (a wgmma descriptor has zeros there: encode it for tcgen05)" : "0b001");
  if (d.absolute_leading)
    return wrong_field("the LBO mode (bit 52)", "1 (absolute address)", "0; 1 exists on sm_103a only");
  if (bits(d.raw, 60, 53)) return wrong_field("reserved bits 60:53", std::to_string(bits(d.raw, 60, 53)), "0");
  if (!tcgen05_swizzle(d.swizzle_code))
    return wrong_field("the swizzle field (bits 63:61)", std::to_string(d.swizzle_code),
                       "0 none, 1 128-byte with 32-byte atoms, 2 128-byte, 4 64-byte, 6 32-byte");
  return std::nullopt;
}

std::optional<FieldProblem> check_wgmma(const MatrixDescriptor& d) {
  if (auto p = check_alignment_bits(d.raw)) return p;
  if (bits(d.raw, 48, 46))
    return wrong_field("reserved bits 48:46", std::to_string(bits(d.raw, 48, 46)),
                       "0 (tcgen05 descriptors have 0b001 there)");
  if (bits(d.raw, 61, 52)) return wrong_field("reserved bits 61:52", std::to_string(bits(d.raw, 61, 52)), "0");
  return std::nullopt;
}

namespace {

// Bits of the 128-byte row's number, and where they are exclusive-ored into the address, by SwizzleMode.
constexpr uint32_t kRowBits[] = {0, 1, 3, 7, 3}, kPlace[] = {4, 4, 4, 4, 5};

}  // namespace

// The pattern is an XOR of address bits 6:4 (6:5 for 32-byte atoms) with bits 9:7 of the same computed address, after
// the base offset is taken off: confirmed on an H200 for all modes that wgmma has; the 32-byte-atom mode is CuTe's
// Swizzle<2,5,2>.
inline uint32_t OperandLayout::swizzled(uint32_t address) const {
  const uint32_t row = (address >> 7) - descriptor.base_offset, mode = uint32_t(descriptor.swizzle);
  return (address ^ (row & kRowBits[mode]) << kPlace[mode]) & (kWindow - 1);
}

uint32_t OperandLayout::k_major_chunk(uint32_t row, uint32_t chunk) const {
  const uint32_t span = span_of(descriptor.swizzle), per_span = span / 16;
  return swizzled(descriptor.start + row % 8 * span + row / 8 * descriptor.stride +
                  chunk / per_span * descriptor.leading + chunk % per_span * 16);
}

void OperandLayout::k_major_chunks(uint32_t row, uint32_t chunk, uint32_t (&offsets)[8]) const {
  // A row longer than the swizzle's span goes on where the leading offset says: an H200 with wgmma .sp; of
  // tcgen05 no source speaks.
  const uint32_t span = span_of(descriptor.swizzle), per_span = span / 16;
  const uint32_t first =
      descriptor.start + row / 8 * descriptor.stride + chunk / per_span * descriptor.leading + chunk % per_span * 16;
  for (uint32_t i = 0; i < 8; ++i) offsets[i] = swizzled(first + i * span);
}

bool OperandLayout::eights_lie_alike() const {
  const uint32_t row_bits = kRowBits[size_t(descriptor.swizzle)];
  return row_bits == 0 || descriptor.stride % (128 * (row_bits + 1)) == 0;
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
  const auto field = [&] { return fmt::format("the swizzle field (bits 63:61) of {}'s descriptor", name); };
  if (o.mn_major && o.element_bytes == 4 && m != SwizzleMode::b128_atom32)
    return wrong_field(field(), fmt::format("{} ({})", o.descriptor.swizzle_code, name_of(m)),
                       "1 (128-byte with 32-byte atoms) for MN-major operands of 32-bit elements");
  if (o.mn_major && o.element_bytes < 4 && m == SwizzleMode::b128_atom32)
    return wrong_field(field(), "1 (128-byte with 32-byte atoms)",
                       "any other mode for MN-major operands of 8- and 16-bit elements");
  return std::nullopt;
}

}  // namespace tinygpu
