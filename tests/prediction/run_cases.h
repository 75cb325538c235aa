// What the programs of held-out kernels have in common: options, launches, a line of JSON for each kernel.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>

#include "tests/prediction/cases.h"

namespace prediction {

/// main() of a program: `app` has the options of its own, `cases` is asked when they have been read.
int run_cases(CLI::App& app, int argc, char** argv, const std::function<Cases()>& cases);

}  // namespace prediction
