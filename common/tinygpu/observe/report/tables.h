// The parts of the page that are plain HTML, and can be read without a script.
#pragma once
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/report/launches.h"
#include "common/tinygpu/observe/report/source.h"

namespace tinygpu::observe {

struct RunFacts;
struct WhatIf;

/// What limited each kernel, at which line, what to try; and what its cycles would be if some work were free.
std::string verdicts_section(const std::vector<KernelProfile>& profiles, const std::vector<WhatIf>& what_if);

/// What ran, and on which machine.
std::string run_section(const RunFacts& run);

/// A line a kernel; each name leads to the kernel's own section, #kernel-0 and on.
std::string kernels_section(const std::vector<KernelProfile>& profiles, const std::vector<KernelRecord>& kernels);

/// Every diagnosis with its CUDA line, and with what `gen5 explain` says of its code.
std::string diagnoses_section(const std::vector<Diagnosis>& diagnoses, uint64_t left_out,
                              diagnosis::SourceFiles& files);

}  // namespace tinygpu::observe
