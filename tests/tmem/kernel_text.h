// PTX of test kernels around a body that uses Tensor Memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tinygpu::test {

/// A kernel `k(.param .u64 in, .param .u64 out)` that allocates Tensor Memory in warp 0, runs `body` in every warp and
/// frees. The body finds: %t thread, %w warp, %l lane of the thread, %base the allocation's address, %mine the same
/// with the warp's first lane in the lane field, %in and %out, registers %r0..%r255, %a0..%a15, %p0..%p7, %rd0..%rd15.
struct TmemKernel {
  uint32_t columns = 512;
  int cta_group = 1;
  bool free = true;
  uint32_t shared = 16;  // bytes of `smem`, aligned to 1024
  std::string before;    // runs in front of the allocation
  std::string body;
  std::string text() const;
};

/// "{%r<first>, …}" of n registers.
std::string registers(uint32_t first, uint32_t n, const std::string& name = "%r");

/// "tcgen05.ld…{%r<first>…}, [address]" for the form; `offset` is 16x32bx2's immHalfSplitoff.
std::string ld(const std::string& form, uint32_t registers, const std::string& address, uint32_t first = 0,
               const std::string& offset = "0");
std::string st(const std::string& form, uint32_t registers, const std::string& address, uint32_t first = 0,
               const std::string& offset = "0");

/// Writes every cell of the warp's 32 lanes and 512 columns with fill_value, waited.
std::string fill_all();
/// What fill_all puts into a cell: both halves tell the cell apart.
constexpr uint32_t fill_value(uint32_t lane, uint32_t column) {
  const uint32_t id = lane << 9 | column;
  return id | (id ^ 0x5a5a) << 16;
}

/// Stores n registers from %r<first> on at out + 4 * ((%t * stride + at) …), consecutive.
std::string store_registers(uint32_t first, uint32_t n, uint32_t stride, uint32_t at = 0);

}  // namespace tinygpu::test
