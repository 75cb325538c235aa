// Which gen5 this is.
#pragma once

namespace tinygpu {

/// "0.1.0": the version that CMakeLists.txt gives the project.
extern const char* const kVersion;

}  // namespace tinygpu
