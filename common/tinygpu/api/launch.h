// A kernel launch as it is asked for, and the checks that a driver makes before it.
#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/tinygpu/api/module.h"
#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::api {

struct LaunchRequest {
  Dim3 grid = {}, block = {};
  std::optional<Dim3> cluster = {};           // else the required one
  std::optional<Dim3> required_cluster = {};  // in place of the kernel's own
  uint64_t dynamic_shared = 0;                // bytes of a CTA
  uint64_t most_dynamic_shared = ~0ull;       // that were allowed; at most what an SM has for a CTA
  bool portable_cluster_only = false;         // no more CTAs in a cluster than every machine has
  bool cooperative = false;                   // all CTAs are resident together
  /// Laid out by Kernel::parameters. Absent: zeros, which the caller replaces in what prepare() gives.
  std::optional<std::vector<uint8_t>> parameters = {};
};

/// The launch cannot be. The sentence says why; `help` what to do, where that is known.
class LaunchRefused : public std::runtime_error {
 public:
  enum class Reason : uint8_t {
    configuration,   // the grid or the block is none
    threads,         // the kernel was compiled for other blocks
    cluster,         // its size or shape
    dynamic_shared,  // more than is allowed
    resources,       // a CTA fits no SM
    cooperative,     // the grid does not fit the machine at once
    parameters,      // too few or too many bytes
  };
  LaunchRefused(Reason r, const std::string& why, std::string h = {})
      : std::runtime_error(why), reason(r), help(std::move(h)) {}
  const Reason reason;
  const std::string help;
};

/// What the machine runs. Throws LaunchRefused.
LaunchConfig prepare(const MachineSpec& spec, const Kernel& kernel, LaunchRequest request);

/// Threads that a CTA of the kernel may have.
uint32_t max_threads(const MachineSpec& spec, const Kernel& kernel);
/// CTAs that an SM can hold, 0 if it can't hold one.
uint32_t blocks_per_sm(const MachineSpec& spec, const Kernel& kernel, uint32_t threads, uint32_t dynamic_shared);
/// The same where an SM shall have so many bytes of shared memory, and more only if one CTA needs more.
uint32_t blocks_per_sm(const MachineSpec& spec, const Kernel& kernel, uint32_t threads, uint32_t dynamic_shared,
                       uint32_t preferred);
/// An SM splits its memory into shared memory and L1: the least split that has so many bytes of the former.
uint32_t shared_split(uint64_t bytes);
/// Clusters that can be resident at once, 0 if one doesn't fit.
uint32_t active_clusters(const MachineSpec& spec, const Kernel& kernel, uint32_t threads, uint32_t dynamic_shared,
                         uint32_t cluster_size);
/// x · y · z; the largest number if that passes 64 bits.
uint64_t volume(uint32_t x, uint32_t y, uint32_t z);

}  // namespace tinygpu::api
