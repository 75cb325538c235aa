// Packs the results of run_on_gpu into a golden file:
//   pack_golden RESULTS GOLDEN DEVICE DRIVER DATE ASSEMBLER
#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/conformance/mma_sync/golden.h"

int main(int argc, char** argv) try {
  if (argc != 7) return std::fprintf(stderr, "pack_golden RESULTS GOLDEN DEVICE DRIVER DATE ASSEMBLER\n"), 2;
  std::ifstream in(argv[1], std::ios::binary);
  const std::string results{std::istreambuf_iterator<char>(in), {}};
  conformance::warp::write_golden(
      argv[2], results, {{"device", argv[3]}, {"driver", argv[4]}, {"date", argv[5]}, {"assembler", argv[6]}});
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
