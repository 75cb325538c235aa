#include "common/tinygpu/cuda/exports.h"

#include "runtime_names.inc"
