#include "chapters/16_megakernel/mistakes.h"
namespace megakernel {
std::span<const gen5::harness::Mistake> mistakes() { return {}; }
}
