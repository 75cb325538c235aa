// Kernels around the forms of tcgen05: columns are allocated, addresses and descriptors are valid, a commit waits for
// what is asynchronous.
#include <fmt/format.h>

#include "tests/isa_forms/form_kernel.h"

namespace tinygpu::test {
namespace {

bool form_has(const std::string& f, const char* what) { return f.find(what) != std::string::npos; }

/// An instruction descriptor of the kind that the form names (PTX ISA 9.7.16.4.2): the smallest shape that it takes.
uint32_t instruction_descriptor(const std::string& f) {
  const bool pair = form_has(f, "cta_group::2"), stationary = form_has(f, ".ws");
  const uint32_t m = pair ? 256 : 128, n = stationary ? 64 : 32, sparse = uint32_t(form_has(f, ".sp")) << 2;
  const auto is = [&](const char* kind) {
    return form_has(f, (std::string("kind::") + kind + ".").c_str()) ||
           form_has(f, (std::string("kind::") + kind + " ").c_str());
  };
  if (form_has(f, "block_scale")) {
    const uint32_t element = is("mxf8f6f4") ? 0 : 1u << 7 | 1u << 10;
    // Four scale factors a row are ue4m3, fewer ue8m0.
    const bool fine = is("mxf4nvf4") && (form_has(f, "scale_vec::4X") || form_has(f, "block16"));
    return sparse | element | (n / 8) << 17 | uint32_t(!fine) << 23 | (m / 128) << 27;
  }
  const uint32_t types = is("i8") ? 2u << 4 | 1u << 7 | 1u << 10 : is("tf32") ? 1u << 4 | 2u << 7 | 2u << 10 : 1u << 4;
  return sparse | types | (n / 8) << 17 | (m / 16) << 24;
}

uint32_t columns_of(const std::string& f) {
  if (!form_has(f, "tcgen05.dealloc")) return 512;
  return form_has(f, "96") ? 128 : form_has(f, "32;") ? 32 : 512;
}

}  // namespace

std::string tensor_form_kernel(const std::string& name, const std::string& f) {
  const int group = form_has(f, "cta_group::2") ? 2 : 1;
  const bool alloc = form_has(f, "tcgen05.alloc"), dealloc = form_has(f, "tcgen05.dealloc"),
             mma = form_has(f, "tcgen05.mma");
  const bool queue = mma || form_has(f, "tcgen05.cp") || form_has(f, "tcgen05.shift"),
             commit = form_has(f, "tcgen05.commit");
  const uint32_t columns = columns_of(f);
  std::string s = ".visible .entry " + name + R"((.param .align 64 .b8 kparam[128], .param .u64 pout)
{
  .reg .b32 %r<340>, %out32, %rank, %thread, %base, %bar; .reg .b64 %rd<32>, %out; .reg .pred %p<16>, %issues, %done;
  .reg .b16 %h<32>; .reg .f32 %f<16>; .shared .align 1024 .b8 smem[40960];
  .shared .align 8 .b64 bar; .shared .align 16 .b64 other[2];
  mov.u32 %r0, smem; mov.u64 %rd0, smem; cvta.shared.u64 %rd0, %rd0;
  mov.u32 %rank, %cluster_ctarank; mov.u32 %thread, %tid.x; ld.param.u64 %out, [pout];
  setp.eq.u32 %p0, %r0, %r0; mov.pred %p1, %p0; mov.pred %p2, %p0;
  mov.u32 %bar, bar; mbarrier.init.shared.b64 [%bar], 1;
  mov.u32 %base, other; mbarrier.init.shared.b64 [%base], 1000; mbarrier.init.shared.b64 [%base+8], 1000; fence.mbarrier_init.release.cluster;
  shr.u32 %r10, %r0, 4; cvt.u64.u32 %rd1, %r10;
  mov.u64 %rd23, 0x4000400800800000; or.b64 %rd23, %rd23, %rd1;
  mov.b64 %rd20, %rd23; mov.b64 %rd21, %rd23; mov.b64 %rd3, %rd23; mov.b64 %rd4, %rd23; mov.b64 %rd22, 0; mov.b64 %rd5, 0;
)";
  const std::string sync = group == 2 ? "  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n" : "";
  if (!alloc)
    s += fmt::format(
        "  tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32 [%r0], {};\n  ld.shared.b32 %base, [%r0];\n", group,
        columns);
  s += "  mov.u32 %r2, %base; mov.u32 %r106, %base; mov.u32 %r1, 64; mov.u32 %r101, %base;\n";
  if (dealloc) s += fmt::format("  mov.u32 %r1, {};\n", columns);
  if (mma) {
    for (const char* line :
         {"%r102, 128", "%r4, 128", "%r103, 256", "%r104, 320", "%r105, 352", "%r6, 320", "%r7, 352"}) {
      const std::string text = line;
      const size_t comma = text.find(',');
      s += "  add.u32 " + text.substr(0, comma) + ", %base" + text.substr(comma) + ";\n";
    }
    for (const char* idesc : {"%r100", "%r8"})
      s += fmt::format("  mov.u32 {}, {};\n", idesc, instruction_descriptor(f));
    for (int i = 110; i < 118; ++i) s += fmt::format("  mov.u32 %r{}, 0;\n", i);
    for (int i = 30; i < 33; ++i) s += fmt::format("  mov.u32 %r{}, 0;\n", i);
  }
  // Operands, and what becomes metadata and scale factors: bytes of 0x44, which mean something as each of them.
  if (mma)
    s +=
        "  shl.b32 %r11, %thread, 4; add.u32 %r11, %r0, %r11; add.u32 %r12, %r0, 40960; mov.b32 %r13, 0x44444444;\n"
        "FILL:\n  st.shared.v4.b32 [%r11], {%r13,%r13,%r13,%r13}; add.u32 %r11, %r11, 512;\n"
        "  setp.lt.u32 %done, %r11, %r12;\n  @%done bra FILL;\n  fence.proxy.async.shared::cta;\n  bar.warp.sync -1;\n";
  s += sync;
  if (queue || commit) {
    // One thread of one CTA issues.
    s += "  or.b32 %r12, %rank, %thread; setp.eq.u32 %issues, %r12, 0;\n";
    if (commit) s += "  mov.u32 %r0, other; mov.u64 %rd0, other; cvta.shared.u64 %rd0, %rd0; mov.b16 %h1, 1;\n";
    s += "  @!%issues bra WAITED;\n";
    // Columns 256 to 383 of all partitions, in order before the MMA.
    if (form_has(f, ".sp") || form_has(f, "block_scale"))
      s += fmt::format(
          "  mov.u64 %rd24, 0x0000400800080000; or.b64 %rd24, %rd24, %rd1; add.u32 %r330, %base, 256; add.u32 %r331, "
          "%base, 384;\n"
          "COPY:\n  "
          "tcgen05.cp.cta_group::{}.32x128b.warpx4 [%r330], %rd24;\n  "
          "add.u32 %r330, %r330, 4; setp.lt.u32 %done, %r330, %r331;\n  "
          "@%done bra COPY;\n",
          group);
    s +=
        "  " + f +
        fmt::format("\n  tcgen05.commit.cta_group::{}.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n", group) +
        "LOOP:\n  mbarrier.try_wait.parity.shared.b64 %done, [%bar], 0;\n  @!%done bra LOOP;\nWAITED:\n  bar.warp.sync "
        "-1;\n  mov.u32 %r0, smem;\n" +
        sync;
  } else {
    s += "  " + f + "\n";
  }
  s += "  tcgen05.wait::ld.sync.aligned; tcgen05.wait::st.sync.aligned;\n";
  if (alloc) {
    const size_t space = f.rfind(' ');
    s += "  ld.shared.b32 %r2, [%r0];\n" + sync +
         fmt::format("  tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %r2, {}\n", group, f.substr(space + 1));
  } else if (!dealloc) {
    s += fmt::format("  tcgen05.dealloc.cta_group::{}.sync.aligned.b32 %base, {};\n", group, columns);
  }
  return s + sync +
         "  mul.wide.u32 %rd1, %rank, 64; add.u64 %out, %out, %rd1; setp.eq.u32 %issues, %thread, 0;\n"
         "  @%issues st.global.u32 [%out], 1;\n  ret;\n}\n";
}

}  // namespace tinygpu::test
