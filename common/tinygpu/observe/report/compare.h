// Two runs side by side: what changed from one report's data to another's.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace tinygpu::observe {

/// A value of both runs, as text.
struct Change {
  enum class Mark : uint8_t { same, less, more, other } mark = Mark::same;
  std::string name, before, after;
  std::string difference;  // "−20.6 %", "+3.1 points"; empty for words
};

/// A line of source of both runs, or of one of them.
struct LineChange {
  std::string before_at, after_at;  // "gemm.cu:120"; empty: the line is not in that run
  std::string text;                 // the newer one's
  uint64_t before = 0, after = 0;   // cycles of warps
};

struct KernelChange {
  std::string before, after;  // names of the kernel; they differ where the kernels do
  std::string before_label, after_label;
  size_t before_index = 0, after_index = 0;
  std::vector<Change> times, units, waits;
  std::vector<LineChange> lines;  // whose cycles differ; those that differ most come first
};

struct RunName {
  std::string path, command, machine;
};

struct Comparison {
  RunName before, after;
  std::vector<std::string> notes;  // sentences: what makes the runs hard to compare
  std::vector<KernelChange> kernels;
  std::vector<std::string> only_before, only_after;  // kernels without a partner
};

/// The data of two reports. Kernels are partners by name, and those left over by their order. Throws ReportError, which
/// names the path of the report whose data cannot be those of a report.
Comparison compare(const nlohmann::ordered_json& before, const std::string& before_path,
                   const nlohmann::ordered_json& after, const std::string& after_path);

/// For a terminal; ends with a newline.
std::string render(const Comparison& comparison);

/// For the page.
std::string comparison_section(const Comparison& comparison);

}  // namespace tinygpu::observe
