// The same with Hopper's kernel, and mistakes of its own.
#define MEGAKERNEL_HOPPER
#include "chapters/16_megakernel/mistakes.cu"
