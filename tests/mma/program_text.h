// PTX of a program of tcgen05 operations: all threads of a CTA, or of a pair of CTAs, around operations that one of
// them issues; commits to a few mbarriers and waits for them.
#pragma once
#include <cstdint>
#include <string>

namespace gen5::test {

class ProgramText {
 public:
  static constexpr uint32_t kBarriers = 3;

  /// `ctas`: 2 is a pair. `registers`: declarations of further ones. `issuer`: the rank that issues.
  ///
  /// The kernel is `program(data, data_bytes, out, out_bytes)`; each CTA has so many bytes of both. Registers that
  /// hold: %t thread, %warp, %base Tensor Memory's allocation (512 columns), %lanes the same with the warp's lanes;
  /// %img the shared memory plus 16 bytes for each thread before, %start its place in a descriptor; %data data plus 16
  /// bytes a thread, %words data plus 4, %out out plus 4. For use: %addr %tmp %size %v0 … %v7 %p %en %a %b.
  explicit ProgramText(uint32_t ctas, const std::string& registers = "", uint32_t issuer = 0);

  void add(const std::string& text) { t_ += text; }
  /// All threads: what they did is done, what others did is seen.
  void meet();
  /// Memory that operations read was written since all met.
  void touched() { touched_ = true; }
  /// One thread runs this, after all have met if there is a need. GROUP stands for the CTA group.
  void issue(const std::string& body);
  void commit(uint32_t barrier);
  /// All threads.
  void wait(uint32_t barrier);
  uint32_t label() { return labels_++; }
  static std::string values() { return "{%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}"; }

  /// The module, ended.
  std::string module();

 private:
  uint32_t ctas_;
  std::string t_;
  uint32_t labels_ = 0, phases_[kBarriers] = {};
  bool seen_[kBarriers] = {true, true, true};  // the barrier's last phase, by all threads
  bool touched_ = false;
};

/// How many programs a test runs: GEN5_MMA_PROGRAMS, or this many.
uint32_t program_count(uint32_t otherwise);

}  // namespace gen5::test
