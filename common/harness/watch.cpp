#include "common/harness/watch.h"

#include "common/harness/device.h"
#include "common/harness/session_function.h"

namespace gen5::harness {
namespace {

using Begin = const char*(const char* options);
using Text = const char*();
using End = void();

}  // namespace

Watch::Watch() {
  const auto begin = session_function<Begin>("tinygpu_session_begin");
  if (!begin || !current_device().tinygpu) return;
  active_ = !begin(R"({"profile": true, "timeline": true})");
}

Watch::~Watch() { stop(); }

ClockAlone::ClockAlone() {
  const auto begin = session_function<Begin>("tinygpu_session_begin");
  if (!begin || !current_device().tinygpu) return;
  active_ = !begin(R"({"timing_only": true, "check": "quick", "order": "timed"})");
}

ClockAlone::~ClockAlone() {
  if (active_) session_function<End>("tinygpu_session_end")();
}

std::optional<Watched> Watch::stop() {
  if (!active_) return std::nullopt;
  active_ = false;
  const char* profile = session_function<Text>("tinygpu_session_profile")();
  const char* timeline = session_function<Text>("tinygpu_session_timeline")();
  Watched seen = read_watched(profile ? profile : "[]", timeline ? timeline : "{}");
  session_function<End>("tinygpu_session_end")();
  return seen;
}

}  // namespace gen5::harness
