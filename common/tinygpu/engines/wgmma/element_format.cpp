#include "common/tinygpu/engines/wgmma/element_format.h"

namespace tinygpu {

std::optional<numerics::Format> element_format(ptx::Type t) {
  using numerics::Format;
  switch (t) {
    case ptx::Type::f32: return Format::f32;
    case ptx::Type::f16: return Format::f16;
    case ptx::Type::bf16: return Format::bf16;
    case ptx::Type::tf32: return Format::tf32;
    case ptx::Type::e4m3: return Format::e4m3;
    case ptx::Type::e5m2: return Format::e5m2;
    case ptx::Type::s8: return Format::s8;
    case ptx::Type::u8: return Format::u8;
    default: return {};
  }
}

}  // namespace tinygpu
