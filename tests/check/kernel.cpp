#include "tests/check/kernel.h"

namespace tinygpu::test {

std::string Kernel::text() const {
  const char* const take = tensor ? R"(
  .shared .align 4 .b32 slot; .reg .b32 %base, %mine, %idesc; .reg .b64 %desc;
  mov.u32 %r0, slot;
  @%p10 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 128;
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
  ld.shared.b32 %base, [slot]; and.b32 %mine, %w, 3; shl.b32 %mine, %mine, 21; add.u32 %mine, %mine, %base;
  shr.u32 %r0, %s, 4; cvt.u64.u32 %desc, %r0; or.b64 %desc, %desc, 0x0000401000080000; mov.u32 %idesc, 0x08040010;
)"
                                  : "";
  const char* const give = tensor ? R"(
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
  @%p10 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 128;
)"
                                  : "";
  return std::string(R"(
.visible .entry k(.param .u64 in, .param .u64 out, .param .u64 maps) {
  .shared .align 1024 .b8 smem[16384];
  .shared .align 8 .b64 bars[8];
  .reg .b32 %r<16>, %s, %b, %t, %w, %l, %k; .reg .b64 %i, %o, %m, %rd<8>; .reg .pred %p<16>;
  ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; ld.param.u64 %m, [maps]; mov.u32 %t, %tid.x; mov.u32 %s, smem; mov.u32 %b, bars;
  shr.u32 %w, %t, 5; and.b32 %l, %t, 31; mov.u32 %k, %cluster_ctarank;
  setp.eq.u32 %p8, %t, 0; setp.eq.u32 %p9, %l, 0; setp.eq.u32 %p10, %w, 0; setp.eq.u32 %p11, %w, 1;
  setp.eq.u32 %p12, 0, 0; setp.ne.u32 %p13, 0, 0;
  @%p8 mbarrier.init.shared.b64 [%b], 1; @%p8 mbarrier.init.shared.b64 [%b+8], 1;
  @%p8 mbarrier.init.shared.b64 [%b+16], 1; @%p8 mbarrier.init.shared.b64 [%b+24], 1;
  @%p8 mbarrier.init.shared.b64 [%b+32], 32; @%p8 mbarrier.init.shared.b64 [%b+40], 32;
  @%p8 mbarrier.init.shared.b64 [%b+48], 32; @%p8 mbarrier.init.shared.b64 [%b+56], 32;
  @%p8 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
)") + take +
         body + give + R"(
  barrier.cluster.arrive; barrier.cluster.wait;
  ret;
}
)";
}

std::vector<Diagnosis> Kernel::diagnoses() const { return run(checks::Level::races, nullptr); }

std::vector<Diagnosis> Kernel::outcome(checks::Level level) const {
  std::vector<Diagnosis> stopped, all = run(level, &stopped);
  all.insert(all.end(), stopped.begin(), stopped.end());
  return all;
}

std::vector<Diagnosis> Kernel::run(checks::Level level, std::vector<Diagnosis>* stopped) const {
  const std::string whole = change ? change(text()) : text();
  RunPtx run(hopper ? ptx_header("sm_90a", "8.6") + whole : whole, hopper ? hopper_machine() : plain_machine());
  run.checks = checks::AllChecks(level);
  run.gpu.options.order = order;
  run.gpu.options.observers = observers;
  run.gpu.options.threads = 1;  // kernels that race shall not make host threads race
  run.cluster = {ctas, 1, 1};
  const uint64_t in = run.upload(std::vector<uint32_t>(4096, 5)), out = run.upload(std::vector<uint32_t>(4096));
  std::vector<MapObject> objects(1);
  for (MapFields f : maps) {
    f.address = in;
    objects.insert(objects.end() - 1, make_map(f));
  }
  try {
    run.launch("k", {ctas * clusters, 1, 1}, {threads, 1, 1}, in, out, run.upload(objects));
  } catch (const KernelFault& f) {
    if (!stopped) throw;
    stopped->push_back(f.diagnosis);
  }
  return run.reports;
}

std::vector<std::string> Kernel::findings() const {
  std::vector<std::string> all;
  for (const Diagnosis& d : diagnoses()) {
    if (d.severity == Severity::note && (d.code == "race-check-incomplete" || d.message.starts_with("…"))) continue;
    if (!unwritten && d.code.ends_with("-uninitialised")) continue;
    all.push_back(race(d.code, d.where.ptx_text, d.others.empty() ? "" : d.others[0].where.ptx_text));
  }
  return all;
}

std::string race(const std::string& code, const std::string& later, const std::string& earlier) {
  const auto bare = [](std::string s) {
    if (s.starts_with("@")) s.erase(0, s.find(' ') + 1);
    if (s.ends_with(";")) s.pop_back();
    return s;
  };
  std::string a = bare(later), b = bare(earlier);
  if (code == "data-race" && b < a) std::swap(a, b);
  return b.empty() ? code + ": " + a : code + ": " + a + " <- " + b;
}

std::string wait(const std::string& guard, int offset, int parity, const std::string& form) {
  static int label = 0;
  const std::string l = fmt::format("WAIT{}", ++label);
  return fmt::format(
      "  @!{} bra {}D;\n{}: mbarrier.try_wait.parity{}.shared::cta.b64 %p0, [%b+{}], {};\n  @!%p0 bra {};\n{}D:\n",
      guard, l, l, form, offset, parity, l, l);
}

std::vector<std::string> found_in_all_orders(Kernel k) {
  std::vector<std::string> first;
  for (const auto mode : {CompletionOrder::Mode::timed, CompletionOrder::Mode::late, CompletionOrder::Mode::seeded}) {
    k.order = {mode, 3};
    const auto now = k.findings();
    if (mode == CompletionOrder::Mode::timed)
      first = now;
    else
      EXPECT_EQ(now.size(), first.size()) << "in another order";
  }
  return first;
}

}  // namespace tinygpu::test
