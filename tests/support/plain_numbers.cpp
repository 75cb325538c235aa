// Engine numbers of plain_machine(): round, so that a test can say how long something takes. Add a key with the code that
// reads it.
#include "tests/support/run_ptx.h"

namespace tinygpu::test {

std::map<std::string, double> plain_numbers() {
  return {
      {"launch.cta", 0},
  };
}

}  // namespace tinygpu::test
