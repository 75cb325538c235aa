// Views of a stopped machine as text for a terminal.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "common/tinygpu/debug/wire.h"
#include "common/tinygpu/diagnosis/source_files.h"

namespace tinygpu::debug {

using Sources = diagnosis::SourceFiles;

/// A number's bits; `format`: "" (a decimal), "x", "f", "d", "h" (two f16), "bf" (two bf16). Null is "-".
std::string formatted(const Json& word, const std::string& format);
/// Eight lanes a line, from a new line on; a point where there is none.
std::string text_by_lane(const std::array<std::string, 32>& values, uint32_t lanes);

/// `lines` lines before and behind one, with an arrow at it.
std::string around(Sources& sources, const std::string& file, int number, int lines);

/// "CTA (0,0,0), warp 1, lanes 0 to 31, at cycle 1,234"
std::string text_of_focus(const Json& focus);
/// Where a focus stands: two lines, the source's and the PTX's.
std::string text_of_place(const Json& place, Sources& sources);
std::string text_of_frames(const Json& view, Sources& sources);
std::string text_of_warps(const Json& view);
/// A register's value in each lane of the focus; `lane` ≥ 0: in that one. `format`: "", "x", "f", "h", "bf".
std::string text_of_registers(const Json& view, int lane, const std::string& format);
std::string text_of_barriers(const Json& view);
std::string text_of_operations(const Json& view);
std::string text_of_tensor_memory(const Json& view, const std::string& format);
std::string text_of_tile(const Json& view);
/// Bytes of memory, 16 a line.
std::string text_of_bytes(const Json& view);
std::string text_of_waits(const Json& view, Sources& sources);
/// With separators: 1,234,567.
std::string number(int64_t n);

}  // namespace tinygpu::debug
