// Static shared memory of a kernel, laid out as ptxas does (read from cubins of ptxas 13.0 for sm_90a and sm_100a).
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/scope.h"

namespace tinygpu {

inline bool is_shared(ptx::Space s) {
  return s == ptx::Space::shared || s == ptx::Space::shared_cta || s == ptx::Space::shared_cluster;
}

struct SharedLayout {
  /// From the begin of the CTA's window: variables that the kernel or a function that it may call names.
  std::unordered_map<const ptx::Variable*, uint32_t> offsets;
  uint32_t bytes = 0;  // from kSharedBase
};

/// In order of declaration: the variables of the kernel's own that it names, those of modules that it or its functions
/// name, those of its functions; last, but only in `bytes`, what they declare and do not name. Dynamic shared memory
/// begins behind what is named. Throws LinkError if there is more than a CTA may have.
SharedLayout lay_out_shared(const Function& kernel, const std::vector<ModuleScope>& scopes,
                            const std::vector<std::unique_ptr<Function>>& functions);

}  // namespace tinygpu
