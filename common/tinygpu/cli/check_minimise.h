// Of a run that failed under an order of completion: as few lines as possible whose effects alone have to be late.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/tinygpu/cli/check_runs.h"
#include "common/tinygpu/diagnosis/findings.h"

namespace tinygpu::cli {

/// A line as --late-only takes it: "gemm.cu:120", "ptx:88".
std::string late_name_of(const Where& where);

struct Minimised {
  RunPlan plan;              // fails like the run that was given
  std::vector<Where> lines;  // whose effects are late in it
  size_t of = 0;             // lines that were tried
  bool least = false;        // none of them can be left out
};

/// `failed` is one of the runs that led to `findings`, in order late or seeded. Runs its plan again with the effects of
/// few lines late and all others in time, at most `most` times and for about `seconds`. Nothing: every single line, and
/// all together, were tried in vain, or the program has no such lines.
std::optional<Minimised> minimise(const Run& failed, const diagnosis::Findings& findings,
                                  const std::filesystem::path& folder, double seconds, size_t most,
                                  EndSignals& signals);

}  // namespace tinygpu::cli
