#include "common/tinygpu/isa/families.h"

TINYGPU_ISA_BEGIN

ExecFn internal_executor(std::string_view) { return nullptr; }

TINYGPU_ISA_END
