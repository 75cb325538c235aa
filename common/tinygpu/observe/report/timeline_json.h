// A timeline as the page's script reads it.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "common/tinygpu/observe/timeline.h"

namespace tinygpu::observe {

/// At most `most` spans: those that begin first, on all SMs alike. Times are cycles from the launch's begin on; a
/// column of a row whose values are all the same is that value.
nlohmann::ordered_json timeline_json(const KernelTimeline& timeline, uint64_t most);

}  // namespace tinygpu::observe
