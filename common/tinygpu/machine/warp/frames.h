// What the calls of a warp's lanes stand in: its register file, and local memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/tinygpu/base/aligned.h"
#include "common/tinygpu/program/program.h"

namespace tinygpu {

class Warp;
struct Group;

inline constexpr uint32_t kLocalLimit = 512 * 1024;  // bytes per thread (CUDA: at most 512 KiB of local memory)

/// Host memory for both is taken from the launch, and given back in the end.
class Frames {
 public:
  explicit Frames(const Warp& warp) : warp_(warp), local_(32) {}
  ~Frames();
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  /// The register file; it moves when it grows.
  uint8_t* registers() { return file_.data(); }
  const AlignedBytes& file() const { return file_; }
  /// At least `bytes` of registers. Throws "stack-overflow" when the host has no more, as local() does.
  void ensure_registers(size_t bytes);
  /// Local memory of a lane of group `g`, grown on demand. Throws "stack-overflow" past 512 KiB.
  uint8_t* local(const Group& g, uint32_t lane, uint32_t offset, uint32_t size);
  /// Fills the slots that hold constants in the frame of `f` at `base`, for the lanes `mask`.
  void write_constants(const Function& f, uint32_t base, uint32_t local_base, uint32_t mask);

 private:
  void take_memory(size_t bytes);
  /// Where the kernel has a shared variable that one of its functions names.
  uint32_t shared_offset(const ptx::Variable& v) const;
  const Warp& warp_;
  AlignedBytes file_;
  std::vector<std::vector<uint8_t>> local_;
  size_t taken_ = 0;
};

}  // namespace tinygpu
