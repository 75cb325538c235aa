// A corpus in one file: zstd over a row of inputs, each behind its size (32 bits, little endian).
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/zstd_file.h"

namespace gen5::fuzz {

using Inputs = std::vector<std::string>;

/// Throws std::runtime_error, with the file's name, for what is no pack.
Inputs read_pack(const std::filesystem::path& file);
void write_pack(const std::filesystem::path& file, const Inputs& inputs);

using test::read_file;

}  // namespace gen5::fuzz
