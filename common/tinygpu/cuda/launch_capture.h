// Launches as files, to be run again elsewhere (GEN5_CAPTURE): web/machine/request.h reads them.
#pragma once

namespace tinygpu::cuda {

class State;
struct RunningLaunch;

/// Writes the launch, which is about to begin, into the folder of the option: NUMBER.json, and NAME.bin for each
/// content of memory, named by that content.
///   {"kernel", "ptx": [files of the module], "grid", "block", "cluster": null without one, "shared": dynamic bytes,
///    "cooperative", "parameters": FILE,
///    "memory": [{"address": text, "bytes", "file"}], "variables": [{"name", "bytes", "file"}], "left_out": a sentence,
///    if memory is missing}
/// Memory is what parameters and variables lead to: each aligned word of 64 bits that is an address of an allocation
/// leads there.
void capture(State& s, const RunningLaunch& launch);

}  // namespace tinygpu::cuda
