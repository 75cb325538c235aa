// Where the rows of a box lie in shared memory: which banks each 16 bytes of a row take.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "common/tinygpu/engines/tma/tensor_box.h"

namespace tinygpu::observe {

/// The first rows of a box that begins at `shared`: by row and 16-byte chunk, which four of the 32 banks (0: banks 0 to
/// 3) hold it, and how many passes it takes to read one chunk of each of 8 rows.
nlohmann::ordered_json bank_picture(const TensorBox& box, uint32_t shared);

}  // namespace tinygpu::observe
