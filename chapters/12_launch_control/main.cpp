// Chapter 12: launch control.
//
//   scripts/run 12_launch_control                       every part
//   scripts/run 12_launch_control --part ahead          one of them
//   scripts/run 12_launch_control --mistake ask_again   a kernel that breaks a rule, and what is said about it
//
// Which CTA works on what, and when a kernel may start, is decided by the launch, unless the kernel decides itself:
// it takes work from the part of its grid that has not started, it starts before the kernel ahead of it has ended, or
// it hands out its work through counters in global memory. Read claims.cu first, order.cu behind it, and
// notes/12_launch_control.md beside both. The second half runs on Hopper too.
#include "chapters/12_launch_control/parts.h"

int main(int argc, char** argv) {
  gen5::harness::Chapter chapter("12", "launch control",
                                 "A running kernel takes the next CTA's work, or starts before its time.");
  add_claims(chapter);
  add_order(chapter);
  return chapter.run(argc, argv);
}
