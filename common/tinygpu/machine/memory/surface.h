// Surface objects: what a kernel is given as a handle to read and write an array by bytes.
#pragma once
#include <cstdint>

namespace tinygpu {

/// What lies in the machine's memory where a surface object's handle points.
struct SurfaceObject {
  uint64_t texels = 0;                     // device address
  uint64_t row = 0, pitch = 0, slice = 0;  // bytes; row: of a row's texels
  uint32_t height = 1, depth = 1;
  uint8_t dims = 1;                                         // of a layer
  bool layered = false;                                     // `depth` layers, or faces of cubes
  static constexpr const char* kName = "a surface object";  // of the allocation that holds it
};

}  // namespace tinygpu
