// A run of any kernel as a timeline for the terminal.
#pragma once
#include <string>

#include "common/harness/watch.h"

namespace exercise {

/// The last launch on the SM of its first CTA: a lane for each kind of asynchronous operation of each warp, and one for
/// each warp's mbarriers. Empty where nothing happened that has a lane.
std::string picture(const gen5::harness::Watched& watched);

}  // namespace exercise
