// A mistake as a lesson: the lines that are wrong, what happens, what tinygpu says; the fix, or of one line what to
// remember.
#pragma once
#include <span>
#include <string>

#include "common/harness/mistake.h"
#include "common/harness/table.h"

namespace gen5::harness {

/// Every mistake with what is wrong, what tinygpu says and what an H200 did.
Table table_of(std::span<const Mistake> mistakes);

/// Prints the lesson. On tinygpu it runs the broken and the right kernel in three orders of completion, each in a
/// process of its own; on hardware only what neither hangs nor faults there, once. 0: everything is as promised; 1:
/// not.
int teach(const Mistake& mistake);

/// What those processes do: run one of the kernels and print how it ended. The exit code is for teach().
int run_kernel_of(const Mistake& mistake, bool wrong);

}  // namespace gen5::harness
