// Functions by name, error texts.
#include <dlfcn.h>

#include <string_view>

#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/entry_point.h"

using namespace tinygpu::cuda;

extern "C" {

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t,
                             CUdriverProcAddressQueryResult* status) {
  if (!symbol || !function) return CUDA_ERROR_INVALID_VALUE;
  *function = driver_function(symbol, version);
  if (status) *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
#undef cuGetProcAddress
CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  if (!name) return CUDA_ERROR_INVALID_VALUE;
  const ErrorCode* c = error_code(error);
  *name = c && *c->driver ? c->driver : nullptr;
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  if (!text) return CUDA_ERROR_INVALID_VALUE;
  const ErrorCode* c = error_code(error);
  *text = c && *c->driver ? c->text : nullptr;
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// The tables are private interfaces between NVIDIA's own libraries; a static runtime asks for them, and cannot do
/// without. The compilers ask for the driver's cache, and can.
CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table) *table = nullptr;
  Dl_info caller{};
  if (dladdr(__builtin_return_address(0), &caller) && caller.dli_fname) {
    const std::string_view file = caller.dli_fname, name = file.substr(file.rfind('/') + 1);
    if (name.starts_with("libnvrtc.") || name.starts_with("libnvJitLink.")) return CUDA_ERROR_NOT_FOUND;
  }
  say("private-interface",
      "a private table of NVIDIA's driver was asked for: the program or a library of it links the CUDA runtime "
      "statically",
      "rebuild with -cudart shared");
  return CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
