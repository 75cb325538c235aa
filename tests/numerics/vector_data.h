// Reads the published tensor-core words: the subset kept here, and the whole tables where ../shared/data is present.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace gen5::test {

struct Row {
  std::vector<uint32_t> a, b;  // f32 containers
  uint32_t c = 0, d = 0;       // f32 words
};

/// Rows of tests/numerics/data/vectors.txt for one machine ("B200"), format ("fp16") and result ("fp32").
std::vector<Row> kept_rows(const std::string& machine, const std::string& format, const std::string& result);

/// Rows of the whole table, or none if the folder is missing.
std::vector<Row> all_rows(const std::string& machine, const std::string& format, const std::string& result);

struct Word {
  std::string name, kind, a_type, b_type, d_type, scale_type;
  std::vector<uint32_t> a, b, scale_a, scale_b;
  uint32_t c = 0, d = 0;
  bool saturate = false;
};
std::vector<Word> b200_words();

}  // namespace gen5::test
