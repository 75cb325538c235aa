// A lowered function: what a warp runs.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/program/op.h"
#include "common/tinygpu/ptx/module.h"

namespace tinygpu {

/// Issue cost and dependent latency of one cost class, in SM cycles.
struct OpCost {
  uint16_t issue = 1;
  uint16_t latency = 4;
  bool variable = false;  // latency decided at run time: the op releases a scoreboard
};
using CostTable = std::array<OpCost, size_t(CostClass::count_)>;

struct ParamInfo {
  uint32_t offset = 0, size = 0, align = 1;
};

/// A value that is the same for every op of a frame, written into its slot when the frame is made.
struct FrameConstant {
  enum class Kind : uint8_t {
    plain,          // bits (width 16: zero-extended)
    shared,         // bits = offset; + cta_rank << 24
    kernel_shared,  // the same, + where the kernel has `variable`: each kernel has a layout of its own
    local,          // bits = offset; + the frame's local_base
    special,        // bits = a Special that does not change while a warp lives
  } kind = Kind::plain;
  uint8_t width = 4;  // bytes per lane; 0: a predicate
  uint32_t slot = 0;
  uint64_t bits = 0;
  const ptx::Variable* variable = nullptr;
};

/// Slots of registers that an op touches while an asynchronous operation may still write them, or read what it writes.
struct AsyncTouch {
  std::vector<uint32_t> reads, writes;
};

/// Where a register of the PTX is while ops `first` to `last` run, or wait to run: nothing else uses its slot then.
struct RegisterPlace {
  uint32_t reg = 0;  // index into ptx::Function::registers
  uint32_t slot = 0, first = 0, last = 0;
};

struct SassCode;  // program/sass/sass_code.h

/// What lowering makes of one ptx::Function.
struct Function {
  const ptx::Function* source = nullptr;
  const ptx::Module* module = nullptr;
  uint32_t scope = 0;  // index of its module in the Program
  std::string name;
  uint32_t index = 0;  // index into Program::functions; its device address is function_address(index)
  bool entry = false;
  /// Entry: offsets in the parameter bank. Function: offsets in its frame's local memory, where the caller puts them.
  std::vector<ParamInfo> params, returns;
  uint32_t param_bytes = 0;    // of the bank (entries)
  uint32_t static_shared = 0;  // bytes from kSharedBase, entries only; includes what called functions use
  std::unordered_map<const ptx::Variable*, uint32_t> shared_offsets;  // entries: of those, from the window's begin
  uint32_t local_bytes = 0;  // per lane: parameters and returns (functions), depot, outgoing call parameters
  /// Of a thread's stack, a frame: what a cubin beside the PTX says (kernels), or local variables and a return address.
  uint32_t stack_bytes = 0;
  bool stack_known = false;     // from a cubin
  uint32_t register_bytes = 0;  // frame size in the warp's register file
  std::vector<FrameConstant> constants;
  std::vector<Op> ops;
  std::vector<RegisterPlace> registers;  // by their first op
  std::deque<std::vector<uint32_t>> lists;
  std::unordered_map<uint32_t, AsyncTouch> async_touches;  // of the ops with Op::reads_pending, by index
  uint32_t registers_per_thread = 0;                       // from the cubin when known, else an estimate from liveness
  std::shared_ptr<const SassCode> sass;                    // what ptxas made of it, if that is known
  bool calls_any = false;
  std::atomic<bool> decoded{false};

  /// ptxas knows how many registers a thread of this kernel begins with: else it leaves setmaxnreg out (C7508).
  bool keeps_setmaxnreg() const {
    return source->maxnreg || ((source->reqntid[0] || source->maxntid[0]) && source->minnctapersm);
  }
  const ptx::Instruction& instruction(const Op& op) const { return source->body[op.inst]; }
};

/// What a program may ask for: static shared memory of a CTA (ptxas 13.0: 0x38c00), local memory of a thread (CUDA:
/// 512 KiB), and bytes of one frame's register file here.
constexpr uint64_t kMostStaticShared = 0x38c00;
constexpr uint64_t kMostLocal = 512 * 1024;
constexpr uint64_t kMostRegisterBytes = uint64_t(1) << 28;

/// First user byte of a CTA's shared window on sm_90 and later (read from code that ptxas generates).
constexpr uint32_t kSharedBase = 0x400;

/// Generic address windows. Device memory lies elsewhere (machine/memory/memory.h).
constexpr uint64_t kSharedWindow = 0x10'0000'0000;    // + (cta_rank << 24 | offset)
constexpr uint64_t kLocalWindow = 0x11'0000'0000;     // + offset, per lane
constexpr uint64_t kParamWindow = 0x12'0000'0000;     // + offset, kernel parameters
constexpr uint64_t kFunctionWindow = 0x13'0000'0000;  // + index * 16
constexpr uint64_t kWindowSize = 0x1'0000'0000;
inline uint64_t function_address(uint32_t index) { return kFunctionWindow + uint64_t(index) * 16; }

class LinkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tinygpu
