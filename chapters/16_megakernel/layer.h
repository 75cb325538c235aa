// One decoder layer of a Llama-like model, for decoding or a short prefill: its sizes, and what host and kernels both
// know of its work.
//
//   n  = norm(x)                       x: hidden numbers of each new token: a row
//   q, k, v = Wqkv · n                 rotated by their position (q and k); k and v go into the cache
//   a  = softmax(q · Kᵀ / √dim) · V    each head; `group` heads share keys and values
//   x1 = x + Wout · a
//   m  = norm(x1)
//   h  = silu(Wgate · m) ∘ Wup · m
//   x2 = x1 + Wdown · h                the next layer's x
//
// Decoding, each sequence of the batch has one new token. A prefill is one sequence with many: token t sees the cache
// and tokens 0 to t.
// Everything in memory is bf16, all sums are f32. Each layer of a stack has its own x, n, a …: nothing is overwritten.
#pragma once
#include <cstdint>

namespace megakernel {

constexpr uint32_t kTile = 128;         // rows of weights of a tile: the lanes of Tensor Memory; keys of a chunk
constexpr uint32_t kBlock = 64;         // elements along K of a page of weights: 128 bytes, one row of the swizzle
constexpr uint32_t kLargestBatch = 64;  // two tasks' accumulators of it, and eight pages, still fit on an SM
constexpr uint32_t kLargestPrefill = 512;
constexpr uint32_t kTokenTile = 128;       // tokens of a prefill that a task multiplies: N
constexpr uint32_t kNormTokens = 4;        // of a task of a prefill's norm: one a warp
constexpr uint32_t kAttendRows = 64;       // tokens times heads of a task of a prefill's attention: 16 a warp
constexpr uint32_t kLargestHidden = 4096;  // what a norm's threads keep in registers
constexpr uint32_t kLargestGroup = 4;      // a warp each scores the newest key

/// Is a kernel for so many rows of inputs a prefill's?
constexpr bool is_prefill(uint32_t rows_of_inputs) { return rows_of_inputs > kLargestBatch; }

struct Sizes {
  uint32_t hidden = 256, heads = 4, kv_heads = 2, dim = 64, intermediate = 512;
  uint32_t batch = 4, cache = 96, layers = 1;  // cache: keys of each sequence that are there already
  uint32_t prefill = 0;                        // new tokens of the one sequence; 0: each sequence decodes one

  uint32_t group() const { return heads / kv_heads; }
  uint32_t rows() const { return prefill ? prefill : batch; }        // of x: new tokens of all sequences
  uint32_t keys() const { return cache + (prefill ? prefill : 1); }  // of a sequence, the new ones behind the others
  uint32_t head_columns() const { return heads * dim; }              // of q and a
  uint32_t kv_rows() const { return (group() + 2) * dim; }           // of Wqkv that belong to one kv head: its q, k, v
  uint32_t qkv_rows() const { return kv_heads * kv_rows(); }
  /// Weights of a layer.
  uint64_t weights() const { return uint64_t(hidden) * (qkv_rows() + head_columns() + 3 * uint64_t(intermediate)); }
};

/// What a task does. The projections come last.
enum class Op : uint32_t { none, norm, attend, qkv, out, gate_up, down };
constexpr uint32_t kOps = 7;
constexpr bool is_projection(Op op) { return op >= Op::qkv; }
/// Those that have most of a layer's weights.
constexpr bool is_long(Op op) { return op >= Op::gate_up; }
/// Numbers of kernel arguments: which weights a projection multiplies, and what it multiplies them with.
constexpr uint32_t weights_of(Op op) { return uint32_t(op) - uint32_t(Op::qkv); }
constexpr uint32_t kWeights = 4;

/// A CTA's piece of work. Made on the host (plan.h), read by kernels.
struct alignas(16) Task {
  Op op = Op::none;
  uint32_t number = 0;            // in program order
  uint32_t layer = 0, half = 0;   // half: 2·layer, in the second half of the layer one more
  uint32_t tile = 0;              // of weights; attend: sequence · kv heads + head
  uint32_t row = 0, rows = 1;     // of x: first one and number (a projection has all of the batch, or a tile of tokens)
  uint32_t first = 0, pages = 0;  // first block of K (attend: chunk of keys), pages of memory
  uint32_t part = 0, parts = 1;   // several tasks may share a tile, each with a part of its sum
  uint32_t meet = 0;              // where they count themselves
  uint32_t scratch = 0;           // where they leave their sums, in floats
  uint32_t wait_first = 0, waits = 0, wait_for = 0;  // counters [wait_first, wait_first + waits) must reach wait_for
  uint32_t raises = 0;                               // the counter that goes up by one when the tile is done
  uint32_t quiet = 0;         // the CTA loads nothing further until the task has raised its counter
  uint32_t wait_columns = 0;  // of what it waits for: those of a counter
  uint32_t unused = 0;        // a task is copied 16 bytes at a time
};

/// A task's times in nanoseconds.
struct Ran {
  unsigned long long loads = 0;   // its first load has been asked for, or it was taken
  unsigned long long inputs = 0;  // what other tasks make for it is there, or what its first page needs of that
  unsigned long long first = 0;   // its first page is there
  unsigned long long summed = 0;  // its last page has been multiplied; norms have neither moment
  unsigned long long stored = 0;  // its results, or its part's, have been stored
  unsigned long long end = 0;     // they are there for others
  uint32_t sm = 0, cta = 0;
};

/// When each warp of its CTA took a task, by the SM's clock (%clock64); 0: it has not.
struct Taken {
  unsigned long long at[8] = {};
};

}  // namespace megakernel
