// What the instructions of a grid's first warp have written, for pages, which show it line by line.
#pragma once
#include <nlohmann/json.hpp>
#include <vector>

#include "common/tinygpu/debug/registers.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::web {

class Written final : public Observer {
 public:
  Written() : Observer(instructions) {}
  bool first_cluster_only() const override { return true; }
  void on_launch(const Launch& l) override;
  void on_instruction(const Executed& e) override;

  /// [{"line": of the PTX, "cycle", "name", "type", "lanes", "values": of 32 lanes, or the one that all `lanes` have}]:
  /// registers that will be read, in the order in which their values were there; the first ones of a long run.
  nlohmann::ordered_json json() const;

 private:
  struct Row {
    uint32_t line = 0, lanes = 0;
    uint64_t cycle = 0;
    ptx::Register declared;
    debug::Json values;
  };
  /// A register that an asynchronous operation is about to write.
  struct Awaited {
    uint32_t reg, line, lanes;
  };
  void add(const debug::Registers& registers, const RegisterPlace& place, const Awaited& what, uint64_t time);

  uint64_t start_ = 0;
  const Function* function_ = nullptr;  // whose registers are awaited
  std::vector<Awaited> awaited_;
  std::vector<Row> rows_;
};

}  // namespace tinygpu::web
