#include "common/tinygpu/cuda/watch.h"

#include <nlohmann/json.hpp>

#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/sm_timeline.h"

namespace {

struct Watch {
  tinygpu::observe::Profile profile;
  tinygpu::observe::SmTimeline timeline;
};
// Never destroyed, as State: launches may come from atexit handlers.
Watch* watch = nullptr;
std::string* document = nullptr;

}  // namespace

extern "C" void tinygpu_watch_begin() {
  tinygpu::cuda::State& s = tinygpu::cuda::State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  delete watch;
  watch = new Watch;
  s.watch({&watch->profile, &watch->timeline});
}

extern "C" const char* tinygpu_watch_end() {
  tinygpu::cuda::State& s = tinygpu::cuda::State::get();
  std::lock_guard lock(s.mutex);
  s.settle();
  if (!watch) return nullptr;
  s.watch({});
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const auto& k : watch->profile.kernels()) out["profile"].push_back(k.json());
  if (!watch->timeline.json().is_null()) out["timeline"] = watch->timeline.json();
  if (!document) document = new std::string;
  *document = out.dump();
  delete watch;
  watch = nullptr;
  return document->c_str();
}
