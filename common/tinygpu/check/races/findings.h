// What is said of two accesses that nothing orders: both places, the rule, the fix.
#pragma once
#include <cstdint>
#include <string>

#include "common/tinygpu/check/races/record.h"
#include "common/tinygpu/ptx/types.h"

namespace tinygpu::races {

/// Why an access must not meet an earlier one.
enum class Why : uint8_t {
  unordered,     // nothing orders them
  lanes,         // of one warp
  spoken_for,    // lanes of one warp, one of which has synchronised for all
  nearly,        // a scope or a .relaxed stands in the way
  by_operation,  // the end of an operation lies between, which does not speak for its thread
  same_value,    // lanes that have all stored the same value there, one of which is over with it
  no_scope,      // an mbarrier.arrive or a wait that names none does
  one_arrives,   // lanes have met at an instruction that is no barrier, and one of them has synchronised for all
  one_warp,      // so have warps of a warpgroup
  relaxed,       // a CTA's own shared memory, handed over by a relaxed arrive of the cluster's barrier
  no_fence,      // ordered, but not between the proxies
  read_only,     // ordered, but the later one is a read that no order reaches
  incomplete,    // an operation without a wait behind it
};

/// `address`: of the first byte that both touch.
void tell_race(Why why, const Record& earlier, const Record& later, ptx::Space space, uint64_t address, uint32_t bytes);

/// An mbarrier is used by `who`, who need not see its initialisation.
enum class Unpublished : uint8_t {
  to_thread,
  relaxed,    // what lies between is .relaxed, or of a scope that does not reach
  to_copy,    // only the async proxy, in which a copy is going to signal it, need not see it
  to_commit,  // the same of tcgen05.commit, which the manual counts to the generic proxy
};
void tell_unpublished(const Record& init, const Origin& who, const Cta& owner, uint32_t offset, Unpublished to);

/// `who` ends an mbarrier, and nothing says that this wait for it is over.
void tell_inval(const Record& wait, const Origin& who, const Cta& owner, uint32_t offset);

/// `wait` is for phase `phase` of an mbarrier, and the phase behind it may have ended when its threads come there.
void tell_late_wait(const Record& wait, uint64_t phase, const Cta& owner, uint32_t offset, const LabelledPlace& ender);

/// A CTA ends, and nothing says that this access of another CTA to its shared memory is over (`out`: an operation of
/// its own that reads from it for another CTA); `what` it touches.
void tell_exit(const Record& r, uint32_t rank, bool out, const std::string& what);

/// Global memory that the grid before has touched at `before`, without a wait for that grid.
void tell_primary_grid(const Record& r, uint64_t address, uint64_t bytes, const LabelledPlace& before,
                       const std::string& kernel);

/// A read of bytes of shared memory that were not written since the CTA began.
void tell_unwritten(const Record& r, uint64_t address, uint32_t bytes);

/// "st.shared", "tcgen05.mma, operand A".
std::string name_of(const Record& r);
LabelledPlace place_of(const Record& r, std::string label);

}  // namespace tinygpu::races
