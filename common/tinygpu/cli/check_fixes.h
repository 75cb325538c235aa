// Fixes of what gen5 check has found: tried on the program's PTX, written as a diff of its CUDA.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "common/tinygpu/cli/check_runs.h"
#include "common/tinygpu/diagnosis/edits.h"

namespace tinygpu::cli {

/// A fix of one finding, and what it has led to.
struct TriedFix {
  const diagnosis::Finding* finding;
  std::vector<diagnosis::Edit> edits;
  bool tried = false;                               // the PTX that it changes was found, and the program ran with it
  bool gone = false;                                // the diagnosis, and nothing worse has come
  std::string instead = {};                         // what was said then, if not
  std::vector<diagnosis::SourceEdit> sources = {};  // as CUDA; empty where it has no line of its own
};

/// Runs `plan` once for the PTX and once for each finding for which a fix is known, in the order in which it was found.
/// `folder`: for files; `plan_of`: the run that found it.
std::vector<TriedFix> try_fixes(const diagnosis::Findings& findings, const std::filesystem::path& folder,
                                const std::function<RunPlan(const diagnosis::Finding&)>& plan_of,
                                diagnosis::SourceFiles& files, EndSignals& signals);
void print_fixes(const std::vector<TriedFix>& fixes, const std::string& folder);
/// Those that hold.
std::string diff_of(const std::vector<TriedFix>& fixes, diagnosis::SourceFiles& files, const std::string& folder);

}  // namespace tinygpu::cli
