// Chapter 06 in three files: where operands lie, what becomes of the result, and other numbers.
#pragma once
#include "common/harness/chapter.h"

/// A in Tensor Memory, a product of a product, either major of either operand.
void add_operands(gen5::harness::Chapter& chapter);
/// M = 64, disabled lanes, negation and scaling, f16 accumulators.
void add_results(gen5::harness::Chapter& chapter);
/// kind::f8f6f4 and kind::i8.
void add_formats(gen5::harness::Chapter& chapter);
