#include "common/tinygpu/isa/families.h"

TINYGPU_ISA_BEGIN

Table arithmetic_table() { return {nullptr, nullptr}; }

TINYGPU_ISA_END
