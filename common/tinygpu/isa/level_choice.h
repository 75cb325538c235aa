// Which of the levels that isa/ was compiled for runs here.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace tinygpu {

class InstructionSet;

namespace isa {

struct Level {
  std::string name;  // "v3"
  bool supported;    // by this processor
  const InstructionSet* (*get)();
};

/// The level named `forced` if the processor supports it, else the highest that it does; `levels` rise. Throws
/// std::runtime_error if it supports none of them.
const Level& choose_level(std::span<const Level> levels, std::string_view forced);

}  // namespace isa
}  // namespace tinygpu
