// Whether the host looks at memory that kernels write: the system marks pages that the process has touched
// (/proc/self/clear_refs and smaps, proc(5)).
#pragma once
#include <cstdint>
#include <optional>

#include "common/tinygpu/base/function_ref.h"

namespace tinygpu::cuda {

/// Takes the marks away. False where the system does not let it.
bool forget_host_touches();
/// Bytes of what has been touched since, of the mappings [begin, end) that count. Nothing where the system does not
/// say.
std::optional<uint64_t> host_touched(FunctionRef<bool(uint64_t begin, uint64_t end)> counts);

}  // namespace tinygpu::cuda
