// What every header here shares: how a wrapper is declared, and 32-bit shared addresses.
#pragma once
#include <cstdint>

#define GEN5_PTX __device__ __forceinline__

namespace gen5::ptx {

/// The 32-bit address in the shared window (.shared::cta, and this CTA's own .shared::cluster) of an object in shared
/// memory. Most wrappers take such addresses: the instructions do.
GEN5_PTX uint32_t shared_address(const void* object) { return static_cast<uint32_t>(__cvta_generic_to_shared(object)); }

}  // namespace gen5::ptx
