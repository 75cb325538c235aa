// Registers that threads have touched since the last wgmma.fence, and that a wgmma.mma_async takes for A or its
// accumulator (PTX ISA 9.7.15.7.1). Copies between registers are none of a kernel's: a compiler puts them around
// inline assembly. They hand on what their source is.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/tinygpu/check/books.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::checks {

class WgmmaRegisters final : public Observer {
 public:
  WgmmaRegisters() : Observer(instructions) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<WgmmaRegisters>(); }
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_instruction(const Executed&) override;

 private:
  /// What an instruction does to registers that lead to a wgmma's.
  struct Step {
    enum class Kind : uint8_t { fence, touch, copy, multiply } kind = Kind::touch;
    std::vector<uint32_t> reads, writes;  // indices of such registers
  };
  struct Plan {
    uint32_t registers = 0;
    std::unordered_map<uint32_t, Step> steps;  // by the number of the instruction
  };
  struct Touch {
    const Op* op = nullptr;  // null: untouched
    uint64_t time = 0;
    uint32_t lanes = 0;
  };
  struct WarpState {
    const Function* function = nullptr;
    bool fenced = false;
    std::vector<Touch> touched;
  };
  using Book = std::vector<WarpState>;  // by warp
  struct alignas(64) Part {
    std::unordered_map<const Function*, Plan> plans;
    std::unordered_set<const Op*> told;
  };
  static Plan plan_of(const Function& f);
  void multiply(const Executed& e, const Step& step, WarpState& state, Part& part);

  CtaBooks<Book> books_;
  std::vector<Part> parts_;  // by SmPartition::index
};

}  // namespace tinygpu::checks
