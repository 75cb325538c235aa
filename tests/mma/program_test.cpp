// Random programs of tcgen05.mma and its neighbours: chains on several accumulators, commits in flight, operands,
// accumulators and barriers used again as soon as a wait allows it, tcgen05.cp, ld and st between, alone and in pairs
// of CTAs. Under every order of completion they leave what a reference gets that runs them one operation after another.
// GEN5_MMA_PROGRAMS=N runs N of them instead of the first few.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/mma/program_text.h"
#include "tests/mma/random_operand.h"
#include "tests/mma/reference.h"
#include "tests/support/run_ptx.h"

namespace gen5::test::program_test {
namespace {

constexpr uint32_t kSlots = 5, kSlotBytes = 16384;  // tiles in shared memory
constexpr uint32_t kTmemLanes = 128, kTmemColumns = 320;
constexpr uint32_t kAccumulators = 3, kFragments = 3, kBarriers = ProgramText::kBarriers;
constexpr uint32_t column_of_accumulator(uint32_t i) { return 64 * i; }
constexpr uint32_t column_of_fragment(uint32_t i) { return 256 + 8 * i; }
constexpr uint32_t kScaleA = 280, kScaleB = 284;  // columns of scale factors, four each

struct Step {
  enum class What {
    fill,         // slot `slot` takes `block`
    store_a,      // tcgen05.st: fragment `fragment` takes `block`
    copy_a,       // tcgen05.cp: fragment `fragment` takes 32 bytes of each row of the tile in `a`
    copy_scales,  // tcgen05.cp: the scale factors of A and B are the first 512 bytes of `slot` and the next
    mma,
    commit,  // to `barrier`
    wait,    // for `barrier`
    load,    // tcgen05.ld: accumulator `accumulator` goes into the results
    flip     // tcgen05.ld and st: the accumulator changes its signs
  } what;
  uint32_t slot = 0, block = 0, fragment = 0, accumulator = 0, barrier = 0;
  bool a_in_tmem = false, accumulate = true, negate_a = false, negate_b = false;
  uint32_t b_slot = 0;
  uint32_t sfa_id = 0, sfb_id = 0;
  Placement a{}, b{};
};

struct Accumulator {
  Type type;
  bool half;
  uint32_t n;
  bool scaled = false;  // kind::mxf8f6f4
  uint32_t bytes() const { return type == Type::tf32 ? 4 : type == Type::f16 || type == Type::bf16 ? 2 : 1; }
  const char* kind() const {
    return scaled               ? "mxf8f6f4.block_scale"
           : type == Type::tf32 ? "tf32"
           : type == Type::s8   ? "i8"
           : bytes() == 2       ? "f16"
                                : "f8f6f4";
  }
  uint32_t idesc(uint32_t m) const {
    const uint32_t code = type == Type::tf32 ? 2 : type == Type::f16 || type == Type::e4m3 ? 0 : 1;
    const uint32_t result = scaled ? 0 : type == Type::s8 ? 2 : half ? 0 : 1;
    return result << 4 | code << 7 | code << 10 | (n >> 3) << 17 | uint32_t(scaled) << 23 | (m >> 4) << 24;
  }
};

struct Script {
  uint32_t ctas = 1;  // 2: a pair
  Accumulator accumulators[kAccumulators];
  std::vector<Step> steps;
  std::vector<std::vector<uint8_t>> blocks[2];  // of each CTA
  uint32_t m() const { return 128 * ctas; }
  uint32_t loaded_words() const {
    uint32_t words = 0;
    for (const Step& s : steps)
      if (s.what == Step::What::load) words += accumulators[s.accumulator].n * kTmemLanes;
    return words;
  }
};

/// What may still be in flight. Operations end when a wait has seen a commit that came after them.
class Books {
 public:
  void uses(const std::string& what) { users_[what] = ++issued_; }
  bool done(const std::string& what) const {
    const auto u = users_.find(what);
    return u == users_.end() || u->second <= complete_;
  }
  bool pending() const { return issued_ > complete_; }
  bool can_commit(uint32_t barrier) const { return !commits_.count(barrier); }
  bool can_wait(uint32_t barrier) const { return commits_.count(barrier); }
  void commit(uint32_t barrier) { commits_[barrier] = issued_; }
  void wait(uint32_t barrier) {
    complete_ = std::max(complete_, commits_.at(barrier));
    commits_.erase(barrier);
  }

 private:
  std::map<std::string, uint32_t> users_;
  std::map<uint32_t, uint32_t> commits_;
  uint32_t issued_ = 0, complete_ = 0;
};
const std::string kScales = "scale factors";
std::string slot_name(uint32_t i) { return fmt::format("slot {}", i); }
std::string fragment_name(uint32_t i) { return fmt::format("fragment {}", i); }
std::string accumulator_name(uint32_t i) { return fmt::format("accumulator {}", i); }

class Writer {
 public:
  Writer(uint32_t seed, uint32_t ctas) : random_(seed * 2 + ctas) { script_.ctas = ctas; }

  Script write() {
    for (Accumulator& a : script_.accumulators) {
      const Type types[] = {Type::f16, Type::bf16, Type::tf32, Type::e4m3, Type::e5m2, Type::s8};
      a.type = types[random_.below(6)];
      a.half = (a.type == Type::f16 || a.type == Type::e4m3) && random_.chance(3);
      a.scaled = !a.half && (a.type == Type::e4m3 || a.type == Type::e5m2) && random_.chance(2);
      // In steps of what both CTA groups allow with all rows, whatever the kind.
      a.n = 16 * script_.ctas * (1 + random_.below(4 / script_.ctas));
    }
    for (uint32_t s = 0; s < kSlots; ++s) push(fill(s));
    for (uint32_t f = 0; f < kFragments; ++f) push(store_a(f));
    push(copy_scales(0));
    for (uint32_t a = 0; a < kAccumulators; ++a) push(mma(a, false));
    for (uint32_t i = 0, n = 20 + random_.below(24); i < n; ++i)
      for (;;)
        if (const Step s = candidate(); legal(s)) {
          push(s);
          break;
        }
    // All that is in flight ends, barrier by barrier.
    for (uint32_t b = 0; b < kBarriers; ++b)
      if (books_.can_wait(b)) push(on_barrier(Step::What::wait, b));
    push(on_barrier(Step::What::commit, 0));
    push(on_barrier(Step::What::wait, 0));
    for (uint32_t a = 0; a < kAccumulators; ++a) push(on_accumulator(Step::What::load, a));
    return script_;
  }

 private:
  static Step on_barrier(Step::What what, uint32_t b) {
    Step s{what};
    s.barrier = b;
    return s;
  }
  static Step on_accumulator(Step::What what, uint32_t a) {
    Step s{what};
    s.accumulator = a;
    return s;
  }
  bool legal(const Step& s) const {
    switch (s.what) {
      case Step::What::fill: return books_.done(slot_name(s.slot));
      case Step::What::store_a:
      case Step::What::copy_a: return books_.done(fragment_name(s.fragment));
      case Step::What::copy_scales: return books_.done(kScales);
      case Step::What::commit: return books_.can_commit(s.barrier) && books_.pending();
      case Step::What::wait: return books_.can_wait(s.barrier);
      case Step::What::load:
      case Step::What::flip: return books_.done(accumulator_name(s.accumulator));
      default: return true;
    }
  }
  void push(const Step& s) {
    if (s.what == Step::What::copy_a) {
      books_.uses(slot_name(s.slot));
      books_.uses(fragment_name(s.fragment));
    } else if (s.what == Step::What::copy_scales) {
      books_.uses(slot_name(s.slot));
      books_.uses(kScales);
    } else if (s.what == Step::What::mma) {
      if (script_.accumulators[s.accumulator].scaled) books_.uses(kScales);
      books_.uses(s.a_in_tmem ? fragment_name(s.fragment) : slot_name(s.slot));
      books_.uses(slot_name(s.b_slot));
      books_.uses(accumulator_name(s.accumulator));
    } else if (s.what == Step::What::commit) {
      books_.commit(s.barrier);
    } else if (s.what == Step::What::wait) {
      books_.wait(s.barrier);
    }
    script_.steps.push_back(s);
  }
  uint32_t block() {
    const Type type = script_.accumulators[random_.below(kAccumulators)].type;
    const uint32_t flavours[] = {0, 0, 4, 5, 2}, flavour = flavours[random_.below(5)];
    const uint32_t bytes = Accumulator{type, false, 0}.bytes();
    for (uint32_t c = 0; c < script_.ctas; ++c) {
      std::vector<uint8_t> to(kSlotBytes);
      for (uint32_t i = 0; i < kSlotBytes; i += bytes) {
        const uint32_t v = pattern(random_, type, flavour, i / bytes);
        std::memcpy(&to[i], &v, bytes);
      }
      // What may be taken for scale factors has modest ones, now and then a NaN.
      for (uint32_t i = 0; i < 1024; ++i)
        if (random_.chance(2)) to[i] = uint8_t(random_.chance(400) ? 255 : 120 + random_.below(14));
      script_.blocks[c].push_back(std::move(to));
    }
    return uint32_t(script_.blocks[0].size() - 1);
  }
  Step fill(uint32_t slot) {
    Step s{Step::What::fill};
    s.slot = slot;
    s.block = block();
    return s;
  }
  Step store_a(uint32_t fragment) {
    Step s{Step::What::store_a};
    s.fragment = fragment;
    s.block = block();
    return s;
  }
  Step copy_scales(uint32_t slot) {
    Step s{Step::What::copy_scales};
    s.slot = slot;
    return s;
  }
  Placement placement(uint32_t slot, uint32_t element_bytes, bool plain) {
    Placement p;
    p.element_bytes = element_bytes;
    const int swizzles[] = {0, 2, 4, 6};
    p.swizzle = plain ? 0 : swizzles[random_.below(4)];
    p.base = slot * kSlotBytes;
    const uint32_t width = p.swizzle == 0 ? 16 : p.swizzle == 6 ? 32 : p.swizzle == 4 ? 64 : 128;
    p.leading = 128;
    p.stride = p.swizzle ? 8 * width : 256;
    if (p.swizzle) p.slice = random_.below(width / 32);
    return p;
  }
  Step mma(uint32_t accumulator, bool accumulate) {
    Step s{Step::What::mma};
    const uint32_t bytes = script_.accumulators[accumulator].bytes();
    s.accumulator = accumulator;
    s.accumulate = accumulate;
    s.a_in_tmem = random_.chance(3);
    s.fragment = random_.below(kFragments);
    s.slot = random_.below(kSlots);
    s.b_slot = random_.below(kSlots);
    s.a = placement(s.slot, bytes, false);
    s.b = placement(s.b_slot, bytes, false);
    const bool integer = script_.accumulators[accumulator].type == Type::s8;
    s.negate_a = !integer && random_.chance(4);
    s.negate_b = !integer && random_.chance(4);
    if (script_.accumulators[accumulator].scaled) {
      s.sfa_id = random_.below(4);
      s.sfb_id = random_.below(4);
    }
    return s;
  }
  Step candidate() {
    switch (random_.below(19)) {
      case 18: return copy_scales(random_.below(kSlots));
      case 0:
      case 1: return fill(random_.below(kSlots));
      case 2: return store_a(random_.below(kFragments));
      case 3:
      case 4: {
        Step s{Step::What::copy_a};
        s.slot = random_.below(kSlots);
        s.fragment = random_.below(kFragments);
        s.a = placement(s.slot, 4, true);
        return s;
      }
      case 5: return on_accumulator(Step::What::load, random_.below(kAccumulators));
      case 6: return on_accumulator(Step::What::flip, random_.below(kAccumulators));
      case 7:
      case 8:
      case 9: return on_barrier(Step::What::commit, random_.below(kBarriers));
      case 10:
      case 11: return on_barrier(Step::What::wait, random_.below(kBarriers));
      default: return mma(random_.below(kAccumulators), !random_.chance(6));
    }
  }

  Random random_;
  Script script_;
  Books books_;
};

// ---- PTX

class Text {
 public:
  explicit Text(const Script& s) : s_(s), p_(s.ctas, "  .reg .b32 %sfa, %sfb;") {}
  std::string module() {
    for (const Step& s : s_.steps) step(s);
    return p_.module();
  }

 private:
  void step(const Step& s) {
    switch (s.what) {
      case Step::What::fill:
        // Every thread has seen the end of the slot's readers in its own wait.
        p_.add("bar.sync 0;\n");
        for (uint32_t i = 0; i < kSlotBytes; i += 2048)
          p_.add(fmt::format(
              "ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%data+{}];\nst.shared.v4.b32 [%img+{}], {{%v0, %v1, %v2, "
              "%v3}};\n",
              uint64_t(s.block) * kSlotBytes + i, s.slot * kSlotBytes + i));
        p_.add("fence.proxy.async.shared::cta;\n");
        p_.touched();
        return;
      case Step::What::store_a:
        for (uint32_t w = 0; w < 8; ++w)
          p_.add(fmt::format("ld.global.b32 %v{}, [%words+{}];\n", w, uint64_t(s.block) * kSlotBytes + 512 * w));
        p_.add(fmt::format("add.u32 %addr, %lanes, {};\ntcgen05.st.sync.aligned.32x32b.x8.b32 [%addr], {};\n",
                           column_of_fragment(s.fragment), ProgramText::values()));
        p_.add("tcgen05.wait::st.sync.aligned;\n");
        p_.touched();
        return;
      case Step::What::copy_a:
        return p_.issue(
            fmt::format("add.u64 %a, %start, {};\nadd.u32 %addr, %base, {};\n"
                        "tcgen05.cp.GROUP.128x256b [%addr], %a;\n",
                        s.a.descriptor(0), column_of_fragment(s.fragment)));
      case Step::What::copy_scales: {
        // 32 rows of 16 bytes, one after another: no swizzle, 128 bytes from 8 rows to the next.
        const uint64_t chunk = uint64_t(128 >> 4) << 32 | uint64_t(1) << 46 | s.slot * kSlotBytes >> 4;
        return p_.issue(
            fmt::format("add.u64 %a, %start, {};\nadd.u32 %addr, %base, {};\n"
                        "tcgen05.cp.GROUP.32x128b.warpx4 [%addr], %a;\n"
                        "add.u64 %a, %a, 32;\nadd.u32 %addr, %base, {};\n"
                        "tcgen05.cp.GROUP.32x128b.warpx4 [%addr], %a;\n",
                        chunk, kScaleA, kScaleB));
      }
      case Step::What::mma: {
        const Accumulator& c = s_.accumulators[s.accumulator];
        const uint32_t idesc =
            c.idesc(s_.m()) | uint32_t(s.negate_a) << 13 | uint32_t(s.negate_b) << 14 | s.sfb_id << 4 | s.sfa_id << 29;
        std::string body = fmt::format("add.u64 %b, %start, {};\nadd.u32 %addr, %base, {};\nsetp.ne.u32 %en, {}, 0;\n",
                                       s.b.descriptor(0), column_of_accumulator(s.accumulator), int(s.accumulate));
        body += s.a_in_tmem ? fmt::format("add.u32 %tmp, %base, {};\n", column_of_fragment(s.fragment))
                            : fmt::format("add.u64 %a, %start, {};\n", s.a.descriptor(0));
        if (c.scaled) body += fmt::format("add.u32 %sfa, %base, {};\nadd.u32 %sfb, %base, {};\n", kScaleA, kScaleB);
        body += fmt::format("tcgen05.mma.GROUP.kind::{} [%addr], {}, %b, {}, {}%en;\n", c.kind(),
                            s.a_in_tmem ? "[%tmp]" : "%a", idesc, c.scaled ? "[%sfa], [%sfb], " : "");
        return p_.issue(body);
      }
      case Step::What::commit: return p_.commit(s.barrier);
      case Step::What::wait: return p_.wait(s.barrier);
      case Step::What::load:
      case Step::What::flip: {
        const Accumulator& c = s_.accumulators[s.accumulator];
        for (uint32_t col = 0; col < c.n; col += 8) {
          p_.add(
              fmt::format("add.u32 %addr, %lanes, {};\ntcgen05.ld.sync.aligned.32x32b.x8.b32 {}, [%addr];\n"
                          "tcgen05.wait::ld.sync.aligned;\n",
                          column_of_accumulator(s.accumulator) + col, ProgramText::values()));
          for (uint32_t w = 0; w < 8; ++w)
            if (s.what == Step::What::load)
              p_.add(fmt::format("st.global.b32 [%out+{}], %v{};\n", 4 * kTmemLanes * stored_++, w));
            else
              p_.add(fmt::format("xor.b32 %v{}, %v{}, {};\n", w, w, c.half ? 0x8000u : 0x80000000u));
          if (s.what == Step::What::flip)
            p_.add(fmt::format("tcgen05.st.sync.aligned.32x32b.x8.b32 [%addr], {};\ntcgen05.wait::st.sync.aligned;\n",
                               ProgramText::values()));
        }
        p_.touched();
        return;
      }
    }
  }

  const Script& s_;
  ProgramText p_;
  uint32_t stored_ = 0;
};

// ---- The reference

class Sequential {
 public:
  explicit Sequential(const Script& s) : s_(s) {
    for (uint32_t c = 0; c < s.ctas; ++c) {
      image_[c].resize(kSlots * kSlotBytes);
      tmem_[c].resize(kTmemColumns * kTmemLanes);
    }
  }
  /// What each CTA loaded.
  std::array<std::vector<uint32_t>, 2> run() {
    for (const Step& s : s_.steps) step(s);
    return out_;
  }

 private:
  uint32_t& cell(uint32_t cta, uint32_t column, uint32_t lane) { return tmem_[cta][column * kTmemLanes + lane]; }
  void step(const Step& s) {
    for (uint32_t c = 0; c < s_.ctas; ++c) {
      const auto block = [&]() -> const std::vector<uint8_t>& { return s_.blocks[c][s.block]; };
      if (s.what == Step::What::fill)
        std::copy(block().begin(), block().end(), image_[c].begin() + s.slot * kSlotBytes);
      if (s.what == Step::What::store_a)
        for (uint32_t w = 0; w < 8; ++w)
          std::memcpy(&cell(c, column_of_fragment(s.fragment) + w, 0), &block()[512 * w], 512);
      if (s.what == Step::What::copy_a)
        for (uint32_t row = 0; row < kTmemLanes; ++row)
          for (uint32_t w = 0; w < 8; ++w)
            std::memcpy(&cell(c, column_of_fragment(s.fragment) + w, row), &image_[c][s.a.at(row, w)], 4);
      if (s.what == Step::What::copy_scales)
        for (uint32_t chunk = 0; chunk < 2; ++chunk)
          for (uint32_t lane = 0; lane < kTmemLanes; ++lane)
            for (uint32_t w = 0; w < 4; ++w)
              std::memcpy(&cell(c, (chunk ? kScaleB : kScaleA) + w, lane),
                          &image_[c][s.slot * kSlotBytes + 512 * chunk + lane % 32 * 16 + 4 * w], 4);
      const Accumulator& acc = s_.accumulators[s.accumulator];
      for (uint32_t col = 0; col < acc.n; ++col)
        for (uint32_t lane = 0; lane < kTmemLanes; ++lane) {
          uint32_t& x = cell(c, column_of_accumulator(s.accumulator) + col, lane);
          if (s.what == Step::What::load) out_[c].push_back(x);
          if (s.what == Step::What::flip) x ^= acc.half ? 0x8000u : 0x80000000u;
        }
    }
    if (s.what == Step::What::mma) mma(s);
  }
  uint32_t in_shared(uint32_t cta, const Placement& p, uint32_t row, uint32_t k) const {
    uint32_t v = 0;
    std::memcpy(&v, &image_[cta][p.at(row, k)], p.element_bytes);
    return v;
  }
  void mma(const Step& s) {
    const Accumulator& acc = s_.accumulators[s.accumulator];
    const uint32_t bytes = acc.bytes(), depth = 32 / bytes, share = acc.n / s_.ctas;
    std::vector<Row> columns;
    for (uint32_t n = 0; n < acc.n; ++n) {
      std::vector<uint32_t> bits;
      for (uint32_t k = 0; k < depth; ++k) bits.push_back(in_shared(n / share, s.b, n % share, k));
      columns.push_back(decode_row(acc.type, bits, s.negate_b));
    }
    for (uint32_t c = 0; c < s_.ctas; ++c)
      for (uint32_t row = 0; row < kTmemLanes; ++row) {
        std::vector<uint32_t> bits;
        for (uint32_t k = 0; k < depth; ++k) {
          if (!s.a_in_tmem) {
            bits.push_back(in_shared(c, s.a, row, k));
            continue;
          }
          // Elements of a row fill its cells from the low bits on.
          const uint32_t each = 4 / bytes, word = cell(c, column_of_fragment(s.fragment) + k / each, row);
          bits.push_back(bytes == 4 ? word : word >> 8 * bytes * (k % each) & ((1u << 8 * bytes) - 1));
        }
        const Row x = decode_row(acc.type, bits, s.negate_a);
        for (uint32_t n = 0; n < acc.n; ++n) {
          uint32_t& d = cell(c, column_of_accumulator(s.accumulator) + n, row);
          const auto scale = [&](uint32_t column, uint32_t r, uint32_t id) {
            return scale_of(true, cell(c, column + r / 32, r % 32) >> 8 * id & 0xff);
          };
          if (acc.type == Type::s8)
            d = reference_i8(x, columns[n], s.accumulate, d, false);
          else if (acc.scaled)
            d = reference_mxf8(x, columns[n], scale(kScaleA, row, s.sfa_id), scale(kScaleB, n, s.sfb_id), s.accumulate,
                               d);
          else
            d = reference_element(x, columns[n], s.accumulate, acc.half ? d & 0xffff : d, 0, acc.half);
        }
      }
  }

  const Script& s_;
  std::vector<uint8_t> image_[2];
  std::vector<uint32_t> tmem_[2];
  std::array<std::vector<uint32_t>, 2> out_;
};

class Programs : public testing::TestWithParam<uint32_t> {};

TEST_P(Programs, LeaveUnderEveryOrderWhatTheReferenceGets) {
  using Mode = tinygpu::CompletionOrder::Mode;
  for (uint32_t seed = 0; seed < program_count(12); ++seed) {
    const Script script = Writer(seed, GetParam()).write();
    const auto want = Sequential(script).run();
    const std::string text = Text(script).module();
    std::vector<uint8_t> data;
    for (uint32_t c = 0; c < script.ctas; ++c)
      for (const auto& b : script.blocks[c]) data.insert(data.end(), b.begin(), b.end());
    const tinygpu::CompletionOrder orders[] = {
        {Mode::timed, 0}, {Mode::late, 0}, {Mode::seeded, 1}, {Mode::seeded, seed + 2}};
    for (const auto& order : orders) {
      tinygpu::test::RunPtx gpu(text);
      gpu.gpu.options.order = order;
      gpu.dynamic_shared = kSlots * kSlotBytes;
      if (script.ctas == 2) gpu.cluster = {2};
      const uint32_t words = script.loaded_words();
      const uint64_t in = gpu.upload(data), out = gpu.buffer<uint32_t>(words * script.ctas);
      gpu.launch("program", tinygpu::Dim3{script.ctas}, tinygpu::Dim3{128}, in, uint32_t(data.size() / script.ctas),
                 out, words * 4);
      for (const auto& d : gpu.reports) ADD_FAILURE() << "program " << seed << ": " << d.code << ": " << d.message;
      for (uint32_t c = 0; c < script.ctas; ++c)
        ASSERT_EQ(gpu.download<uint32_t>(out + uint64_t(c) * words * 4, words), want[c])
            << "program " << seed << ", CTA " << c << ", order " << int(order.mode) << "/" << order.seed;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(CtaGroups, Programs, testing::Values(1u, 2u));

}  // namespace
}  // namespace gen5::test::program_test
