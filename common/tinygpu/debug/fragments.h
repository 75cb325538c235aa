// Registers of a warp or a warpgroup as the matrix that they hold: of wgmma, tcgen05.ld and tcgen05.st.
#pragma once
#include "common/tinygpu/debug/wire.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu::debug {

/// {"tile": "fragment", "operand": "d" | "a", "ptx_line": of the instruction; without it the last one at or before the
/// place where `g` stands in the function's text, "format": of tcgen05.ld's 32 bits: "x", "f", "h", "bf"}, and a window
/// (cells.h). Rows of wgmma are those of the warpgroup; other warps' have values where all their lanes stand at the
/// same place. Of tcgen05.ld and st a warp's 16 or 32 rows follow each other likewise.
Json fragment(const Json& request, const Warp& w, const Group& g);

}  // namespace tinygpu::debug
