// What a fuzz target is: one file with these functions. libFuzzer calls them (preset `fuzz`), or the replay program
// does (replay.cpp). A target returns whatever the input was; anything that leaves it or ends the process is a finding,
// and so is an input that takes seconds or gigabytes.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
/// Before the first input, if the target has it.
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace gen5::fuzz {

/// Launches that ran, to their end or to a diagnosis, since the process began; said at its end.
inline uint64_t launches = 0;

}  // namespace gen5::fuzz
