#include "common/tinygpu/cuda/exports.h"

#include "driver_names.inc"
