#include "common/tinygpu/observe/report/saved_report.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

namespace tinygpu::observe {
namespace {

constexpr uintmax_t kLargestReport = uintmax_t(1) << 30;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ReportError(fmt::format("{}: {}", path, why));
}

std::string text_of_file(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) refuse(path, "there is no such file");
  if (!std::filesystem::is_regular_file(status)) refuse(path, "it is not a regular file");
  if (std::filesystem::file_size(path, error) > kLargestReport || error) refuse(path, "it is too large for a report");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) refuse(path, "it cannot be read");
  return text.str();
}

}  // namespace

nlohmann::ordered_json read_saved_report(const std::string& path) {
  const std::string text = text_of_file(path);
  if (text.starts_with("\x7f"
                       "ELF"))
    refuse(path, "this is a program. Write its report first: gen5 run --report FILE PROGRAM");
  constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"data\">", kEnd = "</script>";
  const size_t mark = text.find(kBegin);
  if (mark == text.npos) refuse(path, "this is no report of gen5 run --report");
  const size_t begin = mark + kBegin.size(), end = text.find(kEnd, begin);
  const auto data = nlohmann::ordered_json::parse(text.substr(begin, end - begin), nullptr, false);
  if (end == text.npos || !data.is_object()) refuse(path, "this report is cut short or was changed");
  const auto format = data.find("format");
  if (format == data.end() || *format != kReportFormat)
    refuse(path, fmt::format("another version of gen5 wrote this report ({}). Write it again with this one",
                             format == data.end() ? "its data have no format" : "format " + format->dump()));
  if (!data.contains("kernels") || !data["kernels"].is_array() || !data.contains("run"))
    refuse(path, "this report is cut short or was changed");
  return data;
}

}  // namespace tinygpu::observe
