#include "common/tinygpu/cuda/exports.h"

#include "common/tinygpu/cuda/runtime_names.inc"
#include "common/tinygpu/cuda/runtime_per_thread_names.inc"
