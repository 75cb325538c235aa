// probes/machines/*.json, built in.
#pragma once
#include "common/tinygpu/base/embedded_file.h"

namespace tinygpu::web::profiles {

std::span<const EmbeddedFile> files();

}  // namespace tinygpu::web::profiles
