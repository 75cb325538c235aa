// Texture objects: the blocks of the machine's memory that kernels are given as textures (TextureObject).
#pragma once
#include "common/tinygpu/machine/memory/texture.h"
