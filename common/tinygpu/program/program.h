// A loaded program: linked modules, variables with device addresses, functions decoded on first use.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/program/lower/decoder.h"
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

/// Special registers, decoded once from their names.
enum class Special : uint16_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  clusterid_x,
  clusterid_y,
  clusterid_z,
  nclusterid_x,
  nclusterid_y,
  nclusterid_z,
  cluster_ctaid_x,
  cluster_ctaid_y,
  cluster_ctaid_z,
  cluster_nctaid_x,
  cluster_nctaid_y,
  cluster_nctaid_z,
  cluster_ctarank,
  cluster_nctarank,
  is_explicit_cluster,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  clock,
  clock_hi,
  clock64,
  globaltimer,
  globaltimer_lo,
  globaltimer_hi,
  dynamic_smem_size,
  total_smem_size,
  aggr_smem_size,
  reserved_smem_offset_begin,
  reserved_smem_offset_cap,
  reserved_smem_offset_end,
  current_graph_exec,
  envreg,
  pm,
  unknown
};
Special special_from_name(std::string_view name);
/// Bytes of the special register's value: 8 for the 64-bit ones, 0 for predicates, else 4.
int width_of(Special s);
/// True for the registers that change while a warp runs (clocks): read by an op, not a frame constant.
bool is_dynamic(Special s);

/// A value that is the same for every op of a frame, written into its slot when the frame is made.
struct FrameConstant {
  enum class Kind : uint8_t {
    plain,           // bits (width 16: zero-extended)
    shared,          // bits = offset; + cta_rank << 24
    dynamic_shared,  // bits = offset behind the kernel's static shared memory; + cta_rank << 24
    local,           // bits = offset; + the frame's local_base
    special,         // bits = a Special that does not change while a warp lives
  } kind = Kind::plain;
  uint8_t width = 4;  // bytes per lane
  uint32_t slot = 0;
  uint64_t bits = 0;
};

/// Slots of registers that an op touches while an asynchronous operation may still write them, or read what it writes.
struct AsyncTouch {
  std::vector<uint32_t> reads, writes;
};

struct SassCode;  // program/sass/sass_code.h

/// One decoded function.
struct Function {
  const ptx::Function* source = nullptr;
  const ptx::Module* module = nullptr;
  uint32_t scope = 0;  // index of its module in the Program
  std::string name;
  uint32_t index = 0;  // index into Program::functions; its device address is function_address(index)
  bool entry = false;
  /// Entry: offsets in the parameter bank. Function: offsets in its frame's local memory, where the caller puts them.
  std::vector<ParamInfo> params, returns;
  uint32_t param_bytes = 0;     // of the bank (entries)
  uint32_t static_shared = 0;   // bytes from kSharedBase, entries only; includes what called functions use
  uint32_t local_bytes = 0;     // per lane: parameters and returns (functions), depot, outgoing call parameters
  uint32_t register_bytes = 0;  // frame size in the warp's register file
  std::vector<FrameConstant> constants;
  std::vector<Op> ops;
  std::deque<std::vector<uint32_t>> lists;
  std::unordered_map<uint32_t, AsyncTouch> async_touches;  // of the ops with Op::reads_pending, by index
  uint32_t registers_per_thread = 0;                       // from the cubin when known, else an estimate from liveness
  std::shared_ptr<const SassCode> sass;                    // what ptxas made of it, if that is known
  bool calls_any = false;
  std::atomic<bool> decoded{false};

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

/// A variable of .global or .const space after loading.
struct LoadedVariable {
  const ptx::Variable* source = nullptr;
  uint64_t address = 0;  // device address
  uint64_t size = 0;
};

/// Gives variables their place. Implemented over GlobalMemory by whoever loads programs.
class VariableStore {
 public:
  virtual ~VariableStore() = default;
  /// Zero-filled device memory; `managed`: the host may dereference it.
  virtual uint64_t allocate(const std::string& name, uint64_t size, uint32_t align, bool managed, bool constant) = 0;
  virtual void write(uint64_t address, const void* bytes, size_t size) = 0;
};

class LinkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Modules linked into one image. Functions are decoded lazily, under a lock; a decoded function never changes.
class Program {
 public:
  /// Links, allocates and initialises variables. Throws LinkError (undefined or doubly defined symbols).
  Program(std::vector<std::shared_ptr<const ptx::Module>> modules, const InstructionSet& isa, const CostTable& costs,
          VariableStore& store);
  ~Program();

  /// The function of that visible name, decoded; nullptr if there is none.
  const Function* find(const std::string& name);
  const Function& at(uint32_t index);
  /// Registers per thread as ptxas allocated them, known from a cubin beside the PTX. For functions of this program.
  void set_registers(const Function& f, uint32_t n) { functions_[f.index]->registers_per_thread = n; }
  /// What ptxas made of the functions of that name, found in a cubin beside the PTX. Before they are decoded.
  void set_sass(const std::string& name, std::shared_ptr<const SassCode> code);
  size_t function_count() const { return functions_.size(); }
  /// Names of the entry points, in order of definition.
  std::vector<std::string> entries() const;
  const LoadedVariable* variable(const std::string& name) const;
  /// What instructions of some function of it have to do with.
  enum Subject : uint8_t { async_proxy = 1, mbarriers = 2, tensor_memory = 4 };
  bool uses(Subject s) const { return subjects_ & s; }

 private:
  friend class FunctionBuilder;
  struct ModuleScope {
    std::shared_ptr<const ptx::Module> module;
    std::unordered_map<std::string, uint32_t> functions;        // every name defined or declared here → index
    std::unordered_map<std::string, LoadedVariable> variables;  // .global and .const
    std::unordered_map<std::string, uint32_t> common_shared;    // offsets of shared variables that functions use
    uint64_t common_shared_bytes = 0;
  };
  void link_functions();
  void load_variables(VariableStore& store);
  void place_common_shared();
  void decode(Function& f);

  std::vector<ModuleScope> scopes_;
  const InstructionSet& isa_;
  CostTable costs_;
  std::vector<std::unique_ptr<Function>> functions_;
  std::unordered_map<std::string, uint32_t> visible_functions_;
  std::unordered_map<std::string, LoadedVariable> visible_variables_;
  std::recursive_mutex decode_mutex_;
  uint8_t subjects_ = 0;
};

}  // namespace tinygpu
