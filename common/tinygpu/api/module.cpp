#include "common/tinygpu/api/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "common/tinygpu/base/checked.h"
#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/isa/instruction_set.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/program/program.h"
#include "common/tinygpu/ptx/parser.h"

namespace tinygpu::api {

namespace {

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
  const bool gives_away = std::ranges::any_of(
      f.source->body, [](const ptx::Instruction& i) { return i.opcode == ptx::Opcode::setmaxnreg; });
  return gives_away && f.keeps_setmaxnreg() ? bound : std::min(f.registers_per_thread, bound);
}

}  // namespace

int ModuleSource::ptx_version() const { return ptx.at(0)->version_major * 10 + ptx.at(0)->version_minor; }

int ModuleSource::target_number() const { return image::target_number(ptx.at(0)->target); }

ModuleSource parse(image::Images images, const LoadHooks& hooks) {
  ModuleSource out;
  out.resources = std::move(images.resources);
  out.machine_code = std::move(images.machine_code);
  for (image::PtxImage& image : images.ptx) {
    if (hooks.exchange) hooks.exchange(image.text);
    if (!image.assembled && hooks.assemble) {
      const std::vector<uint8_t> cubin = hooks.assemble(image.text, images.ptx.size() > 1);
      for (const auto& [name, k] : image::read_cubin(image::Bytes(cubin))) out.resources[name] = k;
      for (auto& [name, code] : image::read_machine_code(image::Bytes(cubin))) {
        out.machine_code[name] = std::move(code);
        out.assembled_here.insert(name);
      }
    }
    try {
      ptx::ParseOptions options;
      options.assembled = image.assembled;
      out.ptx.push_back(std::make_shared<const ptx::Module>(ptx::parse(image.text, options)));
    } catch (const ptx::ParseError& e) {
      throw LoadError(LoadError::Kind::invalid_ptx, render(e));
    }
    image.text = {};
  }
  return out;
}

/// Places variables in the machine's memory and remembers them for the module's end.
class Module::Store final : public VariableStore {
 public:
  Store(Gpu& gpu, std::vector<uint64_t>& owned, uint64_t& constant_bytes)
      : gpu_(gpu), owned_(owned), constant_bytes_(constant_bytes) {}
  uint64_t allocate(const std::string& name, uint64_t size, uint32_t align, bool managed, bool constant) override {
    const MemoryKind kind = managed ? MemoryKind::managed : constant ? MemoryKind::constant : MemoryKind::device;
    const uint64_t address = gpu_.memory.allocate(size, std::max<uint32_t>(align, 256), kind, name);
    if (!address) throw LinkError("out of memory for variable " + name);
    owned_.push_back(address);
    if (constant) constant_bytes_ = (constant_bytes_ + align - 1) / align * align + size;
    return address;
  }
  void write(uint64_t address, const void* bytes, size_t size) override {
    if (uint8_t* p = gpu_.memory.translate(address, size)) std::memcpy(p, bytes, size);
  }

 private:
  Gpu& gpu_;
  std::vector<uint64_t>& owned_;
  uint64_t& constant_bytes_;
};

Module::Module(Gpu& gpu, std::shared_ptr<const ModuleSource> source)
    : gpu_(gpu), source_(std::move(source)), store_(std::make_unique<Store>(gpu, owned_, constant_bytes_)) {
  try {
    program_ = std::make_unique<Program>(source_->ptx, isa::instruction_set(), gpu_.spec.costs, *store_);
  } catch (const LinkError& e) {
    for (uint64_t address : owned_) gpu_.memory.release(address);
    throw LoadError(LoadError::Kind::invalid_ptx, e.what());
  }
  for (const auto& [name, code] : source_->machine_code) program_->set_sass(name, code);
  std::map<std::string, uint32_t> frames;
  for (const auto& [name, k] : source_->resources) frames[name] = k.frame_bytes;
  if (!frames.empty()) program_->set_stack(frames);
}

Module::~Module() {
  for (uint64_t address : owned_) gpu_.memory.release(address);
}

std::vector<std::string> Module::entries() const { return program_->entries(); }

const Kernel& Module::kernel(const std::string& name) {
  if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second;
  const Function* f = nullptr;
  try {
    on_clean_thread([&] { f = program_->find(name); });
  } catch (const std::exception& e) {
    throw LoadError(LoadError::Kind::not_decoded, fmt::format("kernel {}: {}", name, e.what()));
  }
  if (!f || !f->entry) throw LoadError(LoadError::Kind::no_such_kernel, fmt::format("the PTX has no entry {}", name));
  const auto assembled = source_->resources.find(name);
  const bool known = assembled != source_->resources.end() && assembled->second.registers;
  program_->set_registers(*f, known ? assembled->second.registers : registers_without_cubin(*f, gpu_.spec));

  Kernel k;
  k.name = name;
  for (const ParamInfo& p : f->params) k.parameters.push_back({p.offset, p.size});
  k.parameter_bytes = f->param_bytes;
  CheckedSize declared = 0;
  for (const ptx::Param& p : f->source->params) declared = declared.rounded_up(std::max(1u, p.align)) + p.size;
  k.declared_parameter_bytes = declared.value();
  k.static_shared = f->static_shared;
  k.constant_bytes = uint32_t(constant_bytes_);
  const bool frame = assembled != source_->resources.end() && assembled->second.frame_bytes;
  k.local_bytes = frame ? assembled->second.frame_bytes : f->local_bytes;
  k.registers = f->registers_per_thread;
  std::copy_n(f->source->maxntid, 3, k.most_threads);
  std::copy_n(f->source->reqntid, 3, k.required_threads);
  std::copy_n(f->source->reqnctapercluster, 3, k.required_cluster);
  k.most_cluster = f->source->maxclusterrank;
  k.explicit_cluster = f->source->explicit_cluster;
  k.timed_by_machine_code = f->sass != nullptr;
  k.assembled_here = source_->assembled_here.contains(name);
  k.function = f;
  k.program = program_.get();
  return kernels_[name] = std::move(k);
}

std::optional<Module::Variable> Module::variable(const std::string& name) const {
  const LoadedVariable* v = program_->variable(name);
  if (!v) return std::nullopt;
  return Variable{v->address, v->size};
}

}  // namespace tinygpu::api
