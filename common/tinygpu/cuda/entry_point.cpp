#include "common/tinygpu/cuda/entry_point.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

namespace tinygpu::cuda {

namespace {

/// libcuda.so.1 beside this library, whatever else is called so on this machine.
void* driver_library() {
  static void* handle = [] {
    Dl_info here{};
    dladdr(reinterpret_cast<void*>(&driver_function), &here);
    const auto path = std::filesystem::path(here.dli_fname).parent_path() / "libcuda.so.1";
    return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }();
  return handle;
}

/// Forms that came later than the first of their kind, and the version that brought them: cudaTypedefs.h. Functions not
/// listed have had their current form since before CUDA 12.
struct NewForm {
  const char *name, *suffix;
  int since;
};
constexpr NewForm kNewForms[] = {
    {"cuCtxCreate", "_v4", 12050},
    {"cuCtxCreate", "_v3", 11040},
    {"cuCtxCreate", "_v2", 3020},
    {"cuGetProcAddress", "_v2", 12000},
    {"cuStreamGetCaptureInfo", "_v3", 12030},
    {"cuStreamGetCaptureInfo", "_v2", 11030},
    {"cuEventElapsedTime", "_v2", 12080},
    {"cuMemAdvise", "_v2", 12020},
    {"cuMemPrefetchAsync", "_v2", 12020},
    {"cuDeviceGetUuid", "_v2", 11040},
};

/// The name under which a function's current form is exported.
const char* current_name(const char* name) {
  struct Versioned {
    std::string_view name;
    const char* current;
  };
  static constexpr Versioned kVersioned[] = {
#define TINYGPU_EXPORT(name)
#define TINYGPU_EXPORT_PER_THREAD(name, suffix)
#define TINYGPU_VERSIONED(name, current) {#name, #current},
#include "driver_names.inc"
#undef TINYGPU_EXPORT
#undef TINYGPU_EXPORT_PER_THREAD
#undef TINYGPU_VERSIONED
  };
  for (const Versioned& v : kVersioned)
    if (v.name == name) return v.current;
  return name;
}

}  // namespace

void* driver_function(const char* name, int version) {
  void* library = driver_library();
  if (!library) return nullptr;
  bool listed = false;
  for (const NewForm& f : kNewForms) {
    if (name != std::string_view(f.name)) continue;
    listed = true;
    if (version >= f.since)
      if (void* p = dlsym(library, fmt::format("{}{}", name, f.suffix).c_str())) return p;
  }
  return dlsym(library, listed ? name : current_name(name));
}

}  // namespace tinygpu::cuda
