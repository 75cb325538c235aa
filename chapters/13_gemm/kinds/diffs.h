// What each step of the narrow kinds adds in code: made from the sources when the chapter is built.
#pragma once

namespace gemm::kinds {

/// From step 4 of bf16 to step 4, from that to step 5 …
extern const char* const kDiffs[];

}  // namespace gemm::kinds
