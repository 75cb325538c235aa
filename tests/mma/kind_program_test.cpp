// Random programs of tcgen05.mma of every kind: two MMAs' operands at a time, of any kinds, dense or sparse, .ws or
// not, alone or in pairs; each multiplied several times into accumulators of its own or into one that both share, with
// scale factors of other ids, other signs, other columns zeroed, lanes left out, collector buffers filled and used
// again; then other operands in the same places. Under every order of completion they leave what the second reference
// gets that runs them one after another. GEN5_MMA_PROGRAMS=N runs N of each CTA group.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "tests/mma/kind_case.h"
#include "tests/mma/program_text.h"

namespace gen5::test::kind_program_test {
namespace {

constexpr uint32_t kSets = 2;
// Accumulators lie in the columns below kAColumn. Each set has its own A, scale factors and metadata behind them.
constexpr uint32_t kAccumulatorColumns = kAColumn, kSetColumns = kColumns - kAColumn;
constexpr uint32_t kAllColumns = kAccumulatorColumns + kSets * kSetColumns;

/// Scale factors of one id.
struct Factors {
  std::vector<uint32_t> a, b;
};
struct Set {
  KindCase c;
  std::map<uint32_t, Factors> factors;  // by id
};
struct Step {
  uint32_t set = 0;
  KindCase c;  // without images and cells
  bool waits = false;
};
struct Phase {
  std::array<Set, kSets> sets;
  std::vector<Step> steps;
};
struct Program {
  bool pair = false;
  uint32_t issuer = 0;
  std::vector<Phase> phases;
  uint32_t ctas() const { return pair ? 2 : 1; }
};

class Writer {
 public:
  Writer(uint32_t seed, bool pair) : random_(seed * 2 + pair) { program_.pair = pair; }

  Program write() {
    program_.issuer = program_.pair ? random_.below(2) : 0;
    for (uint32_t i = 0, n = 1 + random_.below(2); i < n; ++i) phase();
    return program_;
  }

 private:
  Set set(uint32_t index, bool shared) {
    constexpr const char* kKinds[] = {"f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"};
    for (;;) {
      const std::string kind = kKinds[random_.below(7)];
      const bool sparse = random_.chance(3), ws = !program_.pair && kind[0] != 'm' && !random_.chance(3);
      Set s;
      s.c = random_kind_case(random_, kind, sparse, ws, program_.pair, random_());
      // Others take the reference long.
      if (s.c.width() > kAccumulatorColumns / 2 || s.c.n > (ws ? 128u : 64u)) continue;
      const uint32_t region = shared ? 0 : index * kAccumulatorColumns / 2;
      s.c.d_column = region + random_.below(kAccumulatorColumns / 2 - s.c.width() + 1);
      // Factors of every id, of which the other ids' are those of other rows.
      const uint32_t a_id = s.c.sfa_id, b_id = s.c.sfb_id;
      for (uint32_t id = 0; s.c.scales && id + s.c.scales <= 4; id += s.c.scales) {
        std::rotate(s.c.a_scale.begin(), s.c.a_scale.begin() + 5 * s.c.scales, s.c.a_scale.end());
        std::rotate(s.c.b_scale.begin(), s.c.b_scale.begin() + 3 * s.c.scales, s.c.b_scale.end());
        s.c.sfa_id = s.c.sfb_id = id;
        s.factors[id] = {s.c.a_scale, s.c.b_scale};
        s.c.place();
      }
      s.c.sfa_id = a_id, s.c.sfb_id = b_id;
      s.c.collector.clear();
      return s;
    }
  }

  /// What of an MMA may be otherwise on the same operands.
  KindCase varied(const Set& s, std::string& filled_b, std::string& filled_a, const std::string& name) {
    KindCase c = s.c;
    for (uint32_t cta = 0; cta < 2; ++cta) c.image[cta].clear(), c.tmem[cta].clear();
    c.accumulate = !random_.chance(5);
    if (c.kind != "i8") c.negate_a = random_.chance(3), c.negate_b = random_.chance(3);
    if (c.scales) {
      const uint32_t ids = 4 / c.scales;
      c.sfa_id = c.scales * random_.below(ids), c.sfb_id = c.scales * random_.below(ids);
      c.a_scale = s.factors.at(c.sfa_id).a, c.b_scale = s.factors.at(c.sfb_id).b;
    }
    if (c.masked)
      for (auto& w : c.mask) w = random_.chance(2) ? random_() : 0;
    if (c.zero_columns) {
      // B lies where the column shift has it.
      c.zero_columns &= uint64_t(63) << 56 | uint64_t(1) << 39;
      for (uint32_t i = 0; i < 4; ++i) c.zero_columns |= uint64_t(random_.below(12)) << 8 * i;
      c.zero_columns |=
          uint64_t(random_() & 15) << 32 | uint64_t(random_.below(8)) << 40 | uint64_t(random_.below(8)) << 48;
    }
    // An MMA of no usage lets go of A's buffer, or of B's first.
    std::string& filled = c.ws ? filled_b : filled_a;
    if (random_.chance(4)) {
      if (!c.ws || buffer_ == 0) filled.clear();
      return c;
    }
    const std::string buffer = c.ws ? fmt::format("b{}", buffer_) : "a";
    const bool usable = filled == name;
    const char* usage = usable ? std::array{"use", "use", "lastuse", "fill", "discard"}[random_.below(5)]
                               : std::array{"fill", "fill", "discard"}[random_.below(3)];
    c.collector = fmt::format(".collector::{}::{}", buffer, usage);
    if (usage == std::string("fill")) filled = name;
    if (usage == std::string("lastuse") || usage == std::string("discard")) filled.clear();
    return c;
  }

  void phase() {
    program_.phases.emplace_back();
    Phase& p = program_.phases.back();
    // MMAs of other kinds or shapes on the same cells have no order but through a wait.
    const bool shared = random_.chance(3);
    for (uint32_t i = 0; i < kSets; ++i) p.sets[i] = set(i, shared);
    std::string filled_b, filled_a;  // by which set
    buffer_ = random_.below(4);
    uint32_t last = kSets;
    for (uint32_t i = 0, n = 3 + random_.below(5); i < n; ++i) {
      Step s;
      s.set = random_.below(kSets);
      s.c = varied(p.sets[s.set], filled_b, filled_a, std::to_string(s.set));
      s.waits = (shared && last != kSets && last != s.set) || random_.chance(6);
      last = s.set;
      p.steps.push_back(std::move(s));
    }
  }

  Random random_;
  Program program_;
  uint32_t buffer_ = 0;  // of B's collectors, in this phase
};

// ---- Memory and PTX

/// What CTA `cta` loads: of each phase both images, then cells, column after column.
constexpr uint32_t kPhaseBytes = kSets * kImageBytes + kAllColumns * kLanes * 4;

uint32_t first_column_loaded(uint32_t phase) { return phase ? kAccumulatorColumns : 0; }

std::vector<uint32_t> cells_of(const Phase& p, uint32_t cta) {
  std::vector<uint32_t> cells = p.sets[0].c.tmem[cta];
  const auto& other = p.sets[1].c.tmem[cta];
  cells.insert(cells.end(), other.begin() + kAColumn * kLanes, other.end());
  return cells;
}

std::vector<uint8_t> data_of(const Program& program, uint32_t cta) {
  std::vector<uint8_t> data;
  for (const Phase& p : program.phases) {
    for (const Set& s : p.sets) data.insert(data.end(), s.c.image[cta].begin(), s.c.image[cta].end());
    const auto cells = cells_of(p, cta);
    const auto* bytes = reinterpret_cast<const uint8_t*>(cells.data());
    data.insert(data.end(), bytes, bytes + cells.size() * 4);
  }
  return data;
}

/// `body` for columns `first` to `end` in steps of eight, of which %addr is the place in Tensor Memory; %a counts on
/// from `from` by 4096 bytes.
std::string each_eight_columns(uint32_t label, const std::string& from, uint32_t first, uint32_t end,
                               const std::string& body) {
  return fmt::format(
      "mov.b64 %a, {};\nadd.u32 %addr, %lanes, {};\nmov.b32 %size, {};\nCOLUMNS{}:\n{}add.u64 %a, %a, 4096;\n"
      "add.u32 %addr, %addr, 8;\nadd.u32 %size, %size, 8;\nsetp.lt.u32 %p, %size, {};\n@%p bra COLUMNS{};\n",
      from, first, first, label, body, end, label);
}

void load(ProgramText& text, uint32_t phase) {
  const uint32_t loop = text.label(), first = first_column_loaded(phase);
  text.add(
      fmt::format("bar.sync 0;\nadd.u64 %a, %data, {};\nmov.b32 %addr, %img;\nmov.b32 %size, 0;\nBYTES{}:\n"
                  "ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%a];\nst.shared.v4.b32 [%addr], {{%v0, %v1, %v2, "
                  "%v3}};\nadd.u64 %a, %a, 2048;\nadd.u32 %addr, %addr, 2048;\nadd.u32 %size, %size, 2048;\n"
                  "setp.lt.u32 %p, %size, {};\n@%p bra BYTES{};\nfence.proxy.async.shared::cta;\n",
                  phase * kPhaseBytes, loop, kSets * kImageBytes, loop));
  std::string store;
  for (uint32_t w = 0; w < 8; ++w) store += fmt::format("ld.global.b32 %v{}, [%a+{}];\n", w, 512 * w);
  store += "tcgen05.st.sync.aligned.32x32b.x8.b32 [%addr], " + ProgramText::values() + ";\n";
  text.add(fmt::format("add.u64 %b, %words, {};\n", phase * kPhaseBytes + kSets * kImageBytes + 4 * kLanes * first) +
           each_eight_columns(text.label(), "%b", first, kAllColumns, store) + "tcgen05.wait::st.sync.aligned;\n");
  text.touched();
}

void issue(ProgramText& text, const Step& s) {
  const KindCase& c = s.c;
  const uint32_t set = kSetColumns * s.set, image = kImageBytes * s.set;
  std::string body = fmt::format("add.u64 %adesc, %start, {};\nadd.u64 %bdesc, %start, {};\n",
                                 c.a_in_tmem ? 0 : c.a.descriptor(image), c.b.descriptor(image));
  const auto address = [&](const char* name, uint32_t at) {
    body += fmt::format("add.u32 %{}, %base, {};\n", name, at);
  };
  address("d", c.lane << 16 | c.d_column);
  address("at", (c.lane << 16 | kAColumn) + set);
  address("meta", (c.lane << 16 | kMetadataColumn) + set);
  address("sfa", kScaleAColumn + set);
  address("sfb", kScaleBColumn + set);
  body += fmt::format("mov.b32 %idesc, {};\nmov.b64 %zero, {};\nsetp.ne.u32 %en, {}, 0;\n", c.idesc(), c.zero_columns,
                      int(c.accumulate));
  for (uint32_t i = 0; i < 8; ++i) body += fmt::format("mov.b32 %m{}, {};\n", i, c.mask[i]);
  text.issue(body + c.instruction() + "\n");
}

std::string text_of(const Program& program) {
  ProgramText text(program.ctas(),
                   "  .reg .b32 %d, %at, %meta, %sfa, %sfb, %idesc, %m0, %m1, %m2, %m3, %m4, %m5, %m6, %m7;\n"
                   "  .reg .b64 %adesc, %bdesc, %zero;",
                   program.issuer);
  uint32_t barrier = 0;
  const auto complete = [&] {
    text.commit(barrier);
    text.wait(barrier);
    barrier = (barrier + 1) % ProgramText::kBarriers;
  };
  for (uint32_t i = 0; i < program.phases.size(); ++i) {
    load(text, i);
    for (const Step& s : program.phases[i].steps) {
      if (s.waits) complete();
      issue(text, s);
    }
    complete();
    text.meet();
  }
  std::string store =
      "tcgen05.ld.sync.aligned.32x32b.x8.b32 " + ProgramText::values() + ", [%addr];\ntcgen05.wait::ld.sync.aligned;\n";
  for (uint32_t w = 0; w < 8; ++w) store += fmt::format("st.global.b32 [%a+{}], %v{};\n", 512 * w, w);
  text.add(each_eight_columns(text.label(), "%out", 0, kAllColumns, store));
  return text.module();
}

/// One operation after another.
std::array<std::vector<uint32_t>, 2> expected(const Program& program) {
  std::array<std::vector<uint32_t>, 2> cells;
  for (size_t i = 0; i < program.phases.size(); ++i) {
    const Phase& p = program.phases[i];
    for (uint32_t cta = 0; cta < program.ctas(); ++cta) {
      const auto loaded = cells_of(p, cta);
      const size_t from = first_column_loaded(uint32_t(i)) * kLanes;
      cells[cta].resize(loaded.size());
      std::copy(loaded.begin() + from, loaded.end(), cells[cta].begin() + from);
    }
    for (const Step& s : p.steps) {
      KindCase c = s.c;
      for (uint32_t cta = 0; cta < program.ctas(); ++cta)
        c.tmem[cta].assign(cells[cta].begin(), cells[cta].begin() + kColumns * kLanes);
      const auto after = c.expected();
      for (uint32_t cta = 0; cta < program.ctas(); ++cta)
        std::copy_n(after[cta].begin(), kAccumulatorColumns * kLanes, cells[cta].begin());
    }
  }
  return cells;
}

std::string describe(const Program& program) {
  std::string out;
  for (const Phase& p : program.phases)
    for (const Step& s : p.steps)
      out += fmt::format("{}set {} column {}: {}\n", s.waits ? "wait, " : "", s.set, s.c.d_column, s.c.describe());
  return out;
}

class KindPrograms : public testing::TestWithParam<bool> {};

TEST_P(KindPrograms, LeaveUnderEveryOrderWhatTheReferenceGets) {
  using Mode = tinygpu::CompletionOrder::Mode;
  for (uint32_t seed = 0; seed < program_count(GetParam() ? 30 : 70) && !HasFailure(); ++seed) {
    const Program program = Writer(seed, GetParam()).write();
    const std::string text = text_of(program);
    const auto want = expected(program);
    std::vector<uint8_t> data;
    for (uint32_t cta = 0; cta < program.ctas(); ++cta) {
      const auto of_cta = data_of(program, cta);
      data.insert(data.end(), of_cta.begin(), of_cta.end());
    }
    const tinygpu::CompletionOrder orders[] = {{Mode::timed, 0}, {Mode::late, 0}, {Mode::seeded, seed + 2}};
    for (const auto& order : orders) {
      tinygpu::test::RunPtx gpu(text);
      gpu.gpu.options.order = order;
      gpu.dynamic_shared = kSets * kImageBytes;
      if (program.pair) gpu.cluster = {2};
      constexpr uint32_t kWords = kAllColumns * kLanes;
      const uint64_t in = gpu.upload(data), out = gpu.buffer<uint32_t>(kWords * program.ctas());
      gpu.launch("program", tinygpu::Dim3{program.ctas()}, tinygpu::Dim3{128}, in,
                 uint32_t(data.size() / program.ctas()), out, kWords * 4);
      for (const auto& d : gpu.reports)
        ADD_FAILURE() << "program " << seed << ": " << d.code << ": " << d.message << "\n" << describe(program);
      for (uint32_t cta = 0; cta < program.ctas(); ++cta) {
        const auto got = gpu.download<uint32_t>(out + uint64_t(cta) * kWords * 4, kWords);
        const auto at = std::mismatch(got.begin(), got.end(), want[cta].begin());
        if (at.first == got.end()) continue;
        const size_t word = size_t(at.first - got.begin());
        FAIL() << "program " << seed << ", CTA " << cta << ", order " << int(order.mode) << "/" << order.seed
               << ": lane " << word % kLanes << ", column " << word / kLanes << std::hex << ": expected " << *at.second
               << ", got " << *at.first << "\n"
               << describe(program);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(CtaGroups, KindPrograms, testing::Bool(),
                         [](const auto& info) { return info.param ? "pairs" : "alone"; });

}  // namespace
}  // namespace gen5::test::kind_program_test
