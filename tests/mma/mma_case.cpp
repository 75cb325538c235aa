#include "tests/mma/mma_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace gen5::test {
namespace {

/// What the kernel reads for each CTA; offsets are used in the PTX below.
struct Record {
  uint64_t image, before, after;             // 0, 8, 16
  uint64_t a, b;                             // 24, 32: descriptors, or A's address relative to the allocation
  uint32_t idesc, accumulate;                // 40, 44
  uint32_t mask[8];                          // 48
  uint32_t d;                                // 80: accumulator address relative to the allocation
  uint32_t issuer;                           // 84: rank
  uint32_t metadata, scale_a, scale_b, pad;  // 88, 92, 96: likewise
  uint64_t zero_columns;                     // 104
};

uint32_t d_lane(const MmaCase& c, uint32_t row) { return c.m == 64 ? c.lane + row / 16 * 32 + row % 16 : row; }

}  // namespace

uint32_t MmaCase::idesc() const {
  const auto code = [](Type t) { return t == Type::tf32 ? 2u : t == Type::bf16 ? 1u : 0u; };
  return (half ? 0u : 1u) << 4 | code(a_type) << 7 | code(b_type) << 10 | uint32_t(negate_a) << 13 |
         uint32_t(negate_b) << 14 | uint32_t(a.mn_major) << 15 | uint32_t(b.mn_major) << 16 | (n >> 3) << 17 |
         (m >> 4) << 24;
}

std::string MmaCase::describe() const {
  const char* names[] = {"f16", "bf16", "tf32"};
  return fmt::format(
      "{}x{} {}*{}->{} A {}{} swizzle {} slice {} B {} swizzle {} slice {} acc {} scale {} neg {}{} mask {} shift {} "
      "lane {}",
      m, n, names[int(a_type)], names[int(b_type)], half ? "f16" : "f32", form.a_in_tmem ? "tmem " : "",
      a.mn_major ? "M" : "K", a.swizzle, a.slice, b.mn_major ? "N" : "K", b.swizzle, b.slice, accumulate, form.scale,
      negate_a, negate_b, form.masked, form.ashift, lane);
}

void MmaCase::place() {
  const auto lay = [&](const Placement& p, const std::vector<uint32_t>& bits, uint32_t rows) {
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t i = 0; i < k(); ++i) std::memcpy(image.data() + p.at(r, i), &bits[r * k() + i], p.element_bytes);
  };
  lay(b, b_bits, n);
  if (!form.a_in_tmem) {
    lay(a, a_bits, m);
    return;
  }
  for (uint32_t r = 0; r < m; ++r)
    for (uint32_t w = 0; w < 8; ++w) {
      const uint32_t* e = &a_bits[r * k()];
      tmem[(kAColumn + w) * kLanes + d_lane(*this, r)] = form.tf32 ? e[w] : (e[2 * w] & 0xffff) | e[2 * w + 1] << 16;
    }
}

std::vector<uint32_t> MmaCase::expected() const {
  std::vector<uint32_t> out = tmem;
  const auto row_of = [&](Type t, const std::vector<uint32_t>& bits, uint32_t row, bool negate) {
    return decode_row(t, {bits.begin() + row * k(), bits.begin() + (row + 1) * k()}, negate);
  };
  std::vector<Row> columns;
  for (uint32_t col = 0; col < n; ++col) columns.push_back(row_of(b_type, b_bits, col, negate_b));
  for (uint32_t row = 0; row < m; ++row) {
    const uint32_t lane_of_row = d_lane(*this, row);
    if (form.masked && (mask[lane_of_row / 32] >> lane_of_row % 32 & 1)) continue;
    const Row x = row_of(a_type, a_bits, row, negate_a);
    for (uint32_t col = 0; col < n; ++col) {
      uint32_t& cell = out[(d_column + col) * kLanes + lane_of_row];
      cell = reference_element(x, columns[col], accumulate, half ? cell & 0xffff : cell, std::max(form.scale, 0), half);
    }
  }
  if (form.ashift)
    for (uint32_t w = kAColumn; w < kAColumn + 8; ++w)
      for (uint32_t lane_ = 0; lane_ < kLanes; ++lane_)
        if (lane_ % 32 != 31) out[w * kLanes + lane_] = tmem[w * kLanes + lane_ + 1];
  return out;
}

void Form::pick_kind(Random& random) {
  tf32 = random.chance(3);
  a_in_tmem = random.chance(3);
  masked = random.chance(4);
  scale = random.chance(4) ? int(random.below(16)) : -1;
}

void MmaCase::pick_signs(Random& random) {
  accumulate = !random.chance(3);
  negate_a = random.chance(4);
  negate_b = random.chance(4);
}

void MmaCase::pick_operands(Random& random, uint32_t flavour) {
  for (uint32_t i = 0; i < m * k(); ++i) a_bits.push_back(pattern(random, a_type, flavour, i));
  for (uint32_t i = 0; i < n * k(); ++i) b_bits.push_back(pattern(random, b_type, random.chance(64) ? 7 : flavour, 0));
}

void MmaCase::pick_cells(Random& random, uint32_t flavour, std::vector<uint32_t>& cells) const {
  cells.resize(kLanes * kColumns);
  for (auto& w : cells)
    w = half ? pattern(random, Type::f16, flavour, 0) | (random() << 16) : pattern(random, Type::tf32, flavour, 0);
}

void pick_image(Random& random, std::vector<uint8_t>& image) {
  image.resize(kImageBytes);
  for (size_t i = 0; i < image.size(); i += 4) {
    const uint32_t noise = random();
    std::memcpy(image.data() + i, &noise, 4);
  }
}

void MmaCase::place_plainly() {
  a.base = 0;
  b.base = 8192;
  for (Placement* p : {&a, &b}) {
    p->leading = 128;
    p->stride = 256;
  }
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at == std::string::npos) throw std::invalid_argument("the text has no " + from);
  return text.replace(at, from.size(), to);
}

std::string kernel_text(const Form& f) {
  std::string mma = fmt::format("tcgen05.mma.GROUP.kind::{}", f.tf32 ? "tf32" : "f16");
  if (f.ashift) mma += ".ashift";
  if (!f.collector.empty()) mma += ".collector::a::" + f.collector;
  mma += fmt::format(" [%d], {}, %bdesc, %idesc, {}%en{};", f.a_in_tmem ? "[%at]" : "%adesc",
                     !f.masked ? ""
                     : f.pair  ? "{%m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7}, "
                               : "{%m0, %m1, %m2, %m3}, ",
                     f.scale >= 0 ? fmt::format(", {}", f.scale) : "");
  return kernel_text(mma, f.pair);
}

namespace {

// The kernel's parts, in order. GROUP stands for the CTA group.

constexpr const char* kSetUp = R"(
.extern .shared .align 1024 .b8 image[];
.visible .entry mma_case(.param .u64 records, .param .u32 bytes)
{
  .reg .pred %p, %en, %done, %first;
  .reg .b32 %t, %cta, %lane, %warp, %n, %slot, %bar, %img, %base, %addr, %col, %lanebase, %d, %at, %idesc, %tmp, %meta, %sfa, %sfb;
  .reg .b32 %m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7;
  .reg .b32 %w0, %w1, %w2, %w3, %v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7;
  .reg .b16 %both;
  .reg .b64 %rec, %src, %dst, %off, %adesc, %bdesc, %ptr, %shift, %zero;
  .shared .align 8 .b64 barrier;
  .shared .align 4 .b32 allocated;
  mov.u32 %t, %tid.x;
  mov.b16 %both, 3;
  mov.u32 %cta, %ctaid.x;
  ld.param.u64 %rec, [records];
  mad.wide.u32 %rec, %cta, 112, %rec;
  ld.param.u32 %n, [bytes];
  mov.u32 %bar, barrier;
  mov.u32 %slot, allocated;
  mov.u32 %img, image;
  shr.u32 %warp, %t, 5;
  and.b32 %lane, %t, 31;
  setp.ne.u32 %p, %warp, 0;
  @%p bra copy;
  tcgen05.alloc.GROUP.sync.aligned.shared::cta.b32 [%slot], 512;
  tcgen05.relinquish_alloc_permit.GROUP.sync.aligned;
  setp.ne.u32 %p, %t, 0;
  @!%p mbarrier.init.shared::cta.b64 [%bar], 1;
)";

/// Shared memory as the record has it.
constexpr const char* kCopyImage = R"(copy:
  ld.global.u64 %src, [%rec];
  shl.b32 %tmp, %t, 4;
copy_loop:
  setp.ge.u32 %p, %tmp, %n;
  @%p bra copied;
  cvt.u64.u32 %off, %tmp;
  add.u64 %ptr, %src, %off;
  ld.global.v4.b32 {%w0, %w1, %w2, %w3}, [%ptr];
  add.u32 %addr, %img, %tmp;
  st.shared.v4.b32 [%addr], {%w0, %w1, %w2, %w3};
  add.u32 %tmp, %tmp, 2048;
  bra copy_loop;
)";

/// Tensor Memory as the record has it.
constexpr const char* kFillTensorMemory = R"(copied:
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.b32 %base, [%slot];
  shl.b32 %lanebase, %warp, 21;
  add.u32 %lanebase, %lanebase, %base;
  ld.global.u64 %src, [%rec+8];
  mul.wide.u32 %off, %t, 4;
  add.u64 %src, %src, %off;
  mov.u32 %col, 0;
store_loop:
  ld.global.b32 %v0, [%src];
  ld.global.b32 %v1, [%src+512];
  ld.global.b32 %v2, [%src+1024];
  ld.global.b32 %v3, [%src+1536];
  ld.global.b32 %v4, [%src+2048];
  ld.global.b32 %v5, [%src+2560];
  ld.global.b32 %v6, [%src+3072];
  ld.global.b32 %v7, [%src+3584];
  add.u32 %addr, %lanebase, %col;
  tcgen05.st.sync.aligned.32x32b.x8.b32 [%addr], {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7};
  add.u64 %src, %src, 4096;
  add.u32 %col, %col, 8;
  setp.lt.u32 %p, %col, 280;
  @%p bra store_loop;
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
)";

constexpr const char* kOneThread = R"(
  tcgen05.fence::after_thread_sync;
  setp.ne.u32 %p, %t, 0;
  @%p bra wait;
)";

constexpr const char* kIssuingCta = R"(  mov.u32 %tmp, %cluster_ctarank;
  ld.global.u32 %d, [%rec+84];
  setp.ne.u32 %p, %tmp, %d;
  @%p bra wait;
)";

constexpr const char* kOperands = R"(  ld.global.u64 %adesc, [%rec+24];
  ld.global.u64 %bdesc, [%rec+32];
  ld.global.u32 %idesc, [%rec+40];
  ld.global.u32 %tmp, [%rec+44];
  setp.ne.u32 %en, %tmp, 0;
  ld.global.v4.b32 {%m0, %m1, %m2, %m3}, [%rec+48];
  ld.global.v4.b32 {%m4, %m5, %m6, %m7}, [%rec+64];
  ld.global.u32 %d, [%rec+80];
  add.u32 %d, %d, %base;
  cvt.u32.u64 %at, %adesc;
  add.u32 %at, %at, %base;
  ld.global.u32 %meta, [%rec+88];
  add.u32 %meta, %meta, %base;
  ld.global.u32 %sfa, [%rec+92];
  add.u32 %sfa, %sfa, %base;
  ld.global.u32 %sfb, [%rec+96];
  add.u32 %sfb, %sfb, %base;
  ld.global.u64 %zero, [%rec+104];
  )";

/// Tensor Memory to where the record says.
constexpr const char* kReadBack = R"(
wait:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;
  @!%done bra wait;
  tcgen05.fence::after_thread_sync;
  ld.global.u64 %dst, [%rec+16];
  add.u64 %dst, %dst, %off;
  mov.u32 %col, 0;
load_loop:
  add.u32 %addr, %lanebase, %col;
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {%v0, %v1, %v2, %v3, %v4, %v5, %v6, %v7}, [%addr];
  tcgen05.wait::ld.sync.aligned;
  st.global.b32 [%dst], %v0;
  st.global.b32 [%dst+512], %v1;
  st.global.b32 [%dst+1024], %v2;
  st.global.b32 [%dst+1536], %v3;
  st.global.b32 [%dst+2048], %v4;
  st.global.b32 [%dst+2560], %v5;
  st.global.b32 [%dst+3072], %v6;
  st.global.b32 [%dst+3584], %v7;
  add.u64 %dst, %dst, 4096;
  add.u32 %col, %col, 8;
  setp.lt.u32 %p, %col, 280;
  @%p bra load_loop;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
)";

constexpr const char* kFree = R"(
  setp.ne.u32 %p, %warp, 0;
  @%p bra out;
  tcgen05.fence::after_thread_sync;
  tcgen05.dealloc.GROUP.sync.aligned.b32 %base, 512;
out:
  ret;
}
)";

}  // namespace

std::string kernel_text(const std::string& mma, bool pair) {
  const std::string meet = pair ? "  fence.mbarrier_init.release.cluster;\n  barrier.cluster.arrive.aligned;\n"
                                  "  barrier.cluster.wait.aligned;"
                                : "";
  const char* commit =
      pair ? "tcgen05.commit.GROUP.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %both;"
           : "tcgen05.commit.GROUP.mbarrier::arrive::one.shared::cluster.b64 [%bar];";
  std::string text = std::string(kSetUp) + kCopyImage + kFillTensorMemory + meet + kOneThread +
                     (pair ? kIssuingCta : "") + kOperands + mma + "\n  " + commit + kReadBack + meet + kFree;
  for (size_t at; (at = text.find("GROUP")) != std::string::npos;)
    text.replace(at, 5, pair ? "cta_group::2" : "cta_group::1");
  return text;
}

CtaInput cta_input(const MmaCase& c, const std::vector<uint8_t>& image, const std::vector<uint32_t>& tmem) {
  CtaInput in{image, tmem};
  in.a = c.form.a_in_tmem ? uint64_t(c.lane) << 16 | kAColumn : c.a.descriptor(kImageOffset);
  in.b = c.b.descriptor(kImageOffset);
  in.idesc = c.idesc();
  in.accumulate = c.accumulate;
  std::copy(c.mask.begin(), c.mask.end(), in.mask.begin());
  in.d = c.lane << 16 | c.d_column;
  return in;
}

std::vector<std::vector<uint32_t>> run_ctas(tinygpu::test::RunPtx& gpu, const std::vector<CtaInput>& ctas, bool pair) {
  static_assert(sizeof(Record) == 112);
  std::vector<Record> records;
  std::vector<uint64_t> buffers;
  for (const CtaInput& cta : ctas) {
    Record r{};
    r.image = gpu.upload(cta.image);
    r.before = gpu.upload(cta.tmem);
    r.after = gpu.buffer<uint32_t>(kLanes * kColumns);
    r.a = cta.a;
    r.b = cta.b;
    r.idesc = cta.idesc;
    r.accumulate = cta.accumulate;
    std::copy(cta.mask.begin(), cta.mask.end(), r.mask);
    r.d = cta.d;
    r.metadata = cta.metadata;
    r.scale_a = cta.scale_a;
    r.scale_b = cta.scale_b;
    r.zero_columns = cta.zero_columns;
    r.issuer = cta.issuer;
    records.push_back(r);
    for (uint64_t b : {r.image, r.before, r.after}) buffers.push_back(b);
  }
  const uint64_t table = gpu.upload(records);
  buffers.push_back(table);
  gpu.dynamic_shared = kImageBytes;
  if (pair) gpu.cluster = {2};
  gpu.launch("mma_case", tinygpu::Dim3{uint32_t(ctas.size())}, tinygpu::Dim3{128}, table,
             uint32_t(ctas[0].image.size()));
  std::vector<std::vector<uint32_t>> out;
  for (const Record& r : records) out.push_back(gpu.download<uint32_t>(r.after, kLanes * kColumns));
  for (uint64_t b : buffers) gpu.gpu.memory.release(b);
  return out;
}

std::vector<std::vector<uint32_t>> run(tinygpu::test::RunPtx& gpu, const std::vector<MmaCase>& cases) {
  std::vector<CtaInput> ctas;
  for (const MmaCase& c : cases) ctas.push_back(cta_input(c, c.image, c.tmem));
  return run_ctas(gpu, ctas, false);
}

}  // namespace gen5::test
