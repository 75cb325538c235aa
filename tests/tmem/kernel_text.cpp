#include "tests/tmem/kernel_text.h"

#include <fmt/format.h>

namespace tinygpu::test {

std::string TmemKernel::text() const {
  std::string s = fmt::format(R"(
.visible .entry k(.param .u64 in, .param .u64 out)
{{
  .reg .pred %p<8>, %first;
  .reg .b32 %r<256>, %a<16>, %t, %w, %l, %base, %mine, %slot, %fill;
  .reg .b64 %rd<16>, %in, %out, %at;
  .shared .align 1024 .b8 smem[{}];
  .shared .align 16 .b32 slot;
  ld.param.u64 %in, [in]; ld.param.u64 %out, [out];
  mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; and.b32 %l, %t, 31;
  setp.eq.u32 %first, %w, 0;
  mov.u32 %slot, slot;
{})",
                              shared, before);
  s += fmt::format("  @%first tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32 [%slot], {};\n", cta_group,
                   columns);
  s += "  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n";
  s += "  ld.shared.b32 %base, [%slot]; and.b32 %mine, %w, 3; shl.b32 %mine, %mine, 21; add.u32 %mine, %mine, %base;\n";
  s += body;
  if (free)
    s += fmt::format(
        "\n  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n"
        "  @%first tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %base, {};\n",
        cta_group, columns);
  s += "  ret;\n}\n";
  return s;
}

std::string registers(uint32_t first, uint32_t n, const std::string& name) {
  std::string s = "{";
  for (uint32_t i = 0; i < n; ++i) s += fmt::format("{}{}{}", i ? "," : "", name, first + i);
  return s + "}";
}

std::string ld(const std::string& form, uint32_t n, const std::string& address, uint32_t first,
               const std::string& offset) {
  return fmt::format("  tcgen05.ld.sync.aligned.{}.b32 {}, [{}]{};\n", form, registers(first, n), address,
                     form.starts_with("16x32bx2") ? ", " + offset : "");
}

std::string st(const std::string& form, uint32_t n, const std::string& address, uint32_t first,
               const std::string& offset) {
  return fmt::format("  tcgen05.st.sync.aligned.{}.b32 [{}]{}, {};\n", form, address,
                     form.starts_with("16x32bx2") ? ", " + offset : "", registers(first, n));
}

std::string fill_all() {
  std::string s = "  and.b32 %fill, %t, 127; shl.b32 %fill, %fill, 9;\n";
  for (uint32_t c = 0; c < 512; c += 32) {
    for (uint32_t i = 0; i < 32; ++i)
      s += fmt::format(
          "  add.u32 %a0, %fill, {}; xor.b32 %a1, %a0, 0x5a5a; shl.b32 %a1, %a1, 16; or.b32 %r{}, %a0, %a1;\n", c + i,
          i);
    s += st("32x32b.x32", 32, fmt::format("%mine+{}", c));
  }
  return s + "  tcgen05.wait::st.sync.aligned;\n";
}

std::string store_registers(uint32_t first, uint32_t n, uint32_t stride, uint32_t at) {
  std::string s =
      fmt::format("  mad.lo.u32 %a0, %t, {}, {}; mul.wide.u32 %at, %a0, 4; add.u64 %at, %at, %out;\n", stride, at);
  for (uint32_t i = 0; i < n; ++i) s += fmt::format("  st.global.b32 [%at+{}], %r{};\n", 4 * i, first + i);
  return s;
}

}  // namespace tinygpu::test
