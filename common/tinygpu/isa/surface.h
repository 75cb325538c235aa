// suld and sust; texture.cpp has their rows.
#pragma once
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

void decode_surface_load(Decoder& d, Op& op);
void decode_surface_store(Decoder& d, Op& op);

}  // namespace tinygpu::isa
