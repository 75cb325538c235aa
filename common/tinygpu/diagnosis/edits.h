// What to write, and where, so that a fault is gone: for the commonest codes, as PTX and as lines of CUDA.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/diagnosis/findings.h"
#include "common/tinygpu/diagnosis/source_files.h"

namespace tinygpu::diagnosis {

struct Edit {
  enum class Put : uint8_t {
    before,
    behind,
    instead,
    before_return,  // ahead of each `ret` of the kernel
  } put = Put::before;
  Where at;
  std::string ptx;
};
/// Nothing where no line is known to mend it.
std::vector<Edit> edits_of(const Diagnosis& d);

/// `ptx` with the edits; nothing if it is not the text that they are about.
std::optional<std::string> edited(const std::string& ptx, const std::vector<Edit>& edits);

/// The same edits as lines of CUDA; nothing if one of them has no line of its own to stand on, or names registers.
std::optional<std::vector<SourceEdit>> source_edits(const std::vector<Edit>& edits, SourceFiles& files);

/// As `diff -u` writes it; files are named from `folder`.
std::string diff_of(std::vector<SourceEdit> edits, SourceFiles& files, const std::string& folder);

}  // namespace tinygpu::diagnosis
