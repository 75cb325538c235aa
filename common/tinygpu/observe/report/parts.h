// The files of page/, which are built in: page.html (with {{name}} where something comes in), page.css, and scripts,
// which stand in their order.
#pragma once
#include "common/tinygpu/base/embedded_file.h"

namespace tinygpu::observe::parts {

std::span<const EmbeddedFile> files();

}  // namespace tinygpu::observe::parts
