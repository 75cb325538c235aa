// Files that are built in, by their paths from the tree's root: the templates, and the headers that programs made of
// them include.
#pragma once
#include "common/tinygpu/base/embedded_file.h"

namespace tinygpu::search::texts {

std::span<const EmbeddedFile> files();

}  // namespace tinygpu::search::texts
