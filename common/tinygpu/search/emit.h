// A point as a program: one .cu file that reads top to bottom, with a main that checks and times.
#pragma once
#include <filesystem>
#include <string>

#include "common/tinygpu/search/space.h"

namespace tinygpu::search {

/// The .cu. `about`: lines of its head, such as what the search expects of it.
std::string program(const Space& space, const Problem& problem, const Point& p, const std::string& about = {});
/// The same as `folder`/`name`, and the headers of common/ptx and common/layout that it includes, in `folder`/common.
/// Throws SearchError.
void write_program(const std::filesystem::path& folder, const std::string& name, const std::string& text);
/// How nvcc builds it: "-std=c++20 -O2 -arch=sm_100a …", without the files.
std::string compiler_options(Template t);

}  // namespace tinygpu::search
