#include "common/tinygpu/cli/program.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "common/tinygpu/cli/program_check.h"
#include "common/tinygpu/cuda/host_memory.h"

namespace tinygpu::cli {

namespace {

namespace fs = std::filesystem;

/// The file that execvp would start.
fs::path resolve(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, end)) / program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return program;
}

}  // namespace

std::string not_negative(const std::string& value) { return value.starts_with('-') ? "must not be negative" : ""; }

void add_machine_options(CLI::App& command, MachineOptions& options) {
  command.add_option("--machine", options.machine, "Machine profile: a name (b200, h200) or a path");
  command
      .add_option("--threads", options.threads, "Host threads; results of kernels without races do not depend on them")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option(
          "--tmem-checks", options.tmem_checks,
          "What the PTX ISA forbids in Tensor Memory and hardware lets pass: warn (default), or strict: an error")
      ->check(CLI::IsMember({"warn", "strict"}));
  command.add_option(
      "--clock", options.clock,
      "What seconds are made of cycles by: highest (default), power: what power leaves each launch, or MHz. "
      "Cycles stay the same");
  command
      .add_option("--max-cycles", options.max_cycles,
                  "Stop a kernel that runs for more cycles, and say where its warps are")
      ->check(not_negative);
}

void set_environment(const char* name, const std::string& value) { setenv(name, value.c_str(), 1); }

void prepare(const std::vector<std::string>& command, const MachineOptions& o) {
  const fs::path libraries = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "lib";
  if (!fs::exists(libraries / "libcudart.so.13")) {
    fmt::print(stderr, "gen5: no libcudart.so.13 in {}\n", libraries.string());
    throw CLI::RuntimeError(1);
  }
  const fs::path program = resolve(command[0]);
  std::string why;
  constexpr uint64_t kLargestProgram = uint64_t(1) << 36;
  const auto bytes = cuda::read_regular_file(program, kLargestProgram, why);
  if (!bytes) {
    fmt::print(stderr, "gen5: cannot start {}: {}\n", command[0], why);
    throw CLI::RuntimeError(127);
  }
  const cuda::Bytes file(*bytes);
  const ProgramCheck check = check_program(file);
  if (!check.why_not.empty()) {
    fmt::print(stderr, "gen5: {} cannot run on tinygpu: {}\n", command[0], check.why_not);
    throw CLI::RuntimeError(1);
  }
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  const std::string path = set("LD_LIBRARY_PATH"), preload = set("LD_PRELOAD");
  set_environment("LD_LIBRARY_PATH", libraries.string() + (path.empty() ? "" : ":" + path));
  const auto elf = cuda::Elf::read(file);
  constexpr int64_t kRpath = 15;
  const bool rpath = elf && !elf->dynamic_strings(kRpath).empty();  // comes before LD_LIBRARY_PATH
  if (check.static_runtime) set_environment("GEN5_STATIC_RUNTIME", "1");
  if (rpath || check.static_runtime)
    set_environment("LD_PRELOAD", preload + (preload.empty() ? "" : ":") + (libraries / "libcudart.so.13").string() +
                                      ":" + (libraries / "libcuda.so.1").string());
  set_environment("GEN5_DEVICE", "tinygpu");
  if (!o.machine.empty()) set_environment("GEN5_MACHINE", o.machine);
  if (o.threads) set_environment("GEN5_THREADS", std::to_string(*o.threads));
  if (!o.tmem_checks.empty()) set_environment("GEN5_TMEM_CHECKS", o.tmem_checks);
  if (!o.clock.empty()) set_environment("GEN5_CLOCK", o.clock);
  if (o.max_cycles) set_environment("GEN5_MAX_CYCLES", std::to_string(*o.max_cycles));
}

int become(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& a : command) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fmt::print(stderr, "gen5: cannot start {}: {}\n", command[0], std::strerror(errno));
  return 127;
}

}  // namespace tinygpu::cli
