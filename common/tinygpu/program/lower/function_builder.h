// Turns one ptx::Function into a decoded Function: liveness, register packing, decoding, reconvergence points,
// schedule.
#pragma once
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/program/program.h"

namespace tinygpu {

struct SassMatch;  // program/sass/sass_match.h
struct SassStep;   // program/sass/sass_order.h
struct PtxFeatures;

/// Basic blocks of a body, by instruction index.
struct Flow {
  struct Block {
    uint32_t begin = 0, end = 0;
    std::vector<uint32_t> next, previous;
    bool divergent = false;  // ends in a branch that lanes may take differently
  };
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of;       // instruction → block
  std::vector<int32_t> post_dominator;  // block → immediate post-dominator, -1: the exit
};
/// Edges from labels, guards, brx target lists; ret and exit leave the function.
Flow analyse_flow(const ptx::Function& f);

/// What one instruction does to registers, as its decode function declared it.
struct Touch {
  std::vector<uint32_t> uses, defs;
  std::vector<uint32_t> steers;                  // of the uses: guards, addresses, targets
  std::vector<uint32_t> async_uses, async_defs;  // read, written when the operation executes
  int channel = -1;                              // of async_uses and async_defs
  int commits = -1;                              // channel whose operations it closes into a group
  int waits = -1;                                // channel that it waits for
  uint32_t left = 0;                             // groups that the wait leaves in flight
};

/// Which registers asynchronous operations may still read or write, at every instruction.
class AsyncRegisters {
 public:
  struct Register {
    uint32_t id;
    int channel;
    bool written;  // else read
  };
  /// Per register: the fewest groups that were closed on any way since the operation issued; kIdle: none in flight.
  using Ages = std::vector<uint8_t>;
  static constexpr uint8_t kIdle = 255;

  AsyncRegisters(const ptx::Function& f, const Flow& flow, const std::vector<Touch>& touches);
  const std::vector<Register>& registers() const { return registers_; }
  /// When block `b` begins.
  const Ages& at_begin(size_t b) const { return begin_[b]; }
  /// What instruction `i` makes of them.
  void step(Ages& ages, uint32_t i) const;

 private:
  const ptx::Function& f_;
  const std::vector<Touch>& touches_;
  std::vector<Register> registers_;
  std::map<std::tuple<uint32_t, int, bool>, uint32_t> index_;
  std::vector<Ages> begin_;
};

/// Live ranges → slots. A register that an asynchronous operation may still read or write is live until the wait.
struct Packing {
  std::vector<uint32_t> slot;  // by register id; kNoSlot if never touched
  uint32_t bytes = 0;          // of the packed area
  uint32_t live_words = 0;     // most 32-bit words live at once: an estimate of registers per thread
};
Packing pack_registers(const ptx::Function& f, const Flow& flow, const std::vector<Touch>& touches,
                       const AsyncRegisters& async, uint32_t first_slot);

/// Instructions whose results, through whatever is computed from them, become guards, addresses or targets. Where a
/// register is written does not matter: what once steers counts everywhere.
std::vector<bool> find_steering(const std::vector<Touch>& touches);

/// Per block: it branches to itself and carries no register from one turn to the next.
std::vector<bool> find_spins(const Flow& flow, const std::vector<Touch>& touches);

class FunctionBuilder {
 public:
  FunctionBuilder(Program& program, Function& f);
  ~FunctionBuilder();
  void build();

 private:
  class Services;
  friend class Services;
  void place_locals();
  void place_shared();
  void decode_all(Services& s, const Flow& flow, bool record);
  /// What ptxas made of the function: its times, and its order where that is known.
  void take_sass(const Flow& flow);
  void mark_joins(const Flow& flow);
  void mark_steering();
  /// atom whose result no instruction reads: ptxas makes RED of it, and nobody waits.
  void drop_unread_results();
  void mark_pending(const Flow& flow, const AsyncRegisters& async);
  void schedule(const Flow& flow);
  uint32_t constant_slot(FrameConstant::Kind kind, uint64_t bits, uint8_t width);

  Program& program_;
  Function& f_;
  struct Symbol {
    ptx::Space space;
    FrameConstant::Kind kind;
    uint64_t offset;
  };
  std::unordered_map<std::string, Symbol> symbols_;  // function-scope names, parameters and shared variables
  std::map<std::tuple<int, uint64_t, int>, uint32_t> constant_slots_;
  uint32_t constant_bytes_ = 0;
  std::vector<uint32_t> temporaries_;  // slots for dynamic specials and negated predicates, 256 bytes each
  std::vector<Touch> touches_;
  std::map<uint32_t, std::vector<uint32_t>*> target_lists_;  // of brx.idx, by index in ptx::Function::targets
  std::vector<bool> spins_;                                  // blocks; known in the second pass
  std::vector<uint32_t> first_op_;                           // instruction → first op (with its injected ones)
  std::vector<std::vector<uint32_t>> op_uses_, op_defs_;     // slots, per op: for the schedule
  Packing packing_;
  std::vector<PtxFeatures> features_;  // by instruction
  std::unique_ptr<SassMatch> sass_;    // what ptxas made of it
  std::unordered_map<uint32_t, const std::vector<SassStep>*>
      before_;  // instruction → the machine code's in front of it
};

}  // namespace tinygpu
