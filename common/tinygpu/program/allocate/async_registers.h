// Which registers asynchronous operations may still read or write.
#pragma once
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "common/tinygpu/program/lower/flow.h"
#include "common/tinygpu/program/lower/touch.h"

namespace tinygpu {

class AsyncRegisters {
 public:
  struct Register {
    uint32_t id;
    int channel;
    bool written;  // else read
  };
  /// Per register: the fewest groups that were closed on any way since the operation issued; kIdle: none in flight.
  using Ages = std::vector<uint8_t>;
  static constexpr uint8_t kIdle = 255;

  AsyncRegisters(const Flow& flow, const std::vector<Touch>& touches);
  const std::vector<Register>& registers() const { return registers_; }
  /// When block `b` begins.
  const Ages& at_begin(size_t b) const { return begin_[b]; }
  /// Their ages behind instruction `i`.
  void step(Ages& ages, uint32_t i) const;

 private:
  const std::vector<Touch>& touches_;
  std::vector<Register> registers_;
  std::map<std::tuple<uint32_t, int, bool>, uint32_t> index_;
  std::vector<Ages> begin_;
};

}  // namespace tinygpu
