// Bytes of a thread's variables: in registers, and in memory of any kind.
#pragma once
#include "common/tinygpu/debug/wire.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu::debug {

/// {"call": which, 0 is the innermost, "items": […]}. An item is {"register": name}, or memory: {"space": "local" |
/// "param" | "shared" | "global", "symbol": name, "offset", "size"}, or {"addresses": a generic address for each of 32
/// lanes or null, "size"}. Answers {"lanes": mask, "items": [{"bytes": hexadecimal digits for each lane, null where
/// there are none} | {"missing": sentence}]}.
Json variable_bytes(const Json& request, const Warp& w, const Group& g);

}  // namespace tinygpu::debug
