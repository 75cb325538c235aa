// What a GPU computed for the scalar conformance cases (h200.golden.zst): a text header, then per case the kept words
// and the hashes of all tuples.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/scalar/cases.h"

namespace conformance {

struct Golden {
  std::map<std::string, std::string> header;  // device, driver, date, assembler, cases
  struct Results {
    std::vector<uint64_t> words;   // kKept × outputs
    std::vector<uint64_t> hashes;  // one per kHashed tuples
    std::string bytes() const;     // words, then hashes
  };
  std::map<std::string, Results> by_line;  // by Case::line
};

/// Throws std::runtime_error if the file is damaged or was made from other cases.
Golden read_golden(const std::string& path, const std::vector<Case>& cases);
/// What is kept of a case's results, kTuples × outputs words.
Golden::Results kept_of(const Case& c, const std::vector<uint64_t>& words);
/// `results`: bytes() of every case.
void write_golden(const std::string& path, const std::vector<Case>& cases, const std::vector<std::string>& results,
                  const std::map<std::string, std::string>& header);
/// Of every case's line.
std::string fingerprint(const std::vector<Case>& cases);

}  // namespace conformance
