// How fast the interpreter runs dependent scalar instructions, and accesses to shared and global memory: 8 warps of one
// CTA, or as many as it can have, one host core.
#include <benchmark/benchmark.h>

#include <sstream>

#include "tests/support/run_ptx.h"

namespace {

constexpr int kUnrolled = 64, kRounds = 4096;

/// A loop of kUnrolled dependent copies of `instruction` on %x. %s, %v: the thread's word, and its 16 bytes, of shared
/// memory; %g, %gv: of global memory. `behind`: what is run after the loop.
std::string loop_of(const std::string& instruction, const std::string& reg_type, const std::string& behind) {
  std::ostringstream s;
  s << ".visible .entry k(.param .u64 out)\n{\n  .shared .align 16 .b8 smem[4096];\n  .reg ." << reg_type
    << " %x, %a, %b;\n  .reg .b32 %i, %t, %s, %v;\n  .reg .b64 %p, %g, %gv;\n  .reg .pred %q;\n"
    << "  mov.u32 %t, %tid.x;\n  mov." << reg_type << " %x, 0;\n  mov." << reg_type << " %a, 1065353216;\n  mov."
    << reg_type << " %b, 1065353217;\n  mov.u32 %i, 0;\n"
    << "  mov.u32 %s, smem;\n  mad.lo.u32 %v, %t, 16, %s;\n  mad.lo.u32 %s, %t, 4, %s;\n"
    << "  ld.param.u64 %p, [out];\n  mad.wide.u32 %g, %t, 4, %p;\n  mad.wide.u32 %gv, %t, 16, %p;\nLOOP:\n";
  for (int i = 0; i < kUnrolled; ++i) s << "  " << instruction << "\n";
  s << "  add.s32 %i, %i, 1;\n  setp.lt.s32 %q, %i, " << kRounds << ";\n  @%q bra LOOP;\n"
    << behind << "  mad.wide.u32 %p, %t, 8, %p;\n  st.global." << reg_type << " [%p], %x;\n  ret;\n}\n";
  return s.str();
}

void run(benchmark::State& state, const std::string& instruction, const std::string& reg_type = "b32",
         const std::string& behind = "", uint32_t warps = 8) {
  tinygpu::test::RunPtx machine(loop_of(instruction, reg_type, behind));
  const uint64_t out = machine.buffer<uint64_t>(warps * 32 * 2);
  tinygpu::LaunchStats stats;
  for (auto _ : state) stats = machine.launch("k", tinygpu::Dim3{1, 1, 1}, tinygpu::Dim3{warps * 32, 1, 1}, out);
  state.counters["cycles"] = double(stats.cycles);  // of the model: no business of the host's speed
  const double warp_instructions = double(state.iterations()) * kUnrolled * kRounds * warps;
  state.counters["lane_instructions/s"] = benchmark::Counter(warp_instructions * 32, benchmark::Counter::kIsRate);
  state.counters["warp_instructions/s"] = benchmark::Counter(warp_instructions, benchmark::Counter::kIsRate);
}

#define BENCH(name, ...) \
  BENCHMARK_CAPTURE(run, name, __VA_ARGS__)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()
BENCH(add_s32, "add.s32 %x, %x, %a;");
BENCH(add_s32_of_32_warps, "add.s32 %x, %x, %a;", "b32", "", 32);
BENCH(fma_rn_f32, "fma.rn.f32 %x, %x, %a, %b;");
BENCH(mad_lo_s32, "mad.lo.s32 %x, %x, %a, %b;");
BENCH(lop3_b32, "lop3.b32 %x, %x, %a, %b, 0x96;");
BENCH(add_s64, "add.s64 %x, %x, %a;", "b64");
BENCH(fma_rn_ftz_f32, "fma.rn.ftz.f32 %x, %x, %a, %b;");
BENCH(fma_rm_f32, "fma.rm.f32 %x, %x, %a, %b;");
BENCH(fma_rn_f16x2, "fma.rn.f16x2 %x, %x, %a, %b;");
BENCH(fma_rn_bf16x2, "fma.rn.bf16x2 %x, %x, %a, %b;");
BENCH(add_f16x2, "add.f16x2 %x, %x, %a;");
BENCH(mul_bf16x2, "mul.bf16x2 %x, %x, %a;");
BENCH(fma_rn_relu_bf16x2, "fma.rn.relu.bf16x2 %x, %x, %a, %b;");
BENCH(fma_rn_f32x2, "fma.rn.f32x2 %x, %x, %a, %b;", "b64");
BENCH(ex2_approx_f32, "ex2.approx.f32 %x, %x;");
BENCH(div_rn_f32, "div.rn.f32 %x, %x, %a;");
BENCH(cvt_rn_bf16x2_f32, "cvt.rn.bf16x2.f32 %x, %x, %a;");
BENCH(cvt_rn_satfinite_e4m3x2_f32, "{ .reg .b16 t; cvt.rn.satfinite.e4m3x2.f32 t, %x, %a; mov.b32 %x, {t, t}; }");
BENCH(setp_selp, "{ .reg .pred p; setp.lt.s32 p, %x, %a; selp.b32 %x, %a, %b, p; }");
BENCH(st_shared_b32, "st.shared.b32 [%s], %x;");
BENCH(st_shared_strided, "st.shared.b32 [%v], %x;");
BENCH(st_shared_v4, "st.shared.v4.b32 [%v], {%x, %a, %b, %x};");
BENCH(ld_shared_b32, "ld.shared.b32 %x, [%s];");
BENCH(ld_shared_v4, "ld.shared.v4.b32 {%x, %a, %b, %x}, [%v];");
BENCH(ld_shared_strided, "ld.shared.b32 %x, [%v];");
BENCH(ld_shared_broadcast, "ld.shared.b32 %x, [smem];");
// The kernel has a bulk copy that reads shared memory (which is not reached), so stores are followed.
BENCH(st_shared_b32_followed, "st.shared.b32 [%s], %x;", "b32",
      "  @%q cp.async.bulk.global.shared::cta.bulk_group [%p], [%s], 16;\n");
BENCH(st_global_b32, "st.global.b32 [%g], %x;");
BENCH(st_global_v4, "st.global.v4.b32 [%gv], {%x, %a, %b, %x};");
BENCH(ld_global_b32, "ld.global.b32 %x, [%g];");
BENCH(ld_global_v4, "ld.global.v4.b32 {%x, %a, %b, %x}, [%gv];");

}  // namespace

BENCHMARK_MAIN();
