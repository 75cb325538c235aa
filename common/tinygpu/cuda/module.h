// A module of CUDA's: the PTX of one registered fatbin or of one cuModuleLoadData, loaded into the machine at first
// use.
#pragma once
#include <cuda.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/tinygpu/api/machine.h"

namespace tinygpu::cuda {

class Module;

/// What a program set on a kernel.
struct KernelSettings {
  int max_dynamic_shared = -1;  // MAX_DYNAMIC_SHARED_SIZE_BYTES, −1: not set
  int carveout = -1;
  int cache_config = 0;
  bool non_portable_cluster = false;
  int cluster_policy = 0;
  uint32_t required_cluster[3] = {0, 0, 0};  // set by attribute
};

/// An entry point. Its address is the handle of both APIs (cudaKernel_t, CUfunction …).
struct Kernel : KernelSettings {
  Module* module = nullptr;
  std::string name;
  const api::Kernel* loaded = nullptr;  // from first use on
};

/// What a driver answers where nothing could be loaded.
CUresult code_of(const api::LoadError& e);
/// The PTX that a compiler kept beside a cubin of its own, where GEN5_KEPT_PTX says so.
image::KeptPtx ptx_kept_by_compilers();

class Module {
 public:
  /// From a registration: images are chosen and parsed when first needed.
  Module(api::Machine& machine, const image::FatbinWrapper* wrapper)
      : machine_(machine), registered_(true), wrapper_(wrapper) {}
  Module(api::Machine& machine, image::Images images) : machine_(machine), images_(std::move(images)) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  bool ends_with_context = false;  // a CUmodule: not there any more after a reset; others are loaded again

  /// Parses and links, once; later calls return the same code. The reason of a failure is in log(); load() also says it
  /// on stderr.
  CUresult load();
  CUresult load_quietly();
  /// Gives back the variables and forgets what was set on kernels, as the end of a context does. Handles stay valid;
  /// the next use loads again.
  void unload();
  const std::string& log() const { return log_; }

  /// The kernel of that name, made on demand; nullptr if the module has none. Loads.
  Kernel* kernel(const std::string& name);
  /// A handle without loading; whether the name exists is found out at first use.
  Kernel* kernel_handle(const std::string& name);
  /// Fills kernel->loaded. INVALID_IMAGE …, NOT_FOUND.
  CUresult resolve(Kernel& k);
  /// Loads, as do the others.
  std::optional<api::Module::Variable> variable(const std::string& name);
  std::vector<std::string> entries();
  /// Its variables in global and constant memory.
  std::vector<std::string> variables() const;
  /// The files that GEN5_CAPTURE has written of its PTX.
  const std::vector<std::string>& captured_ptx() const { return captured_ptx_; }
  /// Of the first image; 0 before load().
  int ptx_version() const { return source_ ? source_->ptx_version() : 0; }
  int target_number() const { return source_ ? source_->target_number() : 0; }

 private:
  CUresult load_now();

  api::Machine& machine_;
  const bool registered_ = false;
  const image::FatbinWrapper* wrapper_ = nullptr;
  image::Images images_;
  std::shared_ptr<const api::ModuleSource> source_;  // parsed once
  std::unique_ptr<api::Module> loaded_;
  bool tried_ = false;
  CUresult result_ = CUDA_SUCCESS;
  std::string log_;
  std::vector<std::string> captured_ptx_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

}  // namespace tinygpu::cuda
