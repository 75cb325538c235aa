#include "common/tinygpu/cuda/device_choice.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/tinygpu/api/options.h"
#include "common/tinygpu/cuda/error.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/image/elf.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cuda {

namespace fs = std::filesystem;

namespace {

/// Set in the environment of a process that was started again for NVIDIA's libraries.
constexpr const char* kHandedOver = "GEN5_HANDED_OVER";
/// No library or program is larger.
constexpr uint64_t kLargestFile = uint64_t(1) << 36;

std::vector<fs::path> split_path(const char* list, const char* separators = ":") {
  std::vector<fs::path> out;
  const std::string text = list ? list : "";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

fs::path own_directory() {
  Dl_info here{};
  dladdr(reinterpret_cast<void*>(&blackwell_present), &here);
  std::error_code ignored;
  return fs::weakly_canonical(here.dli_fname ? here.dli_fname : "", ignored).parent_path();
}

bool is_stand_in(const fs::path& file) {
  std::string why;
  const auto bytes = image::read_regular_file(file, kLargestFile, why);
  const auto elf = bytes ? image::Elf::read(*bytes) : std::nullopt;
  if (!elf) return true;
  for (const std::string& needed : elf->dynamic_strings())
    if (needed.starts_with("libtinygpu.so")) return true;
  return false;
}

/// The program itself asks for one of the two libraries: then it has not begun to run, and may be started again.
bool program_links_cuda() {
  std::string why;
  const auto bytes = image::read_regular_file("/proc/self/exe", kLargestFile, why);
  const auto elf = bytes ? image::Elf::read(*bytes) : std::nullopt;
  if (!elf) return false;
  const auto needed = elf->dynamic_strings();
  return std::any_of(needed.begin(), needed.end(),
                     [](const std::string& n) { return n.starts_with("libcudart.so") || n.starts_with("libcuda.so"); });
}

[[noreturn]] void leave() {
  std::fflush(nullptr);
  _exit(1);
}

[[noreturn]] void stop(const std::string& message, const std::string& help = {}) {
  say("device-choice", message, help);
  leave();
}

/// LD_PRELOAD without the stand-ins, which `gen5 run` puts there: profilers and sanitizers stay.
void preload_others() {
  std::string others;
  std::error_code ignored;
  for (const fs::path& library : split_path(std::getenv("LD_PRELOAD"), ": ")) {
    const bool ours = library.has_parent_path() && fs::exists(library, ignored) && is_stand_in(library);
    if (!ours) others += (others.empty() ? "" : ":") + library.string();
  }
  others.empty() ? unsetenv("LD_PRELOAD") : setenv("LD_PRELOAD", others.c_str(), 1);
}

[[noreturn]] void start_again(const fs::path& runtime, const std::optional<fs::path>& driver) {
  std::string path = runtime.string();
  if (driver) path += ":" + driver->string();
  const fs::path own = own_directory();
  std::error_code ignored;
  for (const fs::path& p : split_path(std::getenv("LD_LIBRARY_PATH")))
    if (fs::weakly_canonical(p, ignored) != own) path += ":" + p.string();
  setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  setenv(kHandedOver, "1", 1);
  preload_others();
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string line((std::istreambuf_iterator<char>(in)), {});
  std::vector<char*> argv;
  for (size_t at = 0; at < line.size(); at += std::strlen(&line[at]) + 1) argv.push_back(&line[at]);
  argv.push_back(nullptr);
  execv("/proc/self/exe", argv.data());
  stop(fmt::format("cannot start the program again with NVIDIA's libraries: {}", std::strerror(errno)));
}

/// Runs before the program's own constructors register their kernels.
__attribute__((constructor)) void choose_device() {
  api::Options options;
  try {
    options = api::options_from_environment();
  } catch (const api::OptionError& e) {
    say("bad-option", e.what());
    leave();
  }
  if (options.device == api::Options::Device::tinygpu) return;
  const bool asked = options.device == api::Options::Device::hardware;
  if (std::getenv(kHandedOver)) {
    if (!asked) return;
    stop(
        "GEN5_DEVICE=hardware: the program loads tinygpu's libcudart.so.13 although NVIDIA's comes first in "
        "LD_LIBRARY_PATH",
        "it was linked with DT_RPATH, which comes before: link with -Wl,--enable-new-dtags");
  }
  if (!asked && !blackwell_present()) return;
  if (!program_links_cuda()) {
    if (!asked) return;
    stop("GEN5_DEVICE=hardware: CUDA was loaded by a program that had begun to run",
         "take tinygpu's libraries out of LD_LIBRARY_PATH for this program");
  }
  const auto runtime = find_real(runtime_directories(), "libcudart.so.13");
  if (!runtime) {
    if (!asked) {
      say("device-choice", "a Blackwell GPU is here, but NVIDIA's libcudart.so.13 is not: running on tinygpu",
          "name its place in GEN5_CUDART, or choose with GEN5_DEVICE=hardware|tinygpu");
      return;
    }
    stop("GEN5_DEVICE=hardware: NVIDIA's libcudart.so.13 was not found",
         "install the CUDA 13 runtime (pip install nvidia-cuda-runtime), or name its place in GEN5_CUDART");
  }
  start_again(*runtime, find_real(driver_directories(), "libcuda.so.1"));
}

}  // namespace

std::vector<fs::path> runtime_directories() {
  std::vector<fs::path> out;
  std::error_code ignored;
  if (const char* named = std::getenv("GEN5_CUDART"); named && *named) {
    const fs::path p = named;
    out.push_back(fs::is_directory(p, ignored) ? p : p.parent_path());
    return out;
  }
  for (fs::path& p : split_path(std::getenv("LD_LIBRARY_PATH"))) out.push_back(std::move(p));
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = std::getenv(variable)) out.push_back(fs::path(root) / "lib64");
  for (const char* p : {"/usr/local/cuda/lib64", "/usr/local/cuda-13/lib64", "/usr/local/cuda-13.0/lib64",
                        "/usr/local/cuda-13.0/targets/x86_64-linux/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"})
    out.emplace_back(p);
  if (const char* environment = std::getenv("VIRTUAL_ENV"))
    for (const auto& python : fs::directory_iterator(fs::path(environment) / "lib", ignored))
      out.push_back(python.path() / "site-packages/nvidia/cu13/lib");
  // A build tree lies in the source tree, whose setup script may have fetched the wheels into .cuda.
  for (fs::path p = own_directory(); p.has_relative_path(); p = p.parent_path())
    if (fs::exists(p / ".cuda", ignored)) out.push_back(p / ".cuda/nvidia/cu13/lib");
  return out;
}

std::vector<fs::path> driver_directories() {
  std::vector<fs::path> out = split_path(std::getenv("LD_LIBRARY_PATH"));
  for (const char* p : {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/nvidia/lib64",
                        "/usr/local/cuda/compat", "/usr/lib/wsl/lib"})
    out.emplace_back(p);
  return out;
}

std::optional<fs::path> find_real(const std::vector<fs::path>& directories, const std::string& library) {
  std::error_code ignored;
  for (const fs::path& d : directories)
    if (fs::exists(d / library, ignored) && !is_stand_in(d / library)) return d;
  return std::nullopt;
}

bool blackwell_present() {
  if (access("/dev/nvidiactl", F_OK) != 0 && access("/proc/driver/nvidia/version", F_OK) != 0 &&
      access("/dev/dxg", F_OK) != 0)
    return false;
  const auto driver = find_real(driver_directories(), "libcuda.so.1");
  if (!driver) return false;
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    void* library = dlopen((*driver / "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
    auto init = library ? reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit")) : nullptr;
    auto get = library ? reinterpret_cast<int (*)(int*, int)>(dlsym(library, "cuDeviceGet")) : nullptr;
    auto attribute =
        library ? reinterpret_cast<int (*)(int*, int, int)>(dlsym(library, "cuDeviceGetAttribute")) : nullptr;
    int device = 0, major = 0;
    const bool blackwell = init && get && attribute && init(0) == 0 && get(&device, 0) == 0 &&
                           attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device) == 0 && major == 10;
    _exit(blackwell ? 42 : 0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 42;
}

}  // namespace tinygpu::cuda
