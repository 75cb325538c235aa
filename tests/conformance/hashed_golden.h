// Golden files that keep hashes alone: for suites of many cases.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/conformance/warp_case.h"

namespace conformance::warp {

/// A hash for each of these runs of CTAs.
constexpr int kHashes = 8;

struct HashedGolden {
  std::map<std::string, std::string> header;  // device, driver, date, assembler, cases
  std::vector<std::string> cases;             // hashes_of(), case after case
};

/// Of a case's result_words(): kHashes words, as bytes.
std::string hashes_of(const Case& c, const std::vector<uint32_t>& words);
void write_hashed(const std::string& path, const std::vector<Case>& cases, const std::vector<std::string>& hashes,
                  std::map<std::string, std::string> header);
/// Throws std::runtime_error if the file was made from other cases.
HashedGolden read_hashed(const std::string& path, const std::vector<Case>& cases);

/// Names, texts and operand kinds of all cases, so that a golden file cannot be read for others.
std::string fingerprint(const std::vector<Case>& cases);

}  // namespace conformance::warp
