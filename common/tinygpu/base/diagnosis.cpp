#include "common/tinygpu/base/diagnosis.h"

#include <fmt/format.h>

#include "common/tinygpu/base/readable_name.h"

namespace tinygpu {

std::string Diagnosis::render() const {
  const char* level = severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
  std::string out = fmt::format("tinygpu {}[{}]: {}\n", level, code, message);
  if (!where.cuda_file.empty()) out += fmt::format("  --> {}:{}\n", where.cuda_file, where.cuda_line);
  if (!where.kernel.empty()) {
    out += fmt::format("   in kernel {}", readable_name(where.kernel));
    if (where.cta[0] >= 0) out += fmt::format(", CTA ({},{},{})", where.cta[0], where.cta[1], where.cta[2]);
    if (where.warp >= 0) out += fmt::format(", warp {}", where.warp);
    if (where.thread >= 0) out += fmt::format(", thread {}", where.thread);
    out += "\n";
  }
  if (where.ptx_line > 0) out += fmt::format("   ptx line {}: {}\n", where.ptx_line, where.ptx_text);
  if (!help.empty()) out += fmt::format("   help: {}\n", help);
  return out;
}

}  // namespace tinygpu
