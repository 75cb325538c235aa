// A kernel's result against what it should be: the first word that differs, as a sentence.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gen5::harness {

/// What the words of a result are: only bits, or floating point, which is shown as a number, too.
enum class Shown : uint8_t { bits, floats };

/// "d[64][0] is 0x3f800000 (1) and should be 0x40000000 (2); 8 of 512 words differ, all in rows 64 to 127 and columns 0
/// to 3", and where the word that was found belongs; empty if all are equal. `columns`: how many a row has; 0: it has
/// no rows.
std::string difference(const char* name, const std::vector<uint32_t>& got, const std::vector<uint32_t>& want,
                       uint32_t columns = 0, Shown shown = Shown::bits);
std::string difference(const char* name, const std::vector<uint16_t>& got, const std::vector<uint16_t>& want,
                       uint32_t columns = 0);
/// The same sentence for a comparison that is not of bits: "o[3][7] is 1.5 and should be 2".
std::string difference(const std::string& place, double got, double want);

/// Whether a kernel's numbers are right, and if not, one that is wrong.
class Verdict {
 public:
  Verdict(bool right) : right_(right) {}
  /// By the difference that was found: none is right.
  Verdict(std::string difference) : right_(difference.empty()), difference_(std::move(difference)) {}
  operator bool() const { return right_; }
  const std::string& difference() const { return difference_; }

 private:
  bool right_;
  std::string difference_;
};

}  // namespace gen5::harness
