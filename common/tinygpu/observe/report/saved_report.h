// A report that was written before: it holds its data, and so can be compared with.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>

namespace tinygpu::observe {

/// Of the data in a report. It changes where what older reports hold can no longer be read.
inline constexpr int kReportFormat = 1;

/// The sentence names the file.
class ReportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The data of a report. Throws ReportError.
nlohmann::ordered_json read_saved_report(const std::string& path);

}  // namespace tinygpu::observe
