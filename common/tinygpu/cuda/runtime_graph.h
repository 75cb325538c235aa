// What the runtime_graph*.cpp files share.
#pragma once
#include <map>
#include <string>

#include "common/tinygpu/cuda/entry_point.h"
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/runtime.h"

namespace tinygpu::cuda {

/// Calls the driver's function of that name, with these arguments.
template <class... A>
cudaError_t driver_call(const char* name, A... arguments) {
  return api<Pending::stays>([&](State&) {  // the driver's call does what is due
    static std::map<std::string, void*>& known = *new std::map<std::string, void*>;
    void*& f = known[name];
    if (!f) f = driver_function(name, CUDA_VERSION);
    if (!f) return CUDA_ERROR_NOT_SUPPORTED;
    return reinterpret_cast<CUresult (*)(A...)>(f)(arguments...);
  });
}

}  // namespace tinygpu::cuda
