#include "tests/mma/program_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace gen5::test {

ProgramText::ProgramText(uint32_t ctas, const std::string& registers, uint32_t issuer) : ctas_(ctas) {
  t_ = R"(
.extern .shared .align 1024 .b8 image[];
.visible .entry program(.param .u64 data, .param .u32 data_bytes, .param .u64 out, .param .u32 out_bytes)
{
  .reg .pred %p, %other, %en, %done;
  .reg .b32 %t, %rank, %warp, %slot, %bars, %img, %base, %lanes, %addr, %tmp, %size;
  .reg .b32 %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7;
  .reg .b16 %both;
  .reg .b64 %data, %words, %out, %off, %start, %a, %b;
)" + registers +
       R"(
  .shared .align 8 .b64 barriers[4];
  .shared .align 4 .b32 allocated;
  mov.u32 %t, %tid.x;
  mov.b16 %both, 3;
  mov.u32 %rank, %ctaid.x;
  ld.param.u64 %data, [data];
  ld.param.u32 %size, [data_bytes];
  mad.wide.u32 %data, %rank, %size, %data;
  mul.wide.u32 %off, %t, 4;
  add.u64 %words, %data, %off;
  mul.wide.u32 %off, %t, 16;
  add.u64 %data, %data, %off;
  ld.param.u64 %out, [out];
  ld.param.u32 %size, [out_bytes];
  mad.wide.u32 %out, %rank, %size, %out;
  mul.wide.u32 %off, %t, 4;
  add.u64 %out, %out, %off;
)" + fmt::format("  xor.b32 %tmp, %rank, {};\n", issuer) +
       R"(  or.b32 %tmp, %t, %tmp;
  setp.ne.u32 %other, %tmp, 0;
  mov.u32 %slot, allocated;
  mov.u32 %bars, barriers;
  mov.u32 %img, image;
  and.b32 %tmp, %img, 0x3ffff;
  shr.u32 %tmp, %tmp, 4;
  cvt.u64.u32 %start, %tmp;
  shl.b32 %tmp, %t, 4;
  add.u32 %img, %img, %tmp;
  shr.u32 %warp, %t, 5;
  setp.ne.u32 %p, %warp, 0;
  @%p bra ALLOCATED;
  tcgen05.alloc.GROUP.sync.aligned.shared::cta.b32 [%slot], 512;
  tcgen05.relinquish_alloc_permit.GROUP.sync.aligned;
ALLOCATED:
  setp.ne.u32 %p, %t, 0;
  @%p bra INITIALISED;
)";
  for (uint32_t b = 0; b < kBarriers; ++b) t_ += fmt::format("mbarrier.init.shared::cta.b64 [%bars+{}], 1;\n", 8 * b);
  t_ += "INITIALISED:\n";
  if (ctas_ == 2) t_ += "fence.mbarrier_init.release.cluster;\n";
  meet();
  t_ += "ld.shared.b32 %base, [%slot];\nshl.b32 %lanes, %warp, 21;\nadd.u32 %lanes, %lanes, %base;\n";
}

void ProgramText::meet() {
  t_ += "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n";
  if (ctas_ == 2) t_ += "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  t_ += "tcgen05.fence::after_thread_sync;\n";
  touched_ = false;
  std::fill(seen_, seen_ + kBarriers, true);
}

void ProgramText::issue(const std::string& body) {
  if (touched_) meet();
  const uint32_t n = label();
  t_ += fmt::format("@%other bra SKIP{};\n{}SKIP{}:\n", n, body, n);
}

void ProgramText::commit(uint32_t barrier) {
  // A phase that ends before everybody has seen the last one would be missed.
  if (!seen_[barrier]) meet();
  issue(fmt::format("add.u32 %tmp, %bars, {};\ntcgen05.commit.GROUP.mbarrier::arrive::one.shared::cluster{}\n",
                    8 * barrier, ctas_ == 2 ? ".multicast::cluster.b64 [%tmp], %both;" : ".b64 [%tmp];"));
}

void ProgramText::wait(uint32_t barrier) {
  const uint32_t n = label();
  t_ += fmt::format(
      "WAIT{}:\nmbarrier.try_wait.parity.shared::cta.b64 %done, [%bars+{}], {};\n@!%done bra WAIT{};\n"
      "tcgen05.fence::after_thread_sync;\n",
      n, 8 * barrier, phases_[barrier]++ & 1, n);
  seen_[barrier] = false;
}

std::string ProgramText::module() {
  meet();
  t_ += "setp.ne.u32 %p, %warp, 0;\n@%p bra OUT;\ntcgen05.dealloc.GROUP.sync.aligned.b32 %base, 512;\nOUT:\nret;\n}\n";
  const std::string group = ctas_ == 2 ? "cta_group::2" : "cta_group::1";
  for (size_t at; (at = t_.find("GROUP")) != std::string::npos;) t_.replace(at, 5, group);
  return t_;
}

uint32_t program_count(uint32_t otherwise) {
  const char* n = std::getenv("GEN5_MMA_PROGRAMS");
  return n ? uint32_t(std::strtoul(n, nullptr, 10)) : otherwise;
}

}  // namespace gen5::test
