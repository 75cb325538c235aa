// Files and images as the module calls and `gen5 run` get them: fat binaries, ELF, cubins. The bytes end where a page
// ends.
#include "common/tinygpu/cli/program_check.h"
#include "common/tinygpu/image/cubin.h"
#include "common/tinygpu/image/elf.h"
#include "common/tinygpu/image/fatbin.h"
#include "common/tinygpu/image/machine_code.h"
#include "tests/fuzz/guarded.h"
#include "tests/fuzz/target.h"

using namespace tinygpu::image;

namespace {

constexpr size_t kLongest = 1 << 16;

/// Runs `f`; a malformed container is an answer.
template <class F>
void answered(F&& f) {
  try {
    f();
  } catch (const FatbinError&) {
  }
}

void read_images(const std::vector<FatbinEntry>& entries) {
  for (const FatbinEntry& e : entries)
    answered([&] {
      const std::string image = e.image();
      ptx_target(image);
      read_cubin({reinterpret_cast<const uint8_t*>(image.data()), image.size()});
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static gen5::fuzz::Guarded guarded(kLongest);
  if (size > kLongest) return 0;
  const Bytes bytes = guarded.copy(data, size);
  is_fatbin(bytes);
  ptx_target({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  answered([&] { read_images(read_fatbin(bytes)); });
  answered([&] { read_images(read_fatbin_section(bytes)); });
  if (const auto elf = Elf::read(bytes)) {
    elf->symbol_names();
    elf->dynamic_strings();
    elf->section(".nv_fatbin");
    Elf::size_of(bytes);
  }
  read_cubin(bytes);
  read_machine_code(bytes);
  tinygpu::cli::check_program(bytes);
  return 0;
}
