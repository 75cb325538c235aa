#include "common/tinygpu/cuda/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "common/tinygpu/api/module_variables.h"
#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/cuda/assembler.h"
#include "common/tinygpu/cuda/error.h"
#include "common/tinygpu/cuda/process.h"
#include "common/tinygpu/cuda/ptx_files.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/debug/module_files.h"

namespace tinygpu::cuda {

namespace {

using Kind = api::LoadError::Kind;

/// What the options ask of a module's PTX. `captured`: gets the names of the files that are written of it.
api::LoadHooks hooks(const MachineSpec& spec, const api::Options& run, std::vector<std::string>& captured) {
  api::LoadHooks out;
  out.exchange = [&run, &captured](std::string& text) {
    exchange_ptx(text, run.dump_ptx, run.replace_ptx);
    if (!run.capture.empty()) captured.push_back(dump_ptx(text, run.capture));
    if (const std::string_view debugger = variable("GEN5_DEBUG_SOCKET"); !debugger.empty())
      debug::keep_module(std::string(debugger), text);
  };
  if (run.ptxas.empty()) return out;
  out.assemble = [&spec, &run](const std::string& text, bool linked) {
    const char* own = image::ptx_target(text).ends_with('a') ? "a" : "";
    std::string why;
    auto cubin = assemble(run.ptxas, text, fmt::format("sm_{}{}{}", spec.compute_major, spec.compute_minor, own),
                          linked, std::chrono::seconds(run.ptxas_seconds), why);
    if (!cubin) throw api::LoadError(Kind::invalid_ptx, why);
    return std::move(*cubin);
  };
  return out;
}

}  // namespace

CUresult code_of(const api::LoadError& e) {
  switch (e.kind) {
    case Kind::invalid_image: return CUDA_ERROR_INVALID_IMAGE;
    case Kind::no_binary: return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case Kind::invalid_ptx:
    case Kind::not_decoded: return CUDA_ERROR_INVALID_PTX;
    case Kind::no_such_kernel: return kInvalidDeviceFunction;
  }
  return CUDA_ERROR_UNKNOWN;
}

image::KeptPtx ptx_kept_by_compilers() { return kept_ptx; }

CUresult Module::load_quietly() {
  if (!tried_) {
    tried_ = true;
    on_clean_thread([&] { result_ = load_now(); });
  }
  return result_;
}

CUresult Module::load() {
  const bool first = !tried_;
  load_quietly();
  if (first && result_ != CUDA_SUCCESS) say("module-not-loaded", log_);
  return result_;
}

void Module::unload() {
  for (auto& [name, k] : kernels_) {
    k->loaded = nullptr;
    static_cast<KernelSettings&>(*k) = {};
  }
  loaded_.reset();
  tried_ = false;
}

CUresult Module::load_now() {
  try {
    log_.clear();
    if (!source_) {
      if (registered_) images_ = image::images_of(wrapper_, machine_.spec(), ptx_kept_by_compilers());
      source_ = std::make_shared<const api::ModuleSource>(
          api::parse(std::move(images_), hooks(machine_.spec(), State::get().options, captured_ptx_)));
    }
    loaded_ = machine_.load(source_);
    return CUDA_SUCCESS;
  } catch (const api::LoadError& e) {
    log_ = e.what();
    return code_of(e);
  }
}

Kernel* Module::kernel_handle(const std::string& name) {
  auto& slot = kernels_[name];
  if (!slot) {
    slot = std::make_unique<Kernel>();
    slot->module = this;
    slot->name = name;
    State::get().modules.add(slot.get());
  }
  return slot.get();
}

std::vector<std::string> Module::entries() {
  return load() == CUDA_SUCCESS ? loaded_->entries() : std::vector<std::string>();
}

std::vector<std::string> Module::variables() const {
  return source_ ? api::variables_of(*source_) : std::vector<std::string>();
}

Kernel* Module::kernel(const std::string& name) {
  const auto names = entries();
  return std::ranges::find(names, name) == names.end() ? nullptr : kernel_handle(name);
}

CUresult Module::resolve(Kernel& k) {
  if (k.loaded) return CUDA_SUCCESS;
  if (CUresult e = load(); e != CUDA_SUCCESS) return e;
  try {
    k.loaded = &loaded_->kernel(k.name);
    return CUDA_SUCCESS;
  } catch (const api::LoadError& e) {
    if (e.kind == Kind::no_such_kernel)
      say("no-such-kernel", e.what(), "the host code and the device code of this program come from different builds");
    else
      say("kernel-not-decoded", e.what());
    return code_of(e);
  }
}

std::optional<api::Module::Variable> Module::variable(const std::string& name) {
  return load() == CUDA_SUCCESS ? loaded_->variable(name) : std::nullopt;
}

}  // namespace tinygpu::cuda
