// Reads the published tensor-core words in tests/numerics/data.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace gen5::test {

struct Row {
  std::vector<uint32_t> a, b;  // f32 containers
  uint32_t c = 0, d = 0;       // f32 words
};

/// Rows of vectors.txt.zst for one machine ("B200"), format ("fp16") and result ("fp32").
std::vector<Row> published_rows(const std::string& machine, const std::string& format, const std::string& result);

struct Word {
  std::string name, kind, a_type, b_type, d_type, scale_type;
  std::vector<uint32_t> a, b, scale_a, scale_b;
  uint32_t c = 0, d = 0;
  bool saturate = false;
};
std::vector<Word> b200_words();

}  // namespace gen5::test
