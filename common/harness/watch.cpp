#include "common/harness/watch.h"

#include <dlfcn.h>

#include "common/harness/device.h"

namespace gen5::harness {
namespace {

// tinygpu exports them (its cuda/session.h); a program that runs on NVIDIA's runtime finds none.
using Begin = const char* (*)(const char* options);
using Text = const char* (*)();
using End = void (*)();

template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

Watch::Watch() {
  const auto begin = find<Begin>("tinygpu_session_begin");
  if (!begin || !current_device().tinygpu) return;
  active_ = !begin(R"({"profile": true, "timeline": true})");
}

Watch::~Watch() { stop(); }

ClockAlone::ClockAlone() {
  const auto begin = find<Begin>("tinygpu_session_begin");
  if (!begin || !current_device().tinygpu) return;
  active_ = !begin(R"({"timing_only": true, "check": "quick", "order": "timed"})");
}

ClockAlone::~ClockAlone() {
  if (active_) find<End>("tinygpu_session_end")();
}

std::optional<Watched> Watch::stop() {
  if (!active_) return std::nullopt;
  active_ = false;
  const char* profile = find<Text>("tinygpu_session_profile")();
  const char* timeline = find<Text>("tinygpu_session_timeline")();
  Watched seen = read_watched(profile ? profile : "[]", timeline ? timeline : "{}");
  find<End>("tinygpu_session_end")();
  return seen;
}

}  // namespace gen5::harness
