// What the names in a function's body mean.
#pragma once
#include <optional>
#include <string>
#include <unordered_map>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/shared_layout.h"
#include "common/tinygpu/program/scope.h"

namespace tinygpu {

class Symbols {
 public:
  /// Gives the function's parameters, results and local variables their places (f.params, f.returns, f.local_bytes),
  /// and a kernel's shared memory (f.static_shared, f.shared_offsets). `shared`: of kernels. Throws LinkError.
  Symbols(Function& f, const ModuleScope& scope, const SharedLayout* shared);

  /// The address of a variable or a function, `addend` bytes on; empty: there is none of that name.
  std::optional<FrameConstant> address(const std::string& name, uint64_t addend, uint8_t width) const;
  /// A variable's space, as Decoder::space_of_symbol has it.
  ptx::Space space_of(const std::string& name) const;
  /// Of a variable in local memory: from the frame's begin.
  std::optional<uint32_t> local_offset(const std::string& name) const;
  std::optional<uint32_t> function(const std::string& name) const;

 private:
  struct Place {
    ptx::Space space;
    FrameConstant::Kind kind;
    uint64_t offset;
    const ptx::Variable* variable = nullptr;
  };
  void place_locals(Function& f);
  void place_shared(const Function& f, const std::vector<ptx::Variable>& variables);

  const ModuleScope& scope_;
  std::unordered_map<std::string, Place> places_;  // names of the function's, and shared variables
};

}  // namespace tinygpu
