// Files packed with zstd.
#pragma once
#include <string>

namespace gen5::test {

std::string read_file(const std::string& path);

/// The bytes in a packed file. Throws std::runtime_error if it cannot be read or is damaged.
std::string read_packed(const std::string& path);

/// As small as zstd can, unless a quicker `level` is given.
void write_packed(const std::string& path, const std::string& bytes, int level = 22);

}  // namespace gen5::test
