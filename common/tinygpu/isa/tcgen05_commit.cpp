#include "common/tinygpu/isa/families.h"

TINYGPU_ISA_BEGIN

Table tcgen05_commit_table() { return {nullptr, nullptr}; }

TINYGPU_ISA_END
