// What a user calls an mbarrier: the expression in the line of CUDA that initialises it, or its variable in PTX.
#pragma once
#include <cstdint>
#include <string>

namespace tinygpu {

class Cta;

/// "shared.full[1]"; else the variable of PTX that was written by hand; empty where there is neither. Where several
/// mbarriers are initialised by one line, this is the one of that number, by address: "full[i], the 2nd of 4" if the
/// line's index is not known to begin with 0.
std::string mbarrier_expression(const Cta& owner, uint32_t offset);
/// "the mbarrier shared.full[1] (shared offset 0x408)", or "the mbarrier at shared offset 0x408".
std::string mbarrier_name(const Cta& owner, uint32_t offset);

}  // namespace tinygpu
