// The modules that are loaded, and the kernels whose handles are valid: those of live modules.
#pragma once
#include <memory>
#include <set>
#include <unordered_map>

#include "common/tinygpu/cuda/module.h"

namespace tinygpu::cuda {

class Modules {
 public:
  Module* add(std::unique_ptr<Module> m) {
    Module* p = m.get();
    all_[p] = std::move(m);
    return p;
  }
  bool remove(const Module* m) {
    std::erase_if(kernels_, [&](const Kernel* k) { return k->module == m; });
    return all_.erase(m) != 0;
  }
  bool has(const Module* m) const { return all_.count(m) != 0; }
  void add(const Kernel* k) { kernels_.insert(k); }
  bool has_kernel(const void* p) const { return kernels_.count(static_cast<const Kernel*>(p)) != 0; }
  /// The context ends: what belongs to it goes, the rest is loaded again when it is next used.
  void reset() {
    for (auto it = all_.begin(); it != all_.end();) {
      Module* m = (it++)->second.get();
      if (m->ends_with_context)
        remove(m);
      else
        m->unload();
    }
  }

 private:
  std::unordered_map<const Module*, std::unique_ptr<Module>> all_;
  std::set<const Kernel*> kernels_;
};

}  // namespace tinygpu::cuda
