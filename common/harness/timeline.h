// Timelines for the terminal: lanes of characters against cycles.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace gen5::harness {

/// Something that took from `begin` to `end` (a moment, where both are equal), shown by its mark.
struct Span {
  uint64_t begin = 0, end = 0;
  char mark = '#';
};

/// One thing that does one span at a time. Spans that overlap are shown in rows below each other.
struct Lane {
  std::string name;
  std::vector<Span> spans;
};

/// What is shown under one headline. Its time begins with its first span.
struct Picture {
  std::string title;
  std::vector<Lane> lanes;
  uint64_t begin() const, end() const;
};

/// The mark of number n: its last digit.
constexpr char digit(uint64_t n) { return char('0' + n % 10); }

struct DrawOptions {
  uint32_t columns = 84;  // for time
  /// Cycles that are shown; what lies behind is cut off and said so. 0: all of the longest picture.
  uint64_t window = 0;
};

/// All pictures on one scale, a round number of cycles to the column. A column shows what most of its time was spent
/// on; a span too short for that is shown where it begins if nothing else is there. Ends with a newline.
std::string draw(const std::vector<Picture>& pictures, const DrawOptions& options = {});

}  // namespace gen5::harness
