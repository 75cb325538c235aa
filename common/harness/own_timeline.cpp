#include "common/harness/own_timeline.h"

#include <dlfcn.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace gen5::harness {

void show_in_report(const OwnTimeline& t) {
  // tinygpu exports it (its cuda/session.h).
  using Spans = const char* (*)(const char* timeline);
  const auto spans = reinterpret_cast<Spans>(dlsym(RTLD_DEFAULT, "tinygpu_session_spans"));
  if (!spans) return;
  nlohmann::json document = {{"title", t.title}, {"rows", nlohmann::json::array()}, {"arrows", t.arrows}};
  for (const OwnTimeline::Row& row : t.rows) {
    nlohmann::json out = {{"name", row.name}, {"spans", nlohmann::json::array()}};
    for (const OwnTimeline::Span& s : row.spans)
      out["spans"].push_back({{"name", s.name}, {"begin", s.begin}, {"end", s.end}, {"critical", s.critical}});
    document["rows"].push_back(std::move(out));
  }
  if (const char* why_not = spans(document.dump().c_str())) throw std::runtime_error(why_not);
}

}  // namespace gen5::harness
