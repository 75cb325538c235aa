// Stands in for a runtime that a program has linked statically: each of its functions is made to jump to the function
// of the same name here, before the program's own code runs.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/tinygpu/cuda/static_runtime.h"
#include "common/tinygpu/image/host_memory.h"

namespace {

using namespace tinygpu::cuda;

/// jmp [rip + 0], and the address behind it.
constexpr uint8_t kJump[6] = {0xff, 0x25, 0, 0, 0, 0};
constexpr size_t kJumpBytes = sizeof kJump + 8;

bool redirect(uint8_t* from, const void* to) {
  const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(from) / page * page;
  const size_t length = reinterpret_cast<uintptr_t>(from) + kJumpBytes - begin;
  void* const pages = reinterpret_cast<void*>(begin);
  if (mprotect(pages, length, PROT_READ | PROT_WRITE | PROT_EXEC)) return false;
  std::memcpy(from, kJump, sizeof kJump);
  std::memcpy(from + sizeof kJump, &to, sizeof to);
  return mprotect(pages, length, PROT_READ | PROT_EXEC) == 0;
}

/// Where an object of this process lies: what its addresses are counted from. The program itself has an empty name.
bool find_base(const char* path, uint64_t& base) {
  struct Search {
    const char* path;
    uint64_t base;
    bool found;
  } search{path, 0, false};
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* to) {
        Search& s = *static_cast<Search*>(to);
        std::error_code none;
        const bool same = *s.path ? *object->dlpi_name && std::filesystem::equivalent(object->dlpi_name, s.path, none)
                                  : !*object->dlpi_name;
        if (!same) return 0;
        s.base = object->dlpi_addr;
        s.found = true;
        return 1;
      },
      &search);
  base = search.base;
  return search.found;
}

thread_local std::string said;

}  // namespace

/// Stands in for the runtime that is linked into an object of this process ("": the program). Null, or why it cannot.
extern "C" const char* tinygpu_stand_in(const char* path) {
  uint64_t base = 0;
  if (!find_base(path, base)) return "no such object in this process";
  constexpr uint64_t kLargest = uint64_t(1) << 36;
  const auto bytes = tinygpu::image::read_regular_file(
      *path ? path : std::filesystem::read_symlink("/proc/self/exe").string(), kLargest, said);
  if (!bytes) return said.c_str();
  const auto elf = tinygpu::image::Elf::read(*bytes);
  if (!elf) return "it is no ELF file";
  const StaticRuntime runtime = find_static_runtime(*elf, true);
  said = runtime.why_not;
  if (!said.empty()) return said.c_str();
  Dl_info own;
  dladdr(reinterpret_cast<const void*>(&tinygpu_stand_in), &own);
  const auto beside = std::filesystem::path(own.dli_fname).parent_path() / "libcudart.so.13";
  void* const cudart = dlopen(beside.c_str(), RTLD_NOW);
  if (!cudart) return "there is no libcudart.so.13 beside libtinygpu.so";
  for (const tinygpu::image::Elf::Function& f : runtime.functions) {
    // A name that the library does not export may still be one of another library's.
    const void* to = dlsym(cudart, std::string(f.name).c_str());
    Dl_info found;
    if (!to || !dladdr(to, &found) ||
        !std::filesystem::path(found.dli_fname).filename().string().starts_with("libcudart.so"))
      continue;
    if (f.size >= kJumpBytes && !redirect(reinterpret_cast<uint8_t*>(base + f.address), to))
      return "its code cannot be changed (mprotect)";
  }
  return nullptr;
}

namespace {

/// Of a program that `gen5 run` has found such a runtime in.
__attribute__((constructor)) void stand_in_for_the_program() {
  if (!std::getenv("GEN5_STATIC_RUNTIME")) return;
  unsetenv("GEN5_STATIC_RUNTIME");  // programs that it starts are others
  if (const char* why = tinygpu_stand_in("")) {
    std::fprintf(stderr, "gen5: %s\n", why);
    std::_Exit(1);
  }
}

}  // namespace
