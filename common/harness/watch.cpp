#include "common/harness/watch.h"

#include <dlfcn.h>

#include "common/harness/device.h"

namespace gen5::harness {
namespace {

// tinygpu exports them (its cuda/watch.h); a program that runs on NVIDIA's runtime finds neither.
using Begin = void (*)();
using End = const char* (*)();

template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

Watch::Watch() {
  const auto begin = find<Begin>("tinygpu_watch_begin");
  if (!begin || !current_device().tinygpu) return;
  begin();
  active_ = true;
}

Watch::~Watch() { stop(); }

std::optional<Watched> Watch::stop() {
  if (!active_) return std::nullopt;
  active_ = false;
  const char* document = find<End>("tinygpu_watch_end")();
  if (!document) return std::nullopt;
  return read_watched(document);
}

}  // namespace gen5::harness
