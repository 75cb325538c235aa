// What diagnoses of checks call things.
#pragma once
#include <string>

#include "common/tinygpu/machine/origin.h"

namespace tinygpu::checks {

/// "CTA (0,0,0), warp 3, at PTX line 12".
std::string place_of(const Origin& who);

}  // namespace tinygpu::checks
