#include "chapters/13_gemm/gemm.h"

namespace gemm {

const Ladder& ladder(Kind kind) {
  static const Ladder kLadders[] = {
      {"bf16", "inputs", 64, 8, "a row of it has two bytes an element", 0, 8192, kSteps},
      {"fp8", "e4m3 inputs", 128, 16, "a row of it has a byte an element", 0, 16384, kFp8Steps},
      {"mxf8", "e4m3 inputs, a power of two for each 32 along K", 128, 32, "32 elements along K share a scale", 1,
       16384, kScaledSteps},
      {"nvf4", "e2m1 inputs, an e4m3 scale for each 16 along K", 256, 32, "a row of it has half a byte an element", 4,
       32768, kScaledSteps},
  };
  return kLadders[int(kind)];
}

}  // namespace gemm
