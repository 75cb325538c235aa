#include "common/tinygpu/api/gen5_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <list>
#include <nlohmann/json.hpp>
#include <string>

#include "common/tinygpu/api/machine.h"
#include "common/tinygpu/diagnosis/render.h"
#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/timing/profile.h"

namespace api = tinygpu::api;

struct gen5_machine {
  explicit gen5_machine(const api::Options& options) : machine(options) {}
  struct Told {
    tinygpu::Diagnosis diagnosis;
    std::string text;
  };
  api::Machine machine;
  std::list<Told> told;  // whose texts stay where they are
  std::unique_ptr<tinygpu::observe::Profile> profile;
  std::vector<api::CtaView> ctas;
  bool ctas_known = false;
  std::string output, profile_text;
};

namespace {

thread_local std::string why;

gen5_status fail(gen5_status status, std::string sentence) {
  why = std::move(sentence);
  return status;
}

/// f(), which returns a status; what it throws is one, too.
template <class F>
gen5_status guarded(F&& f) try {
  return f();
} catch (const api::OptionError& e) {
  return fail(GEN5_INVALID_ARGUMENT, e.what());
} catch (const nlohmann::json::exception& e) {
  return fail(GEN5_INVALID_ARGUMENT, e.what());
} catch (const tinygpu::ProfileError& e) {
  return fail(GEN5_NOT_FOUND, e.what());
} catch (const api::LoadError& e) {
  return fail(e.kind == api::LoadError::Kind::no_such_kernel ? GEN5_NOT_FOUND : GEN5_INVALID_IMAGE, e.what());
} catch (const api::LaunchRefused& e) {
  return fail(GEN5_LAUNCH_REFUSED, e.help.empty() ? e.what() : fmt::format("{}; {}", e.what(), e.help));
} catch (const api::MemoryError& e) {
  return fail(GEN5_INVALID_ADDRESS, e.what());
} catch (const std::bad_alloc&) {
  return fail(GEN5_OUT_OF_MEMORY, "the host has no memory left for the machine model");
} catch (const std::exception& e) {
  return fail(GEN5_INTERNAL, e.what());
}

/// The same where these may not be null.
template <class F, class... Pointers>
gen5_status with(F&& f, Pointers... pointers) {
  if ((!pointers || ...)) return fail(GEN5_INVALID_ARGUMENT, "a pointer is null");
  return guarded(std::forward<F>(f));
}

/// Fills as much of the caller's struct as he knows of.
template <class T>
gen5_status give(T& out, T filled) {
  const size_t size = out.size;
  if (size < sizeof(size_t)) return fail(GEN5_INVALID_ARGUMENT, "the struct's size is not set");
  std::memcpy(&out, &filled, std::min(size, sizeof filled));
  out.size = size;
  return GEN5_OK;
}

api::Module& module_of(gen5_module* m) { return *reinterpret_cast<api::Module*>(m); }

/// Everything about what runs may have changed.
gen5_status run(gen5_machine& m, gen5_stop* stop, uint64_t cycle) {
  m.ctas_known = false;
  const api::Stop s = m.machine.run_until(cycle);
  if (stop)
    *stop = s.why == api::Stop::Why::fault  ? GEN5_STOP_FAULT
            : s.why == api::Stop::Why::time ? GEN5_STOP_TIME
                                            : GEN5_STOP_DONE;
  return GEN5_OK;
}

const std::vector<api::CtaView>& ctas_of(gen5_machine& m) {
  if (!m.ctas_known) m.ctas = m.machine.ctas();
  m.ctas_known = true;
  return m.ctas;
}

const api::CtaView* cta_at(gen5_machine& m, size_t index) {
  const auto& all = ctas_of(m);
  return index < all.size() ? &all[index] : nullptr;
}

/// The caller's struct, of whatever version, as this one's.
gen5_launch read(const gen5_launch& from) {
  if (from.size < sizeof from.size) throw api::OptionError("the struct's size is not set");
  gen5_launch out{};
  std::memcpy(&out, &from, std::min(from.size, sizeof out));
  return out;
}

std::vector<uint8_t> parameters_of(const api::Kernel& k, const gen5_launch& l) {
  if (l.param_count != k.parameters.size())
    throw api::LaunchRefused(
        api::LaunchRefused::Reason::parameters,
        fmt::format("kernel {} has {} parameters, {} are given", k.name, k.parameters.size(), l.param_count));
  std::vector<uint8_t> out(k.parameter_bytes);
  for (size_t i = 0; i < k.parameters.size(); ++i) {
    if (!l.params || !l.params[i])
      throw api::LaunchRefused(api::LaunchRefused::Reason::parameters,
                               fmt::format("the pointer to parameter {} is null", i));
    std::memcpy(out.data() + k.parameters[i].offset, l.params[i], k.parameters[i].size);
  }
  return out;
}

}  // namespace

extern "C" {

int gen5_machine_version(void) { return GEN5_MACHINE_VERSION; }

const char* gen5_machine_error(void) { return why.c_str(); }

gen5_status gen5_machine_create(const char* profile, const char* options, gen5_machine** out) {
  return with(
      [&] {
        const nlohmann::json o = nlohmann::json::parse(options && *options ? options : "{}");
        constexpr std::string_view kKept[] = {"profile"};
        api::Options run = api::with_json({}, o, kKept);
        run.machine = profile;
        auto made = std::make_unique<gen5_machine>(run);
        gen5_machine& m = *made;
        m.machine.on_diagnosis([&m](const tinygpu::Diagnosis& d) {
          m.told.push_back({d, tinygpu::diagnosis::render(d)});
        });
        if (o.value("profile", false)) {
          m.profile = std::make_unique<tinygpu::observe::Profile>();
          m.machine.attach({m.profile.get()});
        }
        *out = made.release();
        return GEN5_OK;
      },
      profile, out);
}

void gen5_machine_destroy(gen5_machine* machine) { delete machine; }

gen5_status gen5_machine_load(gen5_machine* machine, const void* image, size_t bytes, gen5_module** out) {
  return with(
      [&] {
        api::Module& m = machine->machine.load(std::span(static_cast<const uint8_t*>(image), bytes));
        *out = reinterpret_cast<gen5_module*>(&m);
        return GEN5_OK;
      },
      machine, image, out);
}

gen5_status gen5_machine_kernel(gen5_machine* machine, gen5_module* module, const char* name, gen5_kernel** out) {
  return with(
      [&] {
        const api::Kernel& k = module_of(module).kernel(name);
        *out = reinterpret_cast<gen5_kernel*>(const_cast<api::Kernel*>(&k));
        return GEN5_OK;
      },
      machine, module, name, out);
}

gen5_status gen5_machine_variable(gen5_machine* machine, gen5_module* module, const char* name, uint64_t* address,
                                  uint64_t* bytes) {
  return with(
      [&] {
        const auto v = module_of(module).variable(name);
        if (!v) return fail(GEN5_NOT_FOUND, fmt::format("the PTX has no variable {}", name));
        if (address) *address = v->address;
        if (bytes) *bytes = v->size;
        return GEN5_OK;
      },
      machine, module, name);
}

gen5_status gen5_machine_allocate(gen5_machine* machine, uint64_t bytes, uint64_t* address) {
  return with(
      [&] {
        api::Memory& memory = machine->machine.memory();
        if (!bytes) return fail(GEN5_INVALID_ARGUMENT, "an allocation of 0 bytes");
        *address = memory.allocate(bytes);
        if (*address) return GEN5_OK;
        return fail(GEN5_OUT_OF_MEMORY, fmt::format("{} bytes asked for, {} of the machine's {} bytes are free", bytes,
                                                    memory.capacity() - memory.used(), memory.capacity()));
      },
      machine, address);
}

gen5_status gen5_machine_release(gen5_machine* machine, uint64_t address) {
  return with(
      [&] {
        if (machine->machine.memory().release(address)) return GEN5_OK;
        return fail(GEN5_INVALID_ADDRESS, fmt::format("{:#x} is not the start of a live allocation", address));
      },
      machine);
}

gen5_status gen5_machine_read(gen5_machine* machine, uint64_t address, void* to, size_t bytes) {
  return with(
      [&] {
        machine->machine.memory().read(address, std::span(static_cast<uint8_t*>(to), bytes));
        return GEN5_OK;
      },
      machine, to);
}

gen5_status gen5_machine_write(gen5_machine* machine, uint64_t address, const void* from, size_t bytes) {
  return with(
      [&] {
        machine->machine.memory().write(address, std::span(static_cast<const uint8_t*>(from), bytes));
        return GEN5_OK;
      },
      machine, from);
}

gen5_status gen5_machine_fill(gen5_machine* machine, uint64_t address, uint8_t value, size_t bytes) {
  return with(
      [&] {
        machine->machine.memory().fill(address, value, bytes);
        return GEN5_OK;
      },
      machine);
}

gen5_status gen5_machine_launch(gen5_machine* machine, gen5_kernel* kernel, const gen5_launch* launch, uint64_t* id) {
  return with(
      [&] {
        const gen5_launch l = read(*launch);
        const auto& k = *reinterpret_cast<const api::Kernel*>(kernel);
        api::LaunchRequest r;
        r.grid = {l.grid[0], l.grid[1], l.grid[2]};
        r.block = {l.block[0], l.block[1], l.block[2]};
        if (l.cluster[0]) r.cluster = tinygpu::Dim3{l.cluster[0], l.cluster[1], l.cluster[2]};
        r.dynamic_shared = l.dynamic_shared;
        r.cooperative = l.cooperative != 0;
        r.parameters = parameters_of(k, l);
        const uint64_t number = machine->machine.launch(k, std::move(r), l.stream);
        if (id) *id = number;
        return GEN5_OK;
      },
      machine, kernel, launch);
}

gen5_status gen5_machine_run(gen5_machine* machine, gen5_stop* stop) {
  return gen5_machine_run_until(machine, ~UINT64_C(0), stop);
}

gen5_status gen5_machine_run_until(gen5_machine* machine, uint64_t cycle, gen5_stop* stop) {
  return with([&] { return run(*machine, stop, cycle); }, machine);
}

uint64_t gen5_machine_clock(const gen5_machine* machine) { return machine ? machine->machine.clock() : 0; }

size_t gen5_machine_diagnosis_count(const gen5_machine* machine) { return machine ? machine->told.size() : 0; }

gen5_status gen5_machine_diagnosis(gen5_machine* machine, size_t index, gen5_diagnosis* out) {
  return with(
      [&] {
        if (index >= machine->told.size())
          return fail(GEN5_INVALID_ARGUMENT, fmt::format("there are {} diagnoses", machine->told.size()));
        const gen5_machine::Told& t = *std::next(machine->told.begin(), std::ptrdiff_t(index));
        const tinygpu::Diagnosis& d = t.diagnosis;
        const tinygpu::Where& w = d.where;
        return give(*out, {sizeof *out,
                           d.code.c_str(),
                           tinygpu::diagnosis::name_of(d.severity),
                           d.message.c_str(),
                           d.help.c_str(),
                           w.kernel.c_str(),
                           w.cuda_file.c_str(),
                           w.cuda_line,
                           w.ptx_line,
                           {w.cta[0], w.cta[1], w.cta[2]},
                           w.thread,
                           t.text.c_str()});
      },
      machine, out);
}

const char* gen5_machine_output(gen5_machine* machine) {
  if (!machine) return "";
  machine->output = machine->machine.take_output();
  return machine->output.c_str();
}

const char* gen5_machine_profile(gen5_machine* machine) {
  if (!machine || !machine->profile) return nullptr;
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const auto& k : machine->profile->kernels()) out.push_back(k.json());
  machine->profile_text = out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return machine->profile_text.c_str();
}

size_t gen5_machine_cta_count(gen5_machine* machine) { return machine ? ctas_of(*machine).size() : 0; }

gen5_status gen5_machine_cta(gen5_machine* machine, size_t index, gen5_cta* out) {
  return with(
      [&] {
        const api::CtaView* c = cta_at(*machine, index);
        if (!c) return fail(GEN5_INVALID_ARGUMENT, fmt::format("{} CTAs are resident", ctas_of(*machine).size()));
        return give(
            *out,
            {sizeof *out, c->launch, {c->id.x, c->id.y, c->id.z}, c->sm, uint32_t(c->warps.size()), c->shared.size()});
      },
      machine, out);
}

gen5_status gen5_machine_read_shared(gen5_machine* machine, size_t index, size_t offset, void* to, size_t bytes) {
  return with(
      [&] {
        const api::CtaView* c = cta_at(*machine, index);
        if (!c) return fail(GEN5_INVALID_ARGUMENT, fmt::format("{} CTAs are resident", ctas_of(*machine).size()));
        if (offset > c->shared.size() || bytes > c->shared.size() - offset)
          return fail(GEN5_INVALID_ADDRESS, fmt::format("{} bytes at offset {} of {} bytes of shared memory", bytes,
                                                        offset, c->shared.size()));
        std::memcpy(to, c->shared.data() + offset, bytes);
        return GEN5_OK;
      },
      machine, to);
}

gen5_status gen5_machine_read_tensor(gen5_machine* machine, uint32_t sm, uint32_t lane, uint32_t column, uint32_t lanes,
                                     uint32_t columns, uint32_t* to) {
  return with(
      [&] {
        const auto cells = machine->machine.tensor_memory(sm, lane, column, lanes, columns);
        if (cells.empty())
          return fail(GEN5_INVALID_ADDRESS, fmt::format("SM {} has no such cells of Tensor Memory in use", sm));
        std::ranges::copy(cells, to);
        return GEN5_OK;
      },
      machine, to);
}

}  // extern "C"
