// Modules: PTX that is parsed, linked and placed in a machine's memory, and the kernels in it.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/image/images.h"

namespace tinygpu {
class Gpu;
class Program;
class VariableStore;
struct Function;
namespace ptx {
struct Module;
}
}  // namespace tinygpu

namespace tinygpu::api {

using image::LoadError;

/// What may happen to PTX before it is parsed. Either may be empty.
struct LoadHooks {
  /// The text may be looked at, and replaced.
  std::function<void(std::string& text)> exchange;
  /// Of PTX that has no cubin beside it: a cubin, from which registers and times are then known. Throws LoadError.
  std::function<std::vector<uint8_t>(const std::string& text, bool linked_with_others)> assemble;
};

/// Parsed PTX and what is known of it: what a module is made of, as often as need be.
struct ModuleSource {
  std::vector<std::shared_ptr<const ptx::Module>> ptx;
  std::map<std::string, image::CubinKernel> resources;  // by function name
  std::map<std::string, std::shared_ptr<const SassCode>> machine_code;
  std::set<std::string> assembled_here;  // functions whose machine code came from LoadHooks::assemble
  /// PTX ISA version of the first image, major * 10 + minor, and its target's number.
  int ptx_version() const;
  int target_number() const;
};
/// Throws LoadError: of PTX that is wrong, every message with its line.
ModuleSource parse(image::Images images, const LoadHooks& hooks = {});

/// An entry point of a loaded module.
struct Kernel {
  std::string name;
  struct Parameter {
    uint32_t offset = 0, size = 0;
  };
  std::vector<Parameter> parameters;
  uint32_t parameter_bytes = 0;           // of all of them, laid out by their offsets
  uint64_t declared_parameter_bytes = 0;  // as far as they are declared; may be more than can be passed
  uint32_t static_shared = 0;             // bytes of a CTA
  uint32_t constant_bytes = 0;            // of the module's `__constant__` variables
  uint32_t local_bytes = 0;               // of a thread
  uint32_t registers = 0;                 // of a thread
  // As declared; 0: not.
  uint32_t most_threads[3] = {};      // .maxntid
  uint32_t required_threads[3] = {};  // .reqntid
  uint32_t required_cluster[3] = {};  // .reqnctapercluster
  uint32_t most_cluster = 0;          // .maxclusterrank
  bool explicit_cluster = false;      // .explicitcluster
  bool timed_by_machine_code = false;
  bool assembled_here = false;  // that machine code came from LoadHooks::assemble

  const Function* function = nullptr;  // what the machine runs, and of which program
  Program* program = nullptr;
};

class Module {
 public:
  /// Places the variables. Throws LoadError.
  Module(Gpu& gpu, std::shared_ptr<const ModuleSource> source);
  /// Gives their memory back.
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// The names of its kernels, in order of definition.
  std::vector<std::string> entries() const;
  /// Decoded when it is first asked for. Throws LoadError: no_such_kernel, not_decoded.
  const Kernel& kernel(const std::string& name);
  struct Variable {
    uint64_t address = 0, size = 0;
  };
  std::optional<Variable> variable(const std::string& name) const;

 private:
  class Store;
  Gpu& gpu_;
  const std::shared_ptr<const ModuleSource> source_;
  std::vector<uint64_t> owned_;  // device memory of the variables
  uint64_t constant_bytes_ = 0;  // of those that are constant
  std::unique_ptr<VariableStore> store_;
  std::unique_ptr<Program> program_;
  std::map<std::string, Kernel> kernels_;
};

}  // namespace tinygpu::api
