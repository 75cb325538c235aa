// Chapter 06: tcgen05.mma's operands.
//
//   scripts/run 06_mma_operands                   every part
//   scripts/run 06_mma_operands --part chain      one of them
//
// Chapter 05 multiplied bf16 from shared memory into f32. Here is the rest of what a dense MMA can be told: A from
// Tensor Memory, operands that lie the other way round in memory, fewer rows, lanes left out, signs and scales, other
// accumulators, other numbers. Read operands.cu, results.cu and formats.cu, and notes/06_mma_operands.md beside them.
#include "chapters/06_mma_operands/parts.h"

int main(int argc, char** argv) {
  gen5::harness::Chapter chapter("06", "tcgen05.mma's operands",
                                 "Where A, B and D may lie, and what numbers they may be.");
  add_operands(chapter);
  add_results(chapter);
  add_formats(chapter);
  return chapter.run(argc, argv);
}
