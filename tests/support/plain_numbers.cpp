// Engine numbers of plain_machine(): round, so that a test can say how long something takes. Add a key with the code that
// reads it.
#include "tests/support/run_ptx.h"

namespace tinygpu::test {

std::map<std::string, double> plain_numbers() {
  return {
      {"launch.cta", 0},
      {"tcgen05.alloc", 200},
      {"tcgen05.alloc.contended", 1000},
      {"tcgen05.dealloc", 200},
      {"tcgen05.relinquish", 10},
      {"tcgen05.ld.min", 8},
      {"tcgen05.ld.fixed", 4},
      {"tcgen05.ld.per_register", 2},
      {"tcgen05.ld.latency", 30},
      {"tcgen05.st.fixed", 1},
      {"tcgen05.st.per_register", 1},
      {"tcgen05.st.latency", 20},
      {"tcgen05.wait.ld", 2},
      {"tcgen05.wait.st", 2},
      {"tcgen05.cp.fixed", 30},
      {"tcgen05.cp.bytes_per_cycle", 100},
      {"tcgen05.cp.latency", 100},
      {"tcgen05.shift.latency", 60},
  };
}

}  // namespace tinygpu::test
