// Test kernels of one shape: k(in, out) with registers ready, so that a test shows only the instructions it is about.
#pragma once
#include <string>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {

/// `body` may use %tid (thread index), %in and %out (buffers), %src and %dst (in and out plus 4 bytes per thread), and
/// free registers %r0-%r63, %rd0-%rd31, %h0-%h31, %q0-%q7, %f0-%f31, %fd0-%fd15, %p0-%p15. `outside` goes before the
/// kernel, `shared` bytes of shared memory are called smem.
inline std::string kernel(const std::string& body, int shared = 4096, const std::string& outside = {}) {
  return outside + R"(
.visible .entry k(.param .u64 pin, .param .u64 pout)
{
  .reg .b32 %r<64>, %t; .reg .b64 %rd<32>, %in, %out, %src, %dst, %t64; .reg .b16 %h<32>; .reg .b128 %q<8>;
  .reg .f32 %f<32>; .reg .f64 %fd<16>; .reg .pred %p<16>;
  .shared .align 1024 .b8 smem[)" +
         std::to_string(shared) + R"(];
  ld.param.u64 %in, [pin];
  ld.param.u64 %out, [pout];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %t64, %t, 4;
  add.s64 %src, %in, %t64;
  add.s64 %dst, %out, %t64;
)" + body +
         R"(
  ret;
}
)";
}

/// PTX: lanes for which `predicate` holds do `then`, the others `otherwise`; behind it all go on.
inline std::string branches(const std::string& predicate, const std::string& then, const std::string& otherwise) {
  return "  @" + predicate + " bra THEN;\n  " + otherwise + "\n  bra DONE;\nTHEN:\n  " + then + "\nDONE:\n";
}

/// Runs kernel(body) in one CTA of `threads` and returns the first `count` words of its output.
inline std::vector<uint32_t> run_kernel(RunPtx& run, uint32_t threads, size_t count,
                                        const std::vector<uint32_t>& in = {}) {
  const uint64_t from = in.empty() ? run.buffer<uint32_t>(4) : run.upload(in);
  const uint64_t to = run.buffer<uint32_t>(count);
  run.launch("k", {1}, {threads}, from, to);
  return run.download<uint32_t>(to, count);
}

inline std::vector<uint32_t> iota(uint32_t n, uint32_t first = 0) {
  std::vector<uint32_t> v(n);
  for (uint32_t i = 0; i < n; ++i) v[i] = first + i;
  return v;
}

}  // namespace tinygpu::test
