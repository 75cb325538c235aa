// In which part of a report a diagnosis stands.
#pragma once
#include <cstdint>

#include "common/tinygpu/base/diagnosis.h"

namespace tinygpu::diagnosis {

enum class Group : uint8_t {
  own,        // of the user's code, and every error
  generated,  // a warning or a note of code that a compiler generated from Python, or that a package brings
  kept,       // a note of what no manual promises and hardware is known to keep
};

Group group_of(const Diagnosis& d);

/// Is it about the run and no fault of a kernel: what the run does not test, which lines an order may move?
bool is_of_the_run(const Diagnosis& d);

}  // namespace tinygpu::diagnosis
