// An instruction for the tiny machine
//
// With launch control a CTA claims the tile of another one that has not begun (chapter 12). The tiny machine has no
// instruction for that. Add it: the request keeps the role busy for kExpect cycles, and the mbarrier receives its
// arrival kAnswer cycles after the request. The judge runs a role that requests its next tile before it works on this
// one, with short tiles and with long ones.
#include "chapters/15_search/tiny_machine.h"
#include "exercises/exercise.h"

using namespace tiny;

constexpr Cycles kAnswer = 1965;  // launch.control.latency of the B200's profile

/// The role requests its next tile; `answered` receives an arrival when the answer is there.
void claim(Role& role, Barrier& answered) {
  // Your instruction here.
}

/// Cycles of three tiles, each of which the tensor core multiplies for so long.
Cycles three_tiles(Cycles work) {
  Barrier answered, done;
  std::vector<Role> roles(1);
  for (size_t tile = 0; tile < 3; ++tile) {
    claim(roles[0], answered);
    roles[0].mma_tile(work);
    roles[0].commit(done, 136);
    roles[0].wait(done, tile + 1);
    roles[0].wait(answered, tile + 1);
  }
  return run(roles).cycles;
}

void judge() {
  // A short tile waits for the answer: 1965, then 27 to wake up and 7 for the wait. Behind a long one the answer is
  // there: 27 to ask, 5000, 136 for the commit, 27 and 7 for the first wait, 7 for the second.
  exercise::expect(three_tiles(500) == 3 * (1965 + 27 + 7), "three short tiles do not take 5,997 cycles");
  exercise::expect(three_tiles(5000) == 3 * (27 + 5000 + 136 + 27 + 7 + 7),
                   "three long tiles do not take 15,612 cycles");
}
EXERCISE(judge);
