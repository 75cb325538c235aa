// What each step adds in code: made from the sources when the chapter is built.
#pragma once

namespace megakernel {

/// From step 1 to step 2, from 2 to 3 …
extern const char* const kDiffs[];

}  // namespace megakernel
