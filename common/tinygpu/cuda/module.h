// A module: PTX of one registered fatbin or one cuModuleLoadData, parsed and linked at first use.
#pragma once
#include <cuda.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/tinygpu/cuda/cubin.h"
#include "common/tinygpu/cuda/fatbin.h"
#include "common/tinygpu/cuda/machine_code.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/program/program.h"

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
  const Function* function = nullptr;  // decoded at first use
};

/// One PTX text and where it came from.
struct PtxImage {
  std::string text;
  bool assembled = false;  // a cubin made from it lies beside it: ptxas has accepted every form
};

/// What a set of containers offers this machine.
struct ImageChoice {
  std::vector<PtxImage> ptx;                     // one per container
  std::map<std::string, CubinKernel> resources;  // by function name
  std::map<std::string, std::shared_ptr<const SassCode>> machine_code;
};

/// True if a driver would compile PTX for `target` ("sm_100a") on a GPU of this compute capability: sm_NN on NN and
/// later, sm_NNf on later ones of the same family, sm_NNa on exactly NN.
bool target_runs_on(std::string_view target, int major, int minor);

/// Picks from each container the PTX the driver would (the highest that runs here). NO_BINARY_FOR_GPU and a sentence
/// that says what to rebuild with if there is none. Throws FatbinError.
CUresult choose_images(const std::vector<Bytes>& containers, const MachineSpec& spec, ImageChoice& out,
                       std::string& message);

/// What the module loading calls accept: PTX text (NUL-terminated), a fatbin, a fatbin wrapper; a cubin is refused. No
/// byte is read that the bytes before it don't promise, nor memory that isn't there.
CUresult images_of(const void* image, const MachineSpec& spec, ImageChoice& out, std::string& message);
/// The same for a file's bytes: PTX text or a fatbin.
CUresult images_of(Bytes file, const MachineSpec& spec, ImageChoice& out, std::string& message);

class Module {
 public:
  /// From a registration: images are chosen and parsed when first needed.
  Module(Gpu& gpu, const FatbinWrapper* wrapper) : gpu_(gpu), wrapper_(wrapper) {}
  Module(Gpu& gpu, ImageChoice images) : gpu_(gpu), images_(std::move(images)) {}
  ~Module();
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
  /// Fills kernel->function. INVALID_IMAGE …, NOT_FOUND.
  CUresult resolve(Kernel& k);
  const LoadedVariable* variable(const std::string& name);
  /// Loads; nullptr if that fails.
  Program* program() { return load() == CUDA_SUCCESS ? program_.get() : nullptr; }
  /// PTX ISA version of the first image, major * 10 + minor, and its target's number; 0 before load().
  int ptx_version() const { return ptx_version_; }
  int target_number() const { return target_number_; }
  uint32_t frame_bytes(const std::string& kernel) const;
  /// Its machine code was made for this run (GEN5_PTXAS), and lay not beside the PTX.
  bool assembled_here(const std::string& kernel) const { return assembled_here_.contains(kernel); }

 private:
  class Store;
  CUresult load_now();
  CUresult take_assembled(const std::string& text);

  Gpu& gpu_;
  const FatbinWrapper* wrapper_ = nullptr;
  ImageChoice images_;
  std::set<std::string> assembled_here_;
  std::vector<std::shared_ptr<const ptx::Module>> parsed_;
  bool tried_ = false;
  CUresult result_ = CUDA_SUCCESS;
  std::string log_;
  int ptx_version_ = 0, target_number_ = 0;
  std::vector<uint64_t> owned_;  // device memory of the module's variables
  std::unique_ptr<VariableStore> store_;
  std::unique_ptr<Program> program_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

}  // namespace tinygpu::cuda
