// What a report says of the run and of the machine that it is about.
#pragma once
#include "common/tinygpu/api/options.h"
#include "common/tinygpu/observe/report/report.h"

namespace tinygpu::api {

/// All but the command. Throws ProfileError.
observe::RunFacts report_facts(const Options& run);

}  // namespace tinygpu::api
