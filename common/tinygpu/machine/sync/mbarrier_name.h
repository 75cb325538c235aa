// What a user calls an mbarrier: the expression in the line of CUDA that initialises it.
#pragma once
#include <cstdint>
#include <string>

namespace tinygpu {

class Cta;

/// "shared.full[1]"; empty where the source cannot be read, or its line names no object. Where several mbarriers are
/// initialised by one line, this is the one of that number, by address: "full[i], the 2nd of 4" if the line's index is
/// not known to begin with 0.
std::string mbarrier_expression(const Cta& owner, uint32_t offset);
/// "the mbarrier shared.full[1] (shared offset 0x408)", or "the mbarrier at shared offset 0x408".
std::string mbarrier_name(const Cta& owner, uint32_t offset);

}  // namespace tinygpu
