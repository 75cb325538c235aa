#include "common/tinygpu/cuda/exports.h"

#include "common/tinygpu/cuda/driver_names.inc"
#include "common/tinygpu/cuda/driver_per_thread_names.inc"
