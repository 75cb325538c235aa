// Random programs of wgmma.mma_async: chains of operations of several kinds on several accumulators, groups in flight,
// registers and shared memory used again as soon as the rules allow, loops, calls, branches by warpgroup. Written as
// PTX text, and run a second time by a reference that shares nothing with tinygpu.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tests/mma/random_operand.h"
#include "tests/mma/reference.h"

namespace conformance::wgmma_programs {

using gen5::test::Placement;

inline constexpr uint32_t kSlots = 5, kSlotBytes = 8192;  // tiles in shared memory

/// What an operation multiplies and adds.
enum class Kind {
  f16,
  f16_to_f16,
  bf16,
  tf32,
  s8,
  e4m3,
  e5m2,
  e4m3_e5m2,
  e5m2_e4m3,
  e4m3_to_f16,
  e5m2_to_f16,
  e4m3_e5m2_to_f16,
  e5m2_e4m3_to_f16
};
inline constexpr uint32_t kKinds = 13, kKindsBeforeFp8 = 5;
bool halves(Kind k);  // accumulators of f16, two in a register

/// An operand in shared memory.
struct Tile {
  uint32_t slot = 0;
  Placement place;  // its base is the slot's first byte
};

struct Op {
  enum class What {
    fill,       // slot `tile.slot` takes `block`
    load_a,     // fragment `a` takes `block`
    flip_a,     // fragment `a` changes its signs
    convert_a,  // fragment `a` becomes 16 columns of accumulator `acc`, rounded to bf16
    mma,        // accumulator `acc`
    commit,
    wait,      // until `count` groups are in flight
    flip_acc,  // accumulator `acc` changes its signs (integers: plus 12345)
    store,     // accumulator `acc` goes into the results
    call,      // a function changes the thread's word
    diverge,   // lanes change the thread's word on different ways
    loop       // `body`, `count` times
  } what;
  uint32_t acc = 0, a = 0, block = 0, count = 0;
  bool a_in_registers = false, accumulate = true, negate_a = false, negate_b = false;
  Kind kind = Kind::f16;
  Tile tile{}, b{};  // A (or the slot filled) and B
  std::vector<Op> body{};
};

/// What one warpgroup does.
struct Warpgroup {
  struct Accumulator {
    Kind kind;  // of every operation on it
    uint32_t n;
    uint32_t registers() const { return halves(kind) ? n / 4 : n / 2; }
  };
  std::vector<Accumulator> accumulators;
  std::vector<Op> ops;
};

struct Program {
  uint64_t seed = 0;
  std::vector<Warpgroup> warpgroups;
  std::vector<uint8_t> data;  // blocks of kSlotBytes
  uint32_t threads() const { return 128 * uint32_t(warpgroups.size()); }
  /// Words that warpgroup `w` stores: per store 128 threads' registers, at last the threads' words.
  uint32_t result_words(size_t w) const;
};

inline constexpr uint32_t kFragments = 3;  // of A in registers
/// Programs from this seed on use fp8 too.
inline constexpr uint64_t kFirstWithFp8 = 300;
Program make_program(uint64_t seed);

/// A module with one kernel, k(data, out); its results are those of warpgroup 0, then of warpgroup 1.
std::string ptx_of(const Program& p);

/// The results, by the reference. Throws std::logic_error if the program breaks a rule: a register or a slot of an
/// operation in flight changed or read.
std::vector<uint32_t> expected(const Program& p);

/// FNV-1a.
uint64_t hash(const std::vector<uint32_t>& words);

}  // namespace conformance::wgmma_programs
