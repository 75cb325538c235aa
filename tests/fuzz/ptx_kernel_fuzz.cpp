// Legal instructions of every family with any operand values.
#include "tests/fuzz/form_program.h"
#include "tests/fuzz/target.h"

using namespace gen5::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FormPrograms programs({{.instructions = blackwell_instructions()},
                                {.machine = "h200", .target = "sm_90a", .instructions = hopper_instructions()}});
  Input in(data, size);
  programs.run(in, {});
  return 0;
}
