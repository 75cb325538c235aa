// Diagnoses of several launches or runs: equal ones are one finding.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu::diagnosis {

/// A diagnosis, and the orders of completion in which it was made; none where there was but one run.
struct Finding {
  Diagnosis diagnosis;
  std::vector<std::string> orders;
};

class Findings {
 public:
  /// The same code at the same instructions, or with the same words where no instruction is known, is the same finding.
  /// Its counts add up within an order; of several orders the first one's stands. True: it is new.
  bool add(const Diagnosis& d, const std::string& order = {});
  /// In the order in which they came.
  const std::vector<Finding>& all() const { return all_; }
  size_t count(Severity severity) const;

 private:
  std::vector<Finding> all_;
  std::map<std::string, size_t> places_;  // in all_
};

}  // namespace tinygpu::diagnosis
