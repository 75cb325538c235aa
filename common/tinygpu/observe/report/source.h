// The CUDA lines that a profile names.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "common/tinygpu/diagnosis/source_files.h"
#include "common/tinygpu/observe/profile.h"

namespace tinygpu::observe {

/// The lines of a kernel's files that cost something, with some around them, each file with its lines in order:
/// [{"file", "lines": [[number, text], …]}]. Files that cannot be read are not among them.
nlohmann::ordered_json source_of(const KernelProfile& kernel, diagnosis::SourceFiles& files);

}  // namespace tinygpu::observe
