// wild_texts FOLDER: writes the bugs and twins as modules of PTX, one file each: NAME.bug.ptx and NAME.twin.ptx, for
// sm_90a where no Tensor Memory is in them. The first line says how a kernel is launched: "// threads, CTAs of a
// cluster, clusters, tensor maps". wild_h200.py runs them.
#include <fmt/format.h>

#include <fstream>
#include <iostream>

#include "tests/check/wild_case.h"

int main(int argc, char** argv) {
  using namespace tinygpu::test;
  if (argc != 2) {
    std::cerr << "usage: wild_texts FOLDER\n";
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  for (const auto& path : wild_files()) {
    const WildCase c = read_wild_case(path);
    for (const auto& [kernel, what] : {std::pair(&c.bug, "bug"), std::pair(&c.twin, "twin")}) {
      const std::string whole = kernel->change ? kernel->change(kernel->text()) : kernel->text();
      std::ofstream(std::filesystem::path(argv[1]) / fmt::format("{}.{}.ptx", c.name, what))
          << fmt::format("// {} {} {} {}\n", kernel->threads, kernel->ctas, kernel->clusters, kernel->maps.size())
          << ptx_header(kernel->tensor ? "sm_100a" : "sm_90a", "9.0") << whole;
    }
  }
}
