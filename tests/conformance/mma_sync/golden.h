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
    std::string bytes() const;     // as the file holds them
  };
  std::map<std::string, std::string> header;  // device, driver, date, assembler, cases
  std::vector<Results> cases;
};

/// What is kept of a case's result_words().
Golden::Results kept_of(const Case& c, const std::vector<uint32_t>& words);
/// `results`: bytes() of every case.
void write_golden(const std::string& path, const std::vector<std::string>& results,
                  std::map<std::string, std::string> header);
/// Throws std::runtime_error if the file was made from other cases.
Golden read_golden(const std::string& path);

}  // namespace conformance::warp
