// The golden file: what a GPU computed for every case. The first CTA's words are kept, of the others a hash each.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/mma_sync/cases.h"

namespace conformance::warp {

struct Golden {
  struct Results {
    std::vector<uint32_t> words;   // of CTA 0
    std::vector<uint32_t> hashes;  // of every CTA
  };
  std::map<std::string, std::string> header;  // device, driver, date, assembler, cases
  std::vector<Results> cases;
};

/// `results`: as run_on_gpu writes them. Throws std::runtime_error if its size is not that of the cases.
void write_golden(const std::string& path, const std::string& results, std::map<std::string, std::string> header);
/// Throws std::runtime_error if the file was made from other cases.
Golden read_golden(const std::string& path);

}  // namespace conformance::warp
