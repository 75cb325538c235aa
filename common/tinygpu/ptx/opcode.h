// The opcodes of PTX and their traits: one table (opcodes.def), bound to each instruction when it is parsed.
//
// A spelling such as "mbarrier.try_wait.parity.shared::cta.b64" is cut into an opcode, the longest entry of the table
// that it starts with, and modifiers, which keep their colons ("shared::cta", "cta_group::2",
// "mbarrier::complete_tx::bytes"). Four rules beyond "longest prefix":
//   * `.sync` that belongs to the operation is part of the opcode wherever it stands: match.any.sync.b32 is
//     "match.sync" {"any","b32"}; shfl.sync.idx.b32 is "shfl.sync" {"idx","b32"}; mma.sync.aligned… is "mma.sync"
//     {"aligned", …}; wmma.load.a.sync.aligned… is "wmma.load" {"a","sync","aligned", …} (no rule: "sync" stays).
//   * tcgen05.wait::ld is "tcgen05.wait" {"ld","sync","aligned"}; tcgen05.fence::before_thread_sync is "tcgen05.fence"
//     {"before_thread_sync"}.
//   * mma.sp::ordered_metadata.sync… is "mma.sp.sync" {"ordered_metadata", …}.
//   * What the table lacks (an opcode newer than it) is Opcode::unknown; its name is the spelling's first word.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/tinygpu/ptx/memory_order.h"

namespace tinygpu::ptx {

enum class Opcode : uint8_t {
  unknown,
#define OPCODE(enumerator, ...) enumerator,
#include "common/tinygpu/ptx/opcodes.def"
#undef OPCODE
};

/// How many there are; Opcode(1) is the first that is known.
inline constexpr size_t kOpcodes = 1
#define OPCODE(...) +1
#include "common/tinygpu/ptx/opcodes.def"
#undef OPCODE
    ;

/// What it is about: the checks that look at a program, and the proxies and waits of its asynchronous operations.
enum class Subject : uint8_t {
  arithmetic,
  memory,
  cp_async,
  bulk_copy,
  tensormap,
  control,
  barrier,
  fence,
  warp,
  launch,
  mbarrier,
  matrix,
  wgmma,
  tensor_memory,
  texture,
  video
};

/// What runs after it.
enum class Control : uint8_t {
  next,
  branch,        // operand 0: the label
  branch_table,  // operand 1: the list of labels
  call,
  leave  // the lanes end or return
};

/// The proxy of its accesses (PTX ISA 8.6).
enum class OpcodeProxy : uint8_t { generic, async };

/// What ptxas makes of it, as far as matching a loop with its machine code goes by more than the class of its cost.
enum class Sass : uint8_t {
  any,
  maybe_none,  // some forms only name a register or a constant otherwise
  float_sum,   // of f32 and f64 one instruction
  shuffle,
  copy,
  copy_group,
  copy_wait,
  two_mma  // of most shapes two instructions
};

struct OpcodeTraits {
  std::string_view name;
  Subject subject;
  Control control;
  OpcodeProxy proxy;
  MemoryOrder order;  // where no modifier says otherwise (PTX ISA 9.7.9, 9.7.13)
  Sass sass;
};

const OpcodeTraits& traits_of(Opcode opcode);
inline std::string_view name_of(Opcode opcode) { return traits_of(opcode).name; }
/// Opcode::unknown if the table has none of that name.
Opcode opcode_from_name(std::string_view name);

}  // namespace tinygpu::ptx
