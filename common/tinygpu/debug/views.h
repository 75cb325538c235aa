// What a stopped machine looks like, as data: every view is JSON that the prompt and editors print.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/tinygpu/debug/lines.h"
#include "common/tinygpu/debug/stops.h"
#include "common/tinygpu/debug/tiles.h"
#include "common/tinygpu/debug/wire.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::debug {

/// Launches that are on the chip, and asynchronous operations that are under way.
struct Alive {
  std::set<const Launch*> launches;
  std::map<std::pair<const Launch*, uint64_t>, std::shared_ptr<const AsyncOperation>> operations;
  Boxes boxes;
};

class Views {
 public:
  Views(const Alive& alive, SourceLines& lines) : alive_(alive), lines_(lines) {}

  /// The warp of that name; null if it has ended.
  const Warp* find(const WarpName& name) const;
  /// The group of a lane of it; the first one for −1 or a lane that has exited.
  static const Group* group_of(const Warp& w, int lane);
  /// {"name", "lanes", "place": {file, line, ptx_line, ptx, cycle, …}, "depth", "line": SourceLine}
  Json focus(const Warp& w, const Group& g);

  /// Answers {"view": NAME, …}; {"error": sentence} where it cannot.
  Json view(const Json& request, const Warp* focus, int lane);

 private:
  Json frames(const Warp& w, const Group& g);
  Json warps(const Json& request);
  Json registers(const Json& request, const Warp& w, const Group& g) const;
  Json barriers(const Warp& w) const;
  Json in_flight(const Warp& w) const;
  Json tensor_memory(const Json& request, const Warp& w) const;
  Json shared(const Json& request, const Warp& w) const;
  Json global(const Json& request, const Warp& w) const;
  Json why() const;
  Json source(const Warp& w, const Group& g) const;

  const Alive& alive_;
  SourceLines& lines_;
};

/// A place as data.
Json json_of(const Where& where);

}  // namespace tinygpu::debug
