// What main.cpp knows of the steps: a problem, and a function that launches each step's kernel on it.
#pragma once
#include <cstdint>
#include <iterator>

namespace attention {

/// O = softmax(Q·Kᵀ / √dim)·V for each head of each batch, on device memory, bf16. Q and O are [heads][queries][dim], K
/// and V [heads][keys][dim] without gaps; heads are those of all batches. Causal: query i sees keys 0 to i.
struct Problem {
  uint32_t heads = 1, queries = 0, keys = 0, dim = 128;  // dim: 64 or 128; the others at least 1
  bool causal = false;
  uint16_t *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr;
};

// Each launches one kernel on the default stream and returns at once.
void launch_serial(const Problem& p);
void launch_tmem(const Problem& p);
void launch_roles(const Problem& p);
void launch_pingpong(const Problem& p);
void launch_lazy(const Problem& p);
void launch_halves(const Problem& p);
void launch_persistent(const Problem& p);

struct Step {
  int number;
  const char* name;
  const char* idea;
  const char* look;  // what its timeline shows that the step before's does not
  void (*launch)(const Problem&);
  uint32_t tiles = 1;  // of 128 queries that a CTA works on at a time
  bool persistent = false;
  bool values_first = false;  // scores of a block are asked for after the values of the one before
};
inline constexpr Step kSteps[] = {
    {1, "serial", "one tile of queries, everything in turn, P goes through shared memory",
     "scores, softmax and values take turns: whoever works, the others wait.", launch_serial, 1, false, true},
    {2, "tmem", "P stays in Tensor Memory, where the second product reads it as A",
     "the same turns, but two CTAs fit on an SM: one's softmax runs beside the other's products.", launch_tmem, 1,
     false, true},
    {3, "roles", "a warp to load, a warp to multiply, four for softmax; a ring of keys and values",
     "loads run ahead, and the next block's scores are computed while this one's softmax is under way.", launch_roles},
    {4, "pingpong", "two tiles of queries by turns, a softmax warpgroup each, and one that corrects O",
     "while one tile is in softmax, the tensor core works for the other.", launch_pingpong, 2, false, true},
    {5, "lazy", "O is rescaled only where a row's largest score has risen by more than a factor of 2^8",
     "the correction has little to do: most blocks need none.", launch_lazy, 2, false, true},
    {6, "halves", "P comes in two halves: its product begins while the second is being made",
     "O += P*V begins before softmax is over.", launch_halves, 2, false, true},
    {7, "persistent", "one CTA an SM takes pair after pair of tiles, the longest first",
     "the next pair's queries are on their way and its scores computed while O of this one is stored.",
     launch_persistent, 2, true, true},
};
inline constexpr int kLastStep = int(std::size(kSteps));

}  // namespace attention
