// Runs a program's operations one after another, with the books of what is in flight.
#pragma once
#include <map>
#include <set>

#include "tests/conformance/wgmma_programs/program.h"

namespace conformance::wgmma_programs {

/// What the groups in flight use. Order is all it knows: a group ends when a wait says so.
class InFlight {
 public:
  void uses_accumulator(uint32_t i) { accumulators_[i] = committed_; }
  void reads_fragment(uint32_t i) { fragments_[i] = committed_; }
  void reads_slot(uint32_t i) { slots_[i] = committed_; }
  void commit() { ++committed_, open_ = false; }
  void wait(uint32_t count) { done_ = std::max(done_, committed_ - std::min(committed_, count)); }
  void issued() { open_ = true; }
  bool open() const { return open_; }  // operations without a group
  uint32_t groups() const { return committed_ - done_; }
  bool accumulator_free(uint32_t i) const { return free(accumulators_, i); }
  bool fragment_free(uint32_t i) const { return free(fragments_, i); }
  bool slot_free(uint32_t i) const { return free(slots_, i); }

 private:
  using Users = std::map<uint32_t, uint32_t>;  // the latest group that uses it
  bool free(const Users& users, uint32_t i) const {
    const auto u = users.find(i);
    return u == users.end() || u->second < done_;
  }
  Users accumulators_, fragments_, slots_;
  uint32_t committed_ = 0, done_ = 0;
  bool open_ = false;
};

/// Applies one operation to the books; false if it breaks a rule.
bool apply(InFlight& books, const Op& op);

/// Properties of a kind.
struct KindInfo {
  const char *d, *a, *b;
  uint32_t k, element_bytes;
  bool transposes;
  gen5::test::Type a_type, b_type;  // of floats
  bool fp8() const { return a_type == gen5::test::Type::e4m3 || a_type == gen5::test::Type::e5m2; }
};
const KindInfo& info(Kind k);

}  // namespace conformance::wgmma_programs
