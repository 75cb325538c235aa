// Kernels as nvcc compiled them, kept so that tests need no nvcc: kernels.ptx.zst.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace conformance::random_kernels {

struct Module {
  uint64_t first = 0, last = 0;  // seeds
  uint64_t source = 0;           // hash of what nvcc was given
  std::string ptx;
};

/// Throws std::runtime_error if the file is damaged.
std::vector<Module> read_archive(const std::string& path);
void write_archive(const std::string& path, const std::vector<Module>& modules);

/// The bytes that a GPU's run of a kernel left, as a hash, by seed.
struct Golden {
  std::string platform;  // GPU, driver, date
  std::map<uint64_t, uint64_t> results;
};
Golden read_golden(const std::string& path);
void write_golden(const std::string& path, const Golden& golden);

}  // namespace conformance::random_kernels
