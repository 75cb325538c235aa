// What every kernel of the chapter is given.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include "chapters/16_megakernel/layer.h"

namespace megakernel {

/// What tasks of step 7 hand each other beside: marked words (marks.cuh) of one sequence, as the tensors of the same
/// names; of the cache the newest keys and values, [layers][kv heads][dim].
struct Marked {
  uint32_t *residual, *q, *keys, *values, *attended, *gated;
  uint32_t* sums;  // two words for each float of scratch, where an attention's parts hand each other marked words
};

/// Maps are of stacks of matrices: along K, rows, layer; on Hopper 64 columns, rows, blocks of 64 columns, layer. A box
/// has the rows and columns that a page has (target.h): of weights; of inputs all rows of the batch, or a tile of
/// tokens. Of keys and values it has 128 rows, 64 columns.
struct Arguments {
  CUtensorMap weights[kWeights];  // Wqkv, Wout, [Wgate; Wup], Wdown
  CUtensorMap inputs[kWeights];   // n, a, m, h; n and m lie in one stack (Hopper: x, a, x1, h)
  CUtensorMap gain_map;           // of gains, where projections normalise
  CUtensorMap keys, values;  // dim × keys for each layer, sequence and kv head: those there before, or (a prefill) all

  uint16_t* residual;     // [2·layers + 1][batch][hidden]: x, x1, x of the next layer …
  const uint16_t* gains;  // [2·layers][hidden], of the norms
  uint16_t* normed;       // [2·layers][batch][hidden]
  uint16_t* q;            // [layers][batch][heads][dim]
  uint16_t *key_cache,
      *value_cache;  // [layers][batch][kv heads][cache + 1][dim]; a prefill's: [layers][kv heads][cache + prefill][dim]
  uint16_t* attended;      // [layers][batch][heads][dim]
  uint16_t* gated;         // [layers][batch][intermediate]
  const float2* rotation;  // [new keys][dim / 2] cosine and sine of their positions
  float* scratch;          // sums of parts of tiles
  uint32_t* meets;
  uint32_t* counters;  // or null, where tasks of a grid do not wait for each other

  Marked marked;
  uint32_t marks;  // how many launches have written marked words before

  const Task* tasks;
  const uint32_t* first_of_cta;  // of tasks dealt out: CTA c has tasks first_of_cta[c] to first_of_cta[c + 1] − 1
  uint32_t* claimed;             // how many tasks have been claimed …
  uint32_t claimed_before;       // … and how many by earlier launches
  uint32_t count;                // of tasks
  uint32_t run;                  // how often counters have been raised before: they are never set back
  Ran* ran;                      // [count] tasks' times, or null

  uint32_t hidden, heads, kv_heads, group, dim, intermediate, cache;
  uint32_t batch;    // rows of x: new tokens of all sequences
  uint32_t prefill;  // as in Sizes

  Taken* taken;  // [count], of a Logged source (pages.cuh)
};

}  // namespace megakernel
