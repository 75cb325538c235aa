// How long a fence waits whose effect leaves the SM: it sets out when what the SM has stored before is in L2, and is
// over when it has come back. So does the release of a store, an atomic or the cluster's barrier, in the code of ptxas.
#pragma once
#include <cstdint>

#include "common/tinygpu/machine/warp/warp.h"
#include "common/tinygpu/ptx/memory_order.h"

namespace tinygpu {

/// Cycles from now until a fence of `own` cycles is over that `w` executes in its turn (Op::serial: only then is it
/// known when earlier stores arrive). `loads`: it waits for what the SM has loaded, too: whichever warp has, also TMA.
uint64_t fence_wait(Warp& w, uint64_t own, bool loads = false);
/// The fence of an access that releases at `scope`; none at the CTA's.
uint64_t release_wait(Warp& w, ptx::Scope scope);

}  // namespace tinygpu
