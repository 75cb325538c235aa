// The PTX of a program.
#include <algorithm>

#include "tests/conformance/wgmma_programs/machine.h"

namespace conformance::wgmma_programs {
namespace {

using What = Op::What;
std::string s(uint64_t n) { return std::to_string(n); }

class Emitter {
 public:
  explicit Emitter(const Program& p) : p_(p) {}

  std::string text() {
    t_ = ".version 8.6\n.target sm_90a\n.address_size 64\n"
         ".func (.param .b32 r) twist(.param .b32 x)\n{\n.reg .b32 %x;\nld.param.b32 %x, [x];\n"
         "mad.lo.u32 %x, %x, 1664525, 1013904223;\nst.param.b32 [r], %x;\nret;\n}\n"
         ".visible .entry k(.param .u64 data, .param .u64 out)\n{\n"
         ".reg .pred %p<4>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<16>;\n"
         ".shared .align 1024 .b8 image[" +
         s(kSlots * kSlotBytes) + "];\n";
    for (size_t w = 0; w < p_.warpgroups.size(); ++w) {
      for (size_t i = 0; i < p_.warpgroups[w].accumulators.size(); ++i)
        t_ += ".reg .b32 " + accumulator(w, i, "<" + s(p_.warpgroups[w].accumulators[i].registers()) + ">") + ";\n";
      t_ += ".reg .b32 %w" + s(w) + "a<" + s(4 * kFragments) + ">;\n";
    }
    // %r0 thread in the warpgroup, %r1 image, %r2 thread's word, %rd0 data for it, %rd1 its next result.
    t_ +=
        "ld.param.u64 %rd0, [data];\nld.param.u64 %rd1, [out];\nmov.u32 %r3, %tid.x;\nand.b32 %r0, %r3, 127;\n"
        "mov.u32 %r1, image;\nmov.u32 %r2, %r3;\nmul.wide.u32 %rd2, %r0, 16;\nadd.u64 %rd0, %rd0, %rd2;\n"
        "and.b32 %r5, %r1, 262143;\nshr.u32 %r5, %r5, 4;\ncvt.u64.u32 %rd3, %r5;\n";
    if (p_.warpgroups.size() > 1) t_ += "setp.gt.u32 %p0, %r3, 127;\n@%p0 bra WARPGROUP1;\n";
    uint64_t at = 0;
    for (w_ = 0; w_ < p_.warpgroups.size(); ++w_) {
      if (w_) t_ += "WARPGROUP1:\n";
      t_ += "add.u64 %rd1, %rd1, " + s(at * 4) + ";\n";
      at += p_.result_words(w_);
      fenced_ = false;
      for (const Op& op : wg().ops) emit(op);
      t_ += "mul.wide.u32 %rd4, %r0, 4;\nadd.u64 %rd4, %rd4, %rd1;\nst.global.b32 [%rd4], %r2;\nret;\n";
    }
    return t_ + "}\n";
  }

 private:
  const Warpgroup& wg() const { return p_.warpgroups[w_]; }
  static std::string accumulator(size_t w, size_t i, const std::string& rest) {
    return "%w" + s(w) + "d" + s(i) + "_" + rest;
  }
  std::string d(uint32_t acc, uint32_t j) const { return accumulator(w_, acc, s(j)); }
  std::string a(uint32_t fragment, uint32_t j) const { return "%w" + s(w_) + "a" + s(4 * fragment + j); }
  std::string label() { return "L" + s(labels_++); }
  void barrier() { t_ += "bar.sync " + s(1 + w_) + ", 128;\n"; }
  /// Registers were touched: the next operation needs a fence.
  void touched() { fenced_ = false; }

  void descriptor(const char* to, const Tile& tile) {
    const Placement& p = tile.place;
    const uint64_t code = p.swizzle == 2 ? 1 : p.swizzle == 4 ? 2 : p.swizzle == 6 ? 3 : 0;
    const uint64_t start = p.base + (p.mn_major || !p.swizzle ? 0 : p.slice * 32);
    t_ += std::string("add.u64 ") + to + ", %rd3, " +
          s(start >> 4 | uint64_t(p.leading >> 4) << 16 | uint64_t(p.stride >> 4) << 32 | code << 62) + ";\n";
  }

  void emit(const Op& op) {
    switch (op.what) {
      case What::fill:
        barrier();
        t_ += "shl.b32 %r6, %r0, 4;\nadd.u32 %r6, %r6, %r1;\n";
        for (uint32_t i = 0; i < kSlotBytes; i += 2048)
          t_ += "ld.global.v4.b32 {%r8, %r9, %r10, %r11}, [%rd0+" + s(uint64_t(op.block) * kSlotBytes + i) +
                "];\nst.shared.v4.b32 [%r6+" + s(op.tile.slot * kSlotBytes + i) + "], {%r8, %r9, %r10, %r11};\n";
        t_ += "fence.proxy.async.shared::cta;\n";
        return barrier();
      case What::load_a:
        t_ += "ld.global.v4.b32 {" + a(op.a, 0) + ", " + a(op.a, 1) + ", " + a(op.a, 2) + ", " + a(op.a, 3) +
              "}, [%rd0+" + s(uint64_t(op.block) * kSlotBytes) + "];\n";
        return touched();
      case What::flip_a:
        for (uint32_t j = 0; j < 4; ++j) t_ += "xor.b32 " + a(op.a, j) + ", " + a(op.a, j) + ", 0x80008000;\n";
        return touched();
      case What::convert_a:
        for (uint32_t j = 0; j < 4; ++j)
          t_ += "cvt.rn.bf16x2.f32 " + a(op.a, j) + ", " + d(op.acc, op.count / 2 + 2 * j + 1) + ", " +
                d(op.acc, op.count / 2 + 2 * j) + ";\n";
        return touched();
      case What::mma: return mma(op);
      case What::commit: t_ += "wgmma.commit_group.sync.aligned;\n"; return;
      case What::wait: t_ += "wgmma.wait_group.sync.aligned " + s(op.count) + ";\n"; return;
      case What::flip_acc: {
        const auto& acc = wg().accumulators[op.acc];
        for (uint32_t j = 0; j < acc.registers(); ++j)
          t_ += (acc.kind == Kind::s8 ? "add.s32 " : "xor.b32 ") + d(op.acc, j) + ", " + d(op.acc, j) +
                (acc.kind == Kind::s8 ? ", 12345;\n"
                 : halves(acc.kind)   ? ", 0x80008000;\n"
                                      : ", 0x80000000;\n");
        return touched();
      }
      case What::store: {
        const uint32_t n = wg().accumulators[op.acc].registers();
        t_ += "mul.wide.u32 %rd4, %r0, " + s(4 * n) + ";\nadd.u64 %rd4, %rd4, %rd1;\n";
        for (uint32_t j = 0; j < n; ++j) t_ += "st.global.b32 [%rd4+" + s(4 * j) + "], " + d(op.acc, j) + ";\n";
        t_ += "add.u64 %rd1, %rd1, " + s(512 * n) + ";\n";
        return touched();
      }
      case What::call:
        t_ +=
            "{\n.param .b32 x;\n.param .b32 r;\nst.param.b32 [x], %r2;\ncall.uni (r), twist, (x);\n"
            "ld.param.b32 %r2, [r];\n}\n";
        return;
      case What::diverge: {
        const std::string other = label(), end = label();
        t_ += "and.b32 %r12, %r2, 1;\nsetp.eq.u32 %p1, %r12, 0;\n@%p1 bra " + other +
              ";\nmad.lo.u32 %r2, %r2, 3, 1;\nbra.uni " + end + ";\n" + other + ":\nshr.u32 %r2, %r2, 1;\n" + end +
              ":\n";
        return;
      }
      case What::loop: {
        const std::string head = label();
        t_ += "mov.u32 %r13, 0;\n" + head + ":\n";
        touched();
        for (const Op& o : op.body) emit(o);
        t_ += "add.u32 %r13, %r13, 1;\nsetp.lt.u32 %p2, %r13, " + s(op.count) + ";\n@%p2 bra " + head + ";\n";
        return touched();
      }
    }
  }

  void mma(const Op& op) {
    const auto& acc = wg().accumulators[op.acc];
    const KindInfo& k = info(op.kind);
    if (!op.a_in_registers) descriptor("%rd5", op.tile);
    descriptor("%rd6", op.b);
    t_ += "setp.ne.u32 %p3, " + s(op.accumulate) + ", 0;\n";
    if (!fenced_) t_ += "wgmma.fence.sync.aligned;\n";
    fenced_ = true;
    t_ += "wgmma.mma_async.sync.aligned.m64n" + s(acc.n) + "k" + s(k.k) + "." + k.d + "." + k.a + "." + k.b + " {";
    for (uint32_t j = 0; j < acc.registers(); ++j) t_ += (j ? ", " : "") + d(op.acc, j);
    t_ += "}, ";
    t_ +=
        op.a_in_registers ? "{" + a(op.a, 0) + ", " + a(op.a, 1) + ", " + a(op.a, 2) + ", " + a(op.a, 3) + "}" : "%rd5";
    t_ += ", %rd6, %p3";
    if (op.kind != Kind::s8) t_ += std::string(op.negate_a ? ", -1" : ", 1") + (op.negate_b ? ", -1" : ", 1");
    if (k.transposes) {
      if (!op.a_in_registers) t_ += op.tile.place.mn_major ? ", 1" : ", 0";
      t_ += op.b.place.mn_major ? ", 1" : ", 0";
    }
    t_ += ";\n";
  }

  const Program& p_;
  size_t w_ = 0;
  std::string t_;
  uint32_t labels_ = 0;
  bool fenced_ = false;
};

}  // namespace

std::string ptx_of(const Program& p) { return Emitter(p).text(); }

}  // namespace conformance::wgmma_programs
