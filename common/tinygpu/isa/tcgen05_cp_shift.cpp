#include "common/tinygpu/isa/families.h"

TINYGPU_ISA_BEGIN

Table tcgen05_cp_shift_table() { return {nullptr, nullptr}; }

TINYGPU_ISA_END
