#include "tests/isa_forms/form_kernel.h"

#include <cctype>

namespace tinygpu::test {
namespace {

bool begins(const std::string& s, const char* with) { return s.rfind(with, 0) == 0; }
bool has(const std::string& s, const char* what) { return s.find(what) != std::string::npos; }

bool is_tensor(const std::string& f) { return begins(f, "cp.") && has(f, ".tensor."); }

/// The entry of the table of maps that the form needs.
int map_of(const std::string& f) {
  const size_t at = f.find("d.");
  int rank = 2;
  for (size_t i = at; i != std::string::npos; i = f.find("d.", i + 1))
    if (i > 1 && f[i - 2] == '.' && std::isdigit(static_cast<unsigned char>(f[i - 1]))) {
      rank = f[i - 1] - '0';
      break;
    }
  if (has(f, "gather4") || has(f, "scatter4")) return map_gather;
  return (has(f, "im2col::w") ? int(map_wide) : has(f, "im2col") ? int(map_im2col) : int(map_tile)) + rank - 1;
}

/// What the form's registers hold, as PTX. Ready for use: %data, %maps (generic addresses), %own and %peer (shared
/// addresses of smem here and in the other CTA), %gown and %gpeer (the same, generic). The mbarrier lies at smem, a
/// second one 8 bytes on; data from smem + 1024 on.
std::string operands(const std::string& f) {
  if (begins(f, "mbarrier.") || begins(f, "cp.async.mbarrier")) {
    std::string s = "mov.b32 %r0, %own; mov.b64 %rd0, %gown; mov.b32 %r2, 100;\n";
    s += begins(f, "mbarrier.test_wait") || begins(f, "mbarrier.try_wait") ? "mov.b32 %r1, 0;\n" : "mov.b32 %r1, 16;\n";
    if (has(f, "_wait") || has(f, "pending_count")) s += "mbarrier.arrive.noComplete.shared.b64 %rd1, [%own], 1;\n";
    return s;
  }
  const std::string copy =
      "add.u32 %r0, %own, 1024; mov.b32 %r6, %own; add.u32 %r1, %own, 4096; mov.b32 %r5, 64;\n"
      "mov.b16 %h1, 3; mov.b16 %h2, 0x5555; mov.b64 %rd9, 0;\n";
  if (is_tensor(f)) {
    std::string s = copy + "add.u64 %rd0, %maps, " + std::to_string(128 * map_of(f)) + ";\n";
    for (int i = 10; i < 15; ++i) s += "mov.b32 %r" + std::to_string(i) + ", 0;\n";
    for (int i = 10; i < 13; ++i) s += "mov.b16 %h" + std::to_string(i) + ", 0;\n";
    return s;
  }
  if (begins(f, "cp.")) {
    std::string s = copy + "mov.b64 %rd0, %data; mov.b64 %rd1, %data;\n";
    if (has(f, "shared::cluster.shared::cta")) s += "add.u32 %r0, %peer, 1024; mov.b32 %r6, %peer;\n";
    return s;
  }
  if (begins(f, "tensormap.replace"))
    return "mov.b64 %rd0, %data; add.u32 %r0, %own, 1024; mov.b32 %r1, 2; mov.b64 %rd1, 64;\n";
  if (begins(f, "tensormap.cp_fenceproxy")) return "mov.b64 %rd0, %data; add.u32 %r1, %own, 1024;\n";
  if (begins(f, "prefetch") || begins(f, "fence.proxy.tensormap")) return "mov.b64 %rd0, %maps;\n";
  if (begins(f, "createpolicy")) return "mov.b64 %rd0, %data; mov.b32 %r1, 4096; mov.b32 %r2, 8192;\n";
  if (begins(f, "st.async") || begins(f, "red.async")) {
    if (has(f, ".release")) return "mov.b64 %rd0, %data;\n";
    return "add.u32 %r0, %peer, 1024; mov.b32 %r6, %peer; add.u64 %rd0, %gpeer, 1024; mov.b64 %rd6, %gpeer;\n";
  }
  if (begins(f, "st.bulk")) return "add.u32 %r0, %own, 1024; add.u64 %rd0, %gown, 1024; mov.b64 %rd1, 4096;\n";
  if (begins(f, "mapa") || begins(f, "getctarank")) return "mov.b32 %r0, %own; mov.b64 %rd0, %gown; mov.b32 %r2, 1;\n";
  if (begins(f, "clusterlaunchcontrol.try"))
    return "add.u32 %r0, %own, 1024; mov.b32 %r1, %own; add.u64 %rd0, %gown, 1024; mov.b64 %rd1, %gown;\n";
  if (begins(f, "elect")) return "mov.b32 %r2, 0xffffffff;\n";
  if (begins(f, "ldmatrix") || begins(f, "stmatrix"))
    return "mov.u32 %r0, %tid.x; shl.b32 %r0, %r0, 4; add.u32 %r0, %r0, %own; add.u32 %r0, %r0, 1024;\n"
           "cvt.u64.u32 %rd1, %r0; sub.u32 %r1, %r0, %own; cvt.u64.u32 %rd1, %r1; add.u64 %rd0, %gown, %rd1;\n";
  if (begins(f, "ld.") || begins(f, "st.global")) return "mov.b64 %rd0, %data; add.u32 %r0, %own, 1024;\n";
  return {};
}

}  // namespace

int group_of(const std::string& f) {
  if (has(f, "tcgen05.mma")) return 5;
  if (has(f, "tcgen05.cp") || has(f, "tcgen05.shift")) return 3;
  if (has(f, "tcgen05.ld") || has(f, "tcgen05.st") || has(f, "tcgen05.wait")) return 2;
  if (has(f, "tcgen05.commit") || has(f, "tcgen05.fence") || begins(f, "fence") || begins(f, "membar")) return 6;
  if (has(f, "tcgen05")) return 1;
  if (begins(f, "mbarrier") || begins(f, "cp.async.mbarrier")) return 7;
  for (const char* p : {"cp.async.bulk", "cp.reduce.async.bulk", "tensormap", "prefetch", "createpolicy"})
    if (begins(f, p)) return 8;
  return 9;
}

bool is_tensor_form(const std::string& f) { return has(f, "tcgen05") && !has(f, "tcgen05.fence"); }

bool counts_bytes(const std::string& f) { return group_of(f) == 8 && has(f, "complete_tx") && !has(f, "], 0, ["); }

unsigned threads_of(const std::string& f) { return begins(f, "setmaxnreg") ? 128 : 32; }

std::string form_kernel(const std::string& name, const std::string& f) {
  std::string s = ".visible .entry " + name +
                  R"((.param .align 64 .b8 kparam[128], .param .u64 pmaps, .param .u64 pdata, .param .u64 pout)
{
  .reg .b32 %r<340>; .reg .b64 %rd<32>; .reg .pred %p<16>; .reg .b16 %h<32>; .reg .b16 %rs<16>;
  .reg .f32 %f<16>; .reg .f64 %fd<16>; .reg .b128 %q<8>; .reg .b8 %b<8>;
  .reg .b64 %maps, %data, %out, %gown, %gpeer; .reg .b32 %own, %peer; .reg .pred %first;
  .shared .align 1024 .b8 smem[12288];
  ld.param.u64 %maps, [pmaps]; ld.param.u64 %data, [pdata]; ld.param.u64 %out, [pout];
  mov.u32 %own, smem;
  mov.u32 %r1, %cluster_ctarank; mul.wide.u32 %rd1, %r1, 64; add.u64 %out, %out, %rd1;
  xor.b32 %r1, %r1, 1; mapa.shared::cluster.u32 %peer, %own, %r1;
  cvt.u64.u32 %gown, %own; cvta.shared::cluster.u64 %gown, %gown;
  cvt.u64.u32 %gpeer, %peer; cvta.shared::cluster.u64 %gpeer, %gpeer;
  mov.u32 %r1, %tid.x; setp.eq.u32 %first, %r1, 0;
)";
  // A barrier that nothing here completes. Forms of init and of cluster barriers find theirs untouched.
  if (!begins(f, "mbarrier.init"))
    s += "  @%first mbarrier.init.shared.b64 [%own], 1000000;\n  @%first mbarrier.init.shared.b64 [%own+8], 1000000;\n";
  s += "  fence.mbarrier_init.release.cluster; barrier.cluster.arrive; barrier.cluster.wait;\n";
  if (begins(f, "barrier.cluster.wait")) s += "  barrier.cluster.arrive;\n";
  s += "  " + operands(f) + "\n  " + f + "\n";
  if (begins(f, "barrier.cluster.arrive")) s += "  barrier.cluster.wait;\n";
  s += "  @%first st.global.u32 [%out], 1;\n  nanosleep.u32 200000;\n  barrier.cluster.arrive; barrier.cluster.wait;\n";
  if (counts_bytes(f))
    s += "  @%first mbarrier.inval.shared.b64 [%own];\n  @%first ld.shared.u64 %rd1, [%own];\n  @%first st.global.u64 "
         "[%out+8], %rd1;\n";
  return s + "  ret;\n}\n";
}

}  // namespace tinygpu::test
