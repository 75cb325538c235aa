// A loaded program: linked modules, variables with device addresses, functions decoded on first use.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/decoder.h"
#include "common/tinygpu/program/scope.h"
#include "common/tinygpu/program/special.h"

namespace tinygpu {

/// Gives variables their place. Implemented over GlobalMemory by whoever loads programs.
class VariableStore {
 public:
  virtual ~VariableStore() = default;
  /// Zero-filled device memory; `managed`: the host may dereference it.
  virtual uint64_t allocate(const std::string& name, uint64_t size, uint32_t align, bool managed, bool constant) = 0;
  virtual void write(uint64_t address, const void* bytes, size_t size) = 0;
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
  /// Bytes of stack that a kernel's own frame takes, by name, found in a cubin beside the PTX (which says 0 of
  /// functions that call themselves: ptxas 13.0). Before they are decoded.
  void set_stack(const std::map<std::string, uint32_t>& frames);
  size_t function_count() const { return functions_.size(); }
  /// Names of the entry points, in order of definition.
  std::vector<std::string> entries() const;
  const LoadedVariable* variable(const std::string& name) const;
  /// What instructions of some function of it have to do with.
  enum Subject : uint8_t { async_proxy = 1, mbarriers = 2, tensor_memory = 4 };
  bool uses(Subject s) const { return subjects_ & s; }

 private:
  void link_functions();
  void load_variables(VariableStore& store);
  /// The pipeline: lower, match with machine code, allocate, schedule.
  void lower_function(Function& f) const;
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
