#pragma once
#include <optional>

#include "common/tinygpu/numerics/formats.h"
#include "common/tinygpu/ptx/types.h"

namespace tinygpu {

/// The number format of matrix elements of a PTX type; nothing: none has such elements.
std::optional<numerics::Format> element_format(ptx::Type t);

}  // namespace tinygpu
