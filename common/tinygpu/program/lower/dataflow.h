// Forward dataflow: the state at the beginning of every block of a function, over all paths to it.
#pragma once
#include <vector>

#include "common/tinygpu/program/lower/flow.h"

namespace tinygpu {

/// `begin` has a state, a vector, for every block: what is assumed at first, then what has come of it. `run(block,
/// state)` carries a state through a block; `meet(known, arriving)` adds one element of what arrives to what is known,
/// and is true if that changed it.
template <class State, class Run, class Meet>
void solve_forward(const Flow& flow, std::vector<State>& begin, Run run, Meet meet) {
  std::vector<bool> waiting(flow.blocks.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = 0; b < flow.blocks.size(); ++b) {
      if (!waiting[b]) continue;
      waiting[b] = false;
      State state = begin[b];
      run(flow.blocks[b], state);
      for (uint32_t next : flow.blocks[b].next)
        for (size_t k = 0; k < state.size(); ++k)
          if (meet(begin[next][k], state[k])) waiting[next] = changed = true;
    }
  }
}

}  // namespace tinygpu
