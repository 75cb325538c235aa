#include "common/tinygpu/cuda/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "common/tinygpu/base/checked.h"
#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/cuda/assembler.h"
#include "common/tinygpu/cuda/error.h"
#include "common/tinygpu/cuda/host_memory.h"
#include "common/tinygpu/cuda/ptx_files.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/ptx/parser.h"

namespace tinygpu::cuda {

namespace {

/// "sm_100a" → 100 and 'a' (0 without suffix). False if it is something else.
bool split_target(std::string_view target, int& number, char& suffix) {
  if (!target.starts_with("sm_")) return false;
  target.remove_prefix(3);
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), number);
  if (error != std::errc()) return false;
  const size_t rest = target.size() - size_t(end - target.data());
  suffix = rest ? *end : '\0';
  return rest <= 1;
}

/// Of two targets that run here: the one the driver prefers is the higher, and the more specific of equals.
int preference(std::string_view target) {
  int number = 0;
  char suffix = 0;
  if (!split_target(target, number, suffix)) return -1;
  return number * 4 + (suffix == 'a' ? 2 : suffix == 'f' ? 1 : 0);
}

std::string rebuild_advice(const MachineSpec& spec) {
  const int cc = spec.compute_major * 10 + spec.compute_minor;
  return fmt::format("rebuild with -gencode arch=compute_{0}a,code=[sm_{0}a,compute_{0}a]", cc);
}

std::string render(const ptx::ParseError& e) {
  std::string out;
  for (const ptx::ParseMessage& m : e.messages) {
    out += fmt::format("{}:{}: error: {}\n", m.pos.line, m.pos.col, m.text);
    if (!m.help.empty()) out += fmt::format("  help: {}\n", m.help);
  }
  return out.empty() ? std::string(e.what()) + "\n" : out;
}

/// What ptxas keeps to whatever the code would like: .maxnreg, and as many as let the declared CTA fit an SM.
uint32_t register_bound(const Function& f, const MachineSpec& spec) {
  const ptx::Function& source = *f.source;
  uint32_t bound = 255;
  if (source.maxnreg) bound = std::min(bound, source.maxnreg);
  const uint32_t* n = source.reqntid[0] ? source.reqntid : source.maxntid;
  if (n[0]) {
    const CheckedSize threads = (CheckedSize(n[0]) * std::max(1u, n[1]) * std::max(1u, n[2])).rounded_up(32);
    const uint64_t resident = (threads * std::max(1u, source.minnctapersm)).value();
    bound = std::min(bound, uint32_t(spec.registers_per_sm / resident / 8 * 8));
  }
  return std::max(bound, 8u);
}

/// An estimate; with setmaxnreg ptxas gives a kernel all that its bounds allow.
uint32_t registers_without_cubin(const Function& f, const MachineSpec& spec) {
  const uint32_t bound = register_bound(f, spec);
  const bool gives_away =
      std::ranges::any_of(f.source->body, [](const ptx::Instruction& i) { return i.opcode == "setmaxnreg"; });
  const ptx::Function& source = *f.source;
  const bool bounded = source.maxnreg || source.reqntid[0] || source.maxntid[0];
  return gives_away && bounded ? bound : std::min(f.registers_per_thread, bound);
}

}  // namespace

bool target_runs_on(std::string_view target, int major, int minor) {
  int number = 0;
  char suffix = 0;
  if (!split_target(target, number, suffix)) return false;
  const int here = major * 10 + minor;
  if (suffix == 'a') return number == here;
  if (suffix == 'f') return number / 10 == major && number <= here;
  return suffix == '\0' && number <= here;
}

CUresult choose_images(const std::vector<Bytes>& containers, const MachineSpec& spec, ImageChoice& out,
                       std::string& message) {
  std::vector<std::string> seen;
  bool cubins = false;
  for (const Bytes& container : containers) {
    PtxImage best;
    std::string best_target;
    const std::vector<FatbinEntry> entries = read_fatbin(container);
    for (const FatbinEntry& e : entries) {
      cubins |= e.kind == FatbinEntry::Kind::cubin;
      if (e.kind != FatbinEntry::Kind::ptx) continue;
      std::string text = e.image();
      const std::string target(ptx_target(text));
      seen.push_back(target);
      if (!target_runs_on(target, spec.compute_major, spec.compute_minor)) continue;
      if (preference(target) <= preference(best_target)) continue;
      best.text = std::move(text);
      best_target = target;
    }
    for (size_t i = 0; i < entries.size() && best_target.empty(); ++i) {
      if (entries[i].kind != FatbinEntry::Kind::cubin) continue;
      auto kept = kept_ptx(entries[i].image());
      if (!kept || !target_runs_on(ptx_target(*kept), spec.compute_major, spec.compute_minor)) continue;
      best.text = std::move(*kept);
      best_target = ptx_target(best.text);
    }
    if (best_target.empty()) continue;
    int number = 0;
    char suffix = 0;
    split_target(best_target, number, suffix);
    for (const FatbinEntry& e : entries)
      if (e.kind == FatbinEntry::Kind::cubin && e.arch == uint32_t(number)) {
        const std::string cubin = e.image();
        best.assembled = true;
        const Bytes bytes(reinterpret_cast<const uint8_t*>(cubin.data()), cubin.size());
        for (const auto& [name, k] : read_cubin(bytes)) out.resources[name] = k;
        for (auto& [name, code] : read_machine_code(bytes)) out.machine_code[name] = std::move(code);
      }
    out.ptx.push_back(std::move(best));
  }
  if (!out.ptx.empty()) return CUDA_SUCCESS;
  if (!seen.empty()) {
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    message =
        fmt::format("the program carries PTX for {} only, and the machine {} is sm_{}{}; {}", fmt::join(seen, ", "),
                    spec.name, spec.compute_major, spec.compute_minor, rebuild_advice(spec));
    for (const auto& [target, machine] : {std::pair{"sm_90a", "h200"}, {"sm_100a", "b200"}})
      if (std::find(seen.begin(), seen.end(), target) != seen.end())
        message += fmt::format(", or run it with GEN5_MACHINE={}", machine);
  } else if (cubins) {
    message = fmt::format(
        "the program carries machine code (cubin) only, and tinygpu runs PTX; {}; of CuTe DSL and Triton, "
        "gen5.install() before they are imported keeps it",
        rebuild_advice(spec));
  } else {
    message = fmt::format("the fatbin is empty; {}", rebuild_advice(spec));
  }
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

namespace {

CUresult refuse_cubin(std::string& message) {
  message =
      "a cubin was given, and tinygpu runs PTX; load the PTX text instead (nvcc --ptx; of CuTe DSL, Triton "
      "and numba, gen5.install() in Python before they are imported)";
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult take_text(std::string text, const MachineSpec& spec, ImageChoice& out, std::string& message) {
  PtxImage ptx;
  ptx.text = std::move(text);
  const std::string_view target = ptx_target(ptx.text);
  if (target.empty()) {
    message = "the image is neither PTX (no .target), a fatbin nor a cubin";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  if (!target_runs_on(target, spec.compute_major, spec.compute_minor)) {
    message = fmt::format("the PTX is for {}, and the machine {} is sm_{}{}", target, spec.name, spec.compute_major,
                          spec.compute_minor);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  out.ptx.push_back(std::move(ptx));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult images_of(const void* image, const MachineSpec& spec, ImageChoice& out, std::string& message) {
  if (!host_accessible(image, 1, false)) {
    message = fmt::format("there is no memory at {}, where the image should be", image);
    return CUDA_ERROR_INVALID_IMAGE;
  }
  try {
    if (is_wrapper(image))
      return choose_images(containers_of(static_cast<const FatbinWrapper*>(image)), spec, out, message);
    if (begins_as_fatbin(image))
      return choose_images({Bytes(static_cast<const uint8_t*>(image), fatbin_size(image))}, spec, out, message);
  } catch (const FatbinError& e) {
    message = e.what();
    return CUDA_ERROR_INVALID_IMAGE;
  }
  if (begins_with(image, kElfMagic, sizeof kElfMagic)) return refuse_cubin(message);
  const char* text = static_cast<const char*>(image);
  const auto length = text_length(text);
  if (!length) {
    message = "the image is neither a fatbin nor a cubin, and for PTX the 0 at its end is missing";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  return take_text(std::string(text, *length), spec, out, message);
}

CUresult images_of(Bytes file, const MachineSpec& spec, ImageChoice& out, std::string& message) {
  if (is_fatbin(file)) {
    try {
      return choose_images({file}, spec, out, message);
    } catch (const FatbinError& e) {
      message = e.what();
      return CUDA_ERROR_INVALID_IMAGE;
    }
  }
  if (is_elf(file)) return refuse_cubin(message);
  std::string text(file.begin(), file.end());
  text.resize(std::min(text.size(), text.find('\0')));
  return take_text(std::move(text), spec, out, message);
}

/// Places variables in the machine's memory and remembers them for the module's end.
class Module::Store final : public VariableStore {
 public:
  Store(Gpu& gpu, std::vector<uint64_t>& owned) : gpu_(gpu), owned_(owned) {}
  uint64_t allocate(const std::string& name, uint64_t size, uint32_t align, bool managed, bool constant) override {
    const MemoryKind kind = managed ? MemoryKind::managed : constant ? MemoryKind::constant : MemoryKind::device;
    const uint64_t address = gpu_.memory.allocate(size, std::max<uint32_t>(align, 256), kind, name);
    if (!address) throw LinkError("out of memory for variable " + name);
    owned_.push_back(address);
    return address;
  }
  void write(uint64_t address, const void* bytes, size_t size) override {
    if (uint8_t* p = gpu_.memory.translate(address, size)) std::memcpy(p, bytes, size);
  }

 private:
  Gpu& gpu_;
  std::vector<uint64_t>& owned_;
};

Module::~Module() {
  for (uint64_t address : owned_) gpu_.memory.release(address);
}

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
    k->function = nullptr;
    static_cast<KernelSettings&>(*k) = {};
  }
  program_.reset();
  store_.reset();
  for (uint64_t address : owned_) gpu_.memory.release(address);
  owned_.clear();
  tried_ = false;
}

CUresult Module::load_now() {
  try {
    if (parsed_.empty()) {
      log_.clear();
      if (wrapper_) {
        images_ = {};
        if (CUresult e = choose_images(containers_of(wrapper_), gpu_.spec, images_, log_); e != CUDA_SUCCESS) return e;
      }
      std::vector<std::shared_ptr<const ptx::Module>> modules;
      for (PtxImage& image : images_.ptx) {
        ptx::ParseOptions options;
        options.assembled = image.assembled;
        exchange_ptx(image.text);
        if (!image.assembled && has_assembler())
          if (CUresult e = take_assembled(image.text); e != CUDA_SUCCESS) return e;
        modules.push_back(std::make_shared<const ptx::Module>(ptx::parse(image.text, options)));
        image.text = {};
      }
      parsed_ = std::move(modules);
    }
    ptx_version_ = parsed_[0]->version_major * 10 + parsed_[0]->version_minor;
    char suffix = 0;
    split_target(parsed_[0]->target, target_number_, suffix);
    store_ = std::make_unique<Store>(gpu_, owned_);
    program_ = std::make_unique<Program>(parsed_, isa::instruction_set(), gpu_.spec.costs, *store_);
    for (const auto& [name, code] : images_.machine_code) program_->set_sass(name, code);
    return CUDA_SUCCESS;
  } catch (const FatbinError& e) {
    log_ = e.what();
    return CUDA_ERROR_INVALID_IMAGE;
  } catch (const ptx::ParseError& e) {
    log_ = render(e);
    return CUDA_ERROR_INVALID_PTX;
  } catch (const LinkError& e) {
    log_ = e.what();
    return CUDA_ERROR_INVALID_PTX;
  }
}

CUresult Module::take_assembled(const std::string& text) {
  const MachineSpec& spec = gpu_.spec;
  const bool own = ptx_target(text).ends_with('a');
  const auto cubin = assemble(text, fmt::format("sm_{}{}{}", spec.compute_major, spec.compute_minor, own ? "a" : ""),
                              images_.ptx.size() > 1, std::chrono::seconds(State::get().options.ptxas_seconds), log_);
  if (!cubin) return CUDA_ERROR_INVALID_PTX;
  for (const auto& [name, k] : read_cubin(Bytes(*cubin))) images_.resources[name] = k;
  for (auto& [name, code] : read_machine_code(Bytes(*cubin))) {
    images_.machine_code[name] = std::move(code);
    assembled_here_.insert(name);
  }
  return CUDA_SUCCESS;
}

Kernel* Module::kernel_handle(const std::string& name) {
  auto& slot = kernels_[name];
  if (!slot) {
    slot = std::make_unique<Kernel>();
    slot->module = this;
    slot->name = name;
    State::get().know(slot.get());
  }
  return slot.get();
}

Kernel* Module::kernel(const std::string& name) {
  if (load() != CUDA_SUCCESS) return nullptr;
  const auto entries = program_->entries();
  if (std::find(entries.begin(), entries.end(), name) == entries.end()) return nullptr;
  return kernel_handle(name);
}

CUresult Module::resolve(Kernel& k) {
  if (k.function) return CUDA_SUCCESS;
  if (CUresult e = load(); e != CUDA_SUCCESS) return e;
  try {
    on_clean_thread([&] { k.function = program_->find(k.name); });
  } catch (const std::exception& e) {
    say("kernel-not-decoded", fmt::format("kernel {}: {}", k.name, e.what()));
    return CUDA_ERROR_INVALID_PTX;
  }
  if (!k.function || !k.function->entry) {
    k.function = nullptr;
    say("no-such-kernel", fmt::format("the PTX has no entry {}", k.name),
        "the host code and the device code of this program come from different builds");
    return kInvalidDeviceFunction;
  }
  auto assembled = images_.resources.find(k.name);
  if (assembled != images_.resources.end() && assembled->second.registers)
    program_->set_registers(*k.function, assembled->second.registers);
  else
    program_->set_registers(*k.function, registers_without_cubin(*k.function, gpu_.spec));
  return CUDA_SUCCESS;
}

const LoadedVariable* Module::variable(const std::string& name) {
  return load() == CUDA_SUCCESS ? program_->variable(name) : nullptr;
}

uint32_t Module::frame_bytes(const std::string& kernel) const {
  auto it = images_.resources.find(kernel);
  return it == images_.resources.end() ? 0 : it->second.frame_bytes;
}

}  // namespace tinygpu::cuda
