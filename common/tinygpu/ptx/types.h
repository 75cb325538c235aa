// The scalar types of PTX (PTX ISA 5.2) and the state spaces (5.1).
#pragma once
#include <cstdint>
#include <string_view>

namespace tinygpu::ptx {

enum class Type : uint8_t {
  none,
  pred,
  b8,
  b16,
  b32,
  b64,
  b128,
  b1024,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  u16x2,
  s16x2,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  e2m3x2,
  e3m2x2,
  e2m1x2,
  ue8m0x2,
  e4m3x4,
  e5m2x4,
  e2m3x4,
  e3m2x4,
  e2m1x4,
  // element types of mma operands (below a byte, or only ever packed in b32 registers)
  b1,
  u4,
  s4,
  e2m3,
  e3m2,
  e2m1,
  ue8m0,
  ue4m3,
  s2f6x2,
};

/// Spaces an instruction or a variable may name. `generic` is the absence of one.
enum class Space : uint8_t {
  generic,
  reg,
  global,
  shared,
  shared_cta,
  shared_cluster,
  local,
  param,
  param_entry,
  param_func,
  constant
};

/// The type named by a modifier such as "f32" (no dot), or Type::none.
Type type_from_name(std::string_view name);
std::string_view name_of(Type t);
/// Size in bytes of one value; 0 for none and pred.
int size_of(Type t);
inline bool is_signed(Type t) { return t >= Type::s8 && t <= Type::s64; }
/// True for the types whose values are IEEE-like floats of 16 bits and up, scalar or packed.
bool is_float(Type t);

}  // namespace tinygpu::ptx
