// Chapter 08: tcgen05.mma with block scales.
//
//   scripts/run 08_mma_block_scaled                    every part
//   scripts/run 08_mma_block_scaled --part rows        one of them
//
// Eight and four bits have little range: kinds mxf8f6f4, mxf4 and mxf4nvf4 give every 32 or 16 elements along K a scale
// of their own, and multiply by it inside the sum. The scales lie in Tensor Memory, in a layout that this chapter draws
// from what products show. Read layout.cu first, columns.cu and quantise.cu behind it, and notes/08_mma_block_scaled.md
// beside them.
#include "chapters/08_mma_block_scaled/parts.h"

int main(int argc, char** argv) {
  gen5::harness::Chapter chapter(
      "08", "tcgen05.mma with block scales",
      "Every 32 or 16 elements along K have a scale, and the sum is made of scaled products.");
  add_layouts(chapter);
  add_columns(chapter);
  add_quantisation(chapter);
  return chapter.run(argc, argv);
}
