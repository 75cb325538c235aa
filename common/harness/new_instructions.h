// What a chapter uses that none before it has used. The build writes such a function for each chapter
// (book/instructions.py): a program without one has nothing to tell.
#pragma once
#include <span>

namespace gen5::harness {

struct NewInstruction {
  const char* ptx;       // as it stands in the wrapper, operands named
  const char* says;      // the wrapper's comment
  const char* operands;  // what `gen5 explain` says of them, a line each; may be empty
};

/// In the order of their first use.
[[gnu::weak]] std::span<const NewInstruction> new_instructions();

}  // namespace gen5::harness
