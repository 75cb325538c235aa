// Packs the results of run_on_gpu into a golden file:
//   pack_golden CASES RESULTS GOLDEN DEVICE DRIVER DATE ASSEMBLER
#include <cstdio>
#include <fstream>
#include <iterator>

#include "tests/conformance/scalar/golden.h"

int main(int argc, char** argv) try {
  if (argc != 8) return std::fprintf(stderr, "pack_golden CASES RESULTS GOLDEN DEVICE DRIVER DATE ASSEMBLER\n"), 2;
  const auto cases = conformance::read_cases(argv[1]);
  std::ifstream in(argv[2], std::ios::binary);
  const std::string results{std::istreambuf_iterator<char>(in), {}};
  conformance::write_golden(argv[3], cases, results,
                            {{"device", argv[4]}, {"driver", argv[5]}, {"date", argv[6]}, {"assembler", argv[7]}});
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
