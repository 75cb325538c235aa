// Chapter 08 in three files: which scale multiplies what, what lies where, and what block scaling is good for.
#pragma once
#include "common/harness/chapter.h"

/// Which scale multiplies what, drawn from products; the way of a matrix of scales into Tensor Memory; an unusual
/// shape.
void add_layouts(gen5::harness::Chapter& chapter);
/// Tensor Memory after a product: accumulator, scales, and cells that were not written.
void add_columns(gen5::harness::Chapter& chapter);
/// Quantisation of matrices to fp8, mxfp8, mxfp4 and nvfp4, the error of each, and their products.
void add_quantisation(gen5::harness::Chapter& chapter);
