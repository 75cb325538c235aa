// A decoded instruction: what the interpreter runs. 32 lanes at a time, registers structure-of-arrays.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tinygpu {

class Warp;
struct Op;

/// Executes `op` for the lanes of warp.exec(). Never called with an empty mask.
using ExecFn = void (*)(Warp&, const Op&);

/// What an instruction costs is looked up by class (timing/spec.h holds the numbers). A class, not an opcode, because
/// published measurements are by class.
enum class CostClass : uint8_t {
  alu,    // 32-bit integer/logic/select/move/compare, one warp per cycle and sub-partition
  alu64,  // 64-bit integer
  imul,   // 32-bit multiply, mad
  fma,    // f32 add/mul/fma
  fma2,   // packed f32x2
  half,   // f16/bf16 arithmetic
  fp64,
  cvt,   // conversions
  sfu,   // ex2, rcp, sin, sqrt …: 16 lanes per cycle
  idiv,  // integer division and remainder (a sequence on hardware)
  fdiv,  // IEEE division and square root (a sequence)
  fdiv64,
  control,    // branch, call, ret
  barrier,    // bar.sync & co, issue part
  warp_sync,  // vote, shfl, match, redux, elect
  mma_sync,   // mma.sync
  shared_load,
  shared_store,
  shared_atomic,
  global_load,
  global_store,
  global_atomic,
  local_memory,
  constant_load,
  param_load,
  ldmatrix,
  stmatrix,
  mbarrier,     // arrive, expect_tx, test_wait …
  async_issue,  // cp.async, bulk copies, tcgen05.*, wgmma: cost of issuing; the engines cost the rest
  fence,
  special,  // %clock64, %globaltimer reads
  count_
};

constexpr uint32_t kNoSlot = 0xffffffffu;

/// What a sub-partition has besides its issue port, which takes an instruction a cycle: units that are busy with a
/// warp's instruction for longer. f32 goes to either half of the multipliers, integers to one of them only.
enum class Pipe : uint8_t { none, alu, fma_heavy, fma_lite, xu, fp64, lsu, count_, fma = count_ };
constexpr size_t kPipes = size_t(Pipe::count_);

/// Slots are byte offsets into the frame's register file. A b32 slot is 32 lanes x 4 bytes, a b64 slot 32 x 8, b128
/// 32 x 16, b16 32 x 2, b8 32 x 1; a predicate slot is one 32-bit mask (bit = lane). Immediates and addresses of
/// symbols live in constant slots of the same file, so that an ExecFn never asks where an operand comes from.
struct alignas(64) Op {
  // The first line of the host's cache has all that most ops need.
  ExecFn fn = nullptr;
  uint32_t dst = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot;
  int64_t imm = 0;                 // address displacement, branch target, immediate: the family's own use
  const uint32_t* list = nullptr;  // longer operand lists (vectors, tensor coordinates), owned by the Function
  uint32_t list_size = 0;
  uint32_t guard = kNoSlot;  // predicate slot, or kNoSlot
  uint8_t flags = 0;
  // Filled by program/schedule/ from the machine's costs.
  uint8_t issue = 1;  // cycles of the sub-partition's issue port
  Pipe pipe = Pipe::none;
  uint8_t set_sb = 0xff;  // scoreboard (0..31) that a variable-latency result releases, 0xff: none
  uint16_t stall = 1;     // cycles until the next op of this warp may issue
  bool plain = false;     // settle() found nothing that the interpreter would have to look at but its units
  uint32_t wait_sb = 0;   // bit i: wait for scoreboard i before issuing
  uint8_t occupies = 0;   // cycles of the pipe
  uint16_t waits = 0;     // of the stall, what the warp waits for before the next op, whatever this one takes
  // Of loops that ptxas has changed (program/schedule/sass_loops.h).
  uint8_t turns = 1;  // it waits for its operands in every so-many-th turn: loads of as many turns go together
  /// What it means to a loop whose loads ptxas takes out: the chip makes them once, tinygpu in every turn, and only
  /// those of the first turn cost time.
  enum class LoopRole : uint8_t {
    none,
    load,        // costs time in the loop's first turn alone
    before,      // the loop's first turn begins behind this op
    end_of_turn  // the first turn is over behind this op
  } loop_role = LoopRole::none;
  uint8_t loop = 0;  // of which loop, 0 … kMostLoops - 1
  static constexpr uint8_t kMostLoops = 32;

  uint32_t d = kNoSlot, dst2 = kNoSlot;
  uint32_t inst = 0;  // index into ptx::Function::body: the instruction that it comes from
  CostClass cost = CostClass::alu;
  bool uniform_address = false;  // of an atomic: ptxas can prove that all lanes that run together have one address,
  bool uniform_value = false;    // and that they bring one value
  bool spins = false;  // its block is a loop by itself in which nothing changes from turn to turn: it waits for others

  /// What the instruction says besides its operands: a struct or an enumeration of its family's own, written when it is
  /// decoded, all zeros before. get() must ask for the type that was written, or for one that it begins with.
  template <class T>
  void set(const T& details) {
    static_assert(sizeof(T) <= kDetails && std::is_trivially_copyable_v<T>);
    std::memcpy(details_, &details, sizeof(T));
  }
  template <class T>
  T& edit() {
    static_assert(sizeof(T) <= kDetails && std::is_trivially_copyable_v<T>);
    return *reinterpret_cast<T*>(details_);
  }
  template <class T>
  const T& get() const {
    static_assert(sizeof(T) <= kDetails && std::is_trivially_copyable_v<T>);
    return *reinterpret_cast<const T*>(details_);
  }

  enum Flag : uint8_t {
    guard_negated = 1,
    join = 2,           // a divergent branch's immediate post-dominator: groups may merge here
    leader = 4,         // first op of a basic block
    reads_pending = 8,  // touches a register that an asynchronous operation may still own: Function::async_touches
    no_guard = 16,      // fn looks at the guard itself (bra, call, ret, exit)
    serial = 32,        // strong global access, or a fence of one: executed in the serial phase between windows
    injected = 64,      // made by the lowering (a special register's read, say), not an instruction of the user's
    steers = 128,       // its result decides where the function branches or what memory it reaches
  };

  /// To be called when nothing else of it will change.
  void settle() {
    plain = guard == kNoSlot && !wait_sb && loop_role == LoopRole::none && !(flags & (join | reads_pending | serial)) &&
            cost != CostClass::global_store;
  }

  static constexpr size_t kDetails = 40;
  alignas(8) std::byte details_[kDetails] = {};
};
static_assert(sizeof(Op) <= 128 && offsetof(Op, wait_sb) < 64);

}  // namespace tinygpu
