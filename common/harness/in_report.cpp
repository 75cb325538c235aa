#include "common/harness/in_report.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/harness/device.h"
#include "common/harness/session_function.h"

namespace gen5::harness {
namespace {

/// The function takes a text, and returns null or a sentence.
void tell(const char* function, const std::string& text) {
  const auto f = session_function<const char*(const char* text)>(function);
  if (!f || !current_device().tinygpu) return;
  if (const char* why_not = f(text.c_str())) throw std::runtime_error(why_not);
}

}  // namespace

void name_launches(const std::string& name) { tell("tinygpu_session_name", name); }

void show_in_report(const OwnTimeline& t) {
  nlohmann::json document = {{"title", t.title}, {"rows", nlohmann::json::array()}, {"arrows", t.arrows}};
  for (const OwnTimeline::Row& row : t.rows) {
    nlohmann::json out = {{"name", row.name}, {"spans", nlohmann::json::array()}};
    for (const OwnTimeline::Span& s : row.spans)
      out["spans"].push_back({{"name", s.name}, {"begin", s.begin}, {"end", s.end}, {"critical", s.critical}});
    document["rows"].push_back(std::move(out));
  }
  tell("tinygpu_session_spans", document.dump());
}

}  // namespace gen5::harness
