// Barriers of a CTA's threads (PTX ISA 9.7.13.1): what a round has so far.
#pragma once
#include <cstdint>
#include <vector>

namespace tinygpu {

struct Op;

/// A named barrier (bar.sync etc.) of a CTA. Warps arrive as a whole, when all their live lanes have, and count 32
/// threads.
struct NamedBarrier {
  /// What one warp has at this barrier.
  struct Part {
    uint32_t here = 0;       // lanes that wait for the rest of their warp
    uint32_t waiting = 0;    // lanes of warps that have arrived, waiting for the round to end
    uint32_t sync = 0;       // of `here`: lanes that will wait (sync, red), not arrive only
    uint32_t truth = 0;      // of `here`: lanes whose predicate is true (red)
    bool arrived = false;    // in this round
    const Op* op = nullptr;  // the instruction that brought lanes last
  };
  /// A register that gets the result of barrier.red when the round ends.
  struct Result {
    uint32_t warp = 0, lanes = 0;
    uint32_t slot = 0;      // byte offset in the warp's register file
    uint8_t operation = 0;  // of the round: see below
  };
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // threads, 0 before the first arrival of a round
  bool whole = false;     // a round of all threads of the CTA: exited ones do not count
  uint8_t operation = 0;  // of the round: 0 none yet, 1 sync or arrive, 2 red.popc, 3 red.and, 4 red.or
  uint32_t reduce_count = 0, reduce_threads = 0;  // true predicates, and threads that gave one
  uint64_t round = 0, ended = 0;                  // rounds so far, and when the last of them let its warps go
  std::vector<Part> parts;                        // per warp
  std::vector<uint64_t> times;                    // of the arrivals that are not in `taken`
  double taken = 0;                               // when the first ones of very many had been taken
  std::vector<Result> results;
};

}  // namespace tinygpu
