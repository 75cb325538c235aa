// Shared memory and Tensor Memory as the matrices that they hold.
#pragma once
#include <map>
#include <memory>
#include <utility>

#include "common/tinygpu/debug/wire.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::debug {

/// The tensor copy that was issued last for each place in shared memory at which a box begins.
class Boxes {
 public:
  void issued(const AsyncOperation& o);
  void gone(const Cta& cta);
  /// Of a CTA, its last one for any place with `anywhere`. Null: there is none.
  const AsyncOperation* find(const Cta& cta, uint32_t offset, bool anywhere) const;

 private:
  std::map<std::pair<const Cta*, uint32_t>, std::shared_ptr<const AsyncOperation>> at_;
  std::map<const Cta*, uint32_t> last_;
};

/// {"tile": "a" | "b" | "d": of the tcgen05.mma or wgmma that this warp's CTA issued last; "box": of its last tensor
/// copy, or of that at "begin"; "shared": "rows" rows of "columns" elements of "type" at "begin", with "swizzle" (0,
/// 32, 64, 128 bytes)}. All but the last take a window: "row", "rows", "column", "columns". Answers {"title", "row",
/// "column", "row_name", "column_name", "rows": [[text]]}; null: never written. {"error"} where there is no such tile.
Json tile(const Json& request, const Warp& w, const Boxes& boxes);

}  // namespace tinygpu::debug
