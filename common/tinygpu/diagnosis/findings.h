// Diagnoses of several launches or runs: equal ones are one finding.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu::diagnosis {

/// Lines of a source, to be put ahead of `line`.
struct SourceEdit {
  std::string file;
  int line = 0;
  std::string text;  // with its newline
};
/// A diagnosis, and the orders of completion in which it was made; none where there was but one run.
struct Finding {
  Diagnosis diagnosis;
  std::vector<std::string> orders;
  std::vector<SourceEdit> fix = {};  // that has been tried, and holds
  std::string launch = {};           // what the program called the launch: "step 6"
};

/// What stands for an instruction when findings are compared: its opcode at a line of the source and the calls there,
/// so that copies which a compiler has made by unrolling are one; its line of PTX where no source line is known.
std::string key_of(const Where& where);

class Findings {
 public:
  /// The same code at the same instructions, or with the same words where no instruction is known, is the same finding.
  /// Its counts add up within an order; of several orders the first one's stands. True: it is new.
  bool add(const Diagnosis& d, const std::string& order = {}, const std::string& launch = {});
  /// In the order in which they came.
  const std::vector<Finding>& all() const { return all_; }
  size_t count(Severity severity) const;

 private:
  std::vector<Finding> all_;
  std::map<std::string, size_t> places_;  // in all_
};

}  // namespace tinygpu::diagnosis
