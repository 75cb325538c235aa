// Texture and surface objects: the blocks of the machine's memory that kernels are given as such (TextureObject,
// SurfaceObject).
#pragma once
#include "common/tinygpu/machine/memory/surface.h"
#include "common/tinygpu/machine/memory/texture.h"
