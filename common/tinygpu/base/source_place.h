// A line of a program, as a user names it.
#pragma once
#include <string>
#include <string_view>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu {

/// "LINE", "FILE:LINE" (the end of a path suffices) or "ptx:LINE".
struct SourcePlace {
  std::string file;
  int line = 0;
  bool ptx = false;
  /// Empty, or what is wrong with `text`.
  static std::string read(std::string_view text, SourcePlace& out);
  bool names(const Where& where) const;
};

}  // namespace tinygpu
