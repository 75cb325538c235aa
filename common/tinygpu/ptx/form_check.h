// Checks an instruction against the table of forms (forms.h): modifiers, operands, version and target.
#pragma once
#include <functional>

#include "common/tinygpu/ptx/module.h"
#include "common/tinygpu/ptx/parser.h"
#include "common/tinygpu/ptx/spelling.h"

namespace tinygpu::ptx::forms {

class Checker {
 public:
  explicit Checker(const Module& module) : module_(module) {}
  using Report = std::function<void(ParseMessage)>;
  /// Starts the checks that span a function (one cta_group per kernel).
  void begin(const Function& f);
  /// Reports what is wrong with `in`, an instruction of `f` whose operands are resolved as far as they can be.
  void check(const Function& f, const Instruction& in, const Spelling& spelling, const Report& report);

 private:
  const Module& module_;
};

}  // namespace tinygpu::ptx::forms
