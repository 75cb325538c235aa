// What a process cannot go on without.
#pragma once
#include <cstdlib>
#include <exception>

#include "common/tinygpu/cuda/show.h"

namespace tinygpu::cuda {

/// Options, the machine's profile, files of observers: f(), or the end of the process with a sentence.
template <class F>
auto or_exit(F&& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    say("bad-option", e.what());
    std::_Exit(1);
  }
}

}  // namespace tinygpu::cuda
