#include "common/tinygpu/base/version.h"

namespace tinygpu {

const char* const kVersion = GEN5_VERSION;

}  // namespace tinygpu
