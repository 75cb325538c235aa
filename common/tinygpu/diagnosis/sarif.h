// Diagnoses as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format), which editors and CI show at the lines.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "common/tinygpu/diagnosis/findings.h"

namespace tinygpu::diagnosis {

/// What the log says of the run itself.
struct SarifRun {
  std::string command = {};                // line
  std::string folder = {};                 // absolute; files in it, or below, are named from there
  bool complete = false;                   // the program has come to its end
  uint64_t launches = 0;                   // of kernels
  std::vector<std::string> orders = {};    // of completion, if there were several: "timed", "late", "seed 3"
  std::vector<std::string> failures = {};  // of the program as a whole
};

/// A whole log with one run: the table's rules for the codes that occur, and a result for each finding. What SARIF has
/// no place for (threads, cycles, PTX) stands in property bags.
nlohmann::ordered_json sarif_of(std::span<const Finding> findings, const SarifRun& run);

/// What a log of sarif_of() holds.
struct SarifLog {
  std::vector<Finding> findings;
  bool complete = false;
  uint64_t launches = 0;
};
/// Throws std::runtime_error where it is no such log.
SarifLog read_sarif(const nlohmann::ordered_json& log);

}  // namespace tinygpu::diagnosis
