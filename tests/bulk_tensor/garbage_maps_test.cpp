// Tensor maps of random and extreme bits through every form that takes one: a diagnosis or a copy, in bounded time and
// in no other memory.
#include <array>
#include <random>

#include "tests/bulk_tensor/body.h"
#include "tests/bulk_tensor/map_bits.h"

namespace tinygpu::test {
namespace {

std::string list(int n) {
  std::string s = "%r1";
  for (int i = 2; i <= n; ++i) s += ", %r" + std::to_string(i);
  return s;
}

/// Every copy form, with coordinates of 0 in %r1 to %r5 and offsets of 1 in %h1 to %h3 unless told otherwise.
std::vector<std::string> forms() {
  const std::string load = "  cp.async.bulk.tensor.", tail = ".mbarrier::complete_tx::bytes [%buf], [%map, {",
                    group = "  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n",
                    wait = "  nanosleep.u32 30000;\n";
  const char* offsets[] = {"", "", "", ", {%h1}", ", {%h1, %h2}", ", {%h1, %h2, %h3}"};
  std::vector<std::string> out;
  for (int n = 1; n <= 5; ++n) {
    const std::string d = std::to_string(n) + "d", at = list(n) + "}]";
    out.push_back(load + d + ".shared::cluster.global" + tail + at + ", [%bar];\n" + wait);
    out.push_back("  cp.async.bulk.prefetch.tensor." + d + ".L2.global [%map, {" + at + ";\n");
    out.push_back(load + d + ".global.shared::cta.bulk_group [%map, {" + at + ", [%buf];\n" + group);
    for (const char* op : {"add", "min", "xor", "inc"})
      out.push_back("  cp.reduce.async.bulk.tensor." + d + ".global.shared::cta." + op + ".bulk_group [%map, {" + at +
                    ", [%buf];\n" + group);
    if (n < 3) continue;
    out.push_back(load + d + ".shared::cluster.global.im2col" + tail + at + ", [%bar]" + offsets[n] + ";\n" + wait);
    out.push_back(load + d + ".shared::cluster.global.im2col::w" + tail + at + ", [%bar], {%h1, %h2};\n" + wait);
    out.push_back(load + d + ".shared::cluster.global.im2col::w::128" + tail + at + ", [%bar], {%h1, %h2};\n" + wait);
    out.push_back("  cp.async.bulk.prefetch.tensor." + d + ".L2.global.im2col [%map, {" + at + offsets[n] + ";\n");
    out.push_back(load + d + ".global.shared::cta.im2col_no_offs.bulk_group [%map, {" + at + ", [%buf];\n" + group);
  }
  out.push_back(load + "2d.shared::cluster.global.tile::gather4" + tail + list(5) + "}], [%bar];\n" + wait);
  out.push_back("  cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%map, {" + list(5) + "}];\n");
  out.push_back(load + "2d.global.shared::cta.tile::scatter4.bulk_group [%map, {" + list(5) + "}], [%buf];\n" + group);
  return out;
}

const std::string kOperands = R"(
  ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%out]; ld.global.b32 %r5, [%out+16];
  ld.global.v4.b16 {%h1, %h2, %h3, %h4}, [%out+32];
)";

struct Garbage {
  std::mt19937_64 random{7};
  uint64_t bits() { return random(); }
  uint64_t pick(uint64_t n) { return random() % n; }
  /// Small, extreme, or anything.
  uint64_t number(uint64_t most) {
    switch (pick(4)) {
      case 0: return pick(4);
      case 1: return most - pick(3);
      case 2: return uint64_t(1) << pick(40);
      default: return bits();
    }
  }
  /// A map whose fields are plausible enough to pass for one, of this rank and mode mostly, or not.
  MapObject map(uint64_t address, uint64_t rank, bool im2col) {
    MapObject m;
    if (pick(8) == 0) {
      for (auto& b : m.bytes) b = uint8_t(bits());
      return m;
    }
    m.set(0, 64, pick(4) ? address + 16 * pick(64) : number(~0ull) & ~15ull);
    m.set(64, 1, pick(8) ? im2col : pick(2));
    m.set(65, 1, pick(2));
    m.set(68, 3, pick(8) ? rank - 1 : pick(5));
    m.set(71, 4, pick(2) ? 2 : pick(16));
    m.set(75, 2, pick(3) ? 0 : pick(4));
    m.set(77, 2, pick(4));
    m.set(79, 2, pick(4));
    m.set(83, 2, pick(4));
    for (int i = 0; i < 5; ++i) {
      m.set(256 + 32 * i, 32, pick(2) ? pick(64) : number(~0ull));
      m.set(416 + 3 * i, 3, pick(2) ? 0 : pick(8));
      if (i)
        m.set(96 + 32 * (i - 1), 32, pick(2) ? pick(8) : number(~0ull)),
            m.set(224 + 4 * (i - 1), 4, pick(4) ? 0 : pick(16));
    }
    constexpr int runs[] = {16, 32, 64, 128, 256, 128, 3};  // elements of dimension 0
    m.set(440, 8, uint64_t(runs[pick(7)] - 1));
    for (int i = 1; i < 5; ++i) m.set(440 + 8 * i, 8, pick(2) ? pick(4) : number(256));
    if (pick(2)) m.set(448, 8, 0);  // a box of one row
    return m;
  }
};

TEST(GarbageMaps, EveryFormEndsWithADiagnosisOrACopy) {
  Garbage g;
  int ran = 0, stopped = 0;
  for (const std::string& form : forms()) {
    SCOPED_TRACE(form);
    BulkRun b(kOperands + form);
    const uint64_t whole = b.run.gpu.memory.used();
    for (int round = 0; round < 300; ++round) {
      const MapObject map = g.map(b.in, uint64_t(form[form.find("d.", form.find("tensor.")) - 1] - '0'),
                                  form.find("im2col") != std::string::npos);
      std::memcpy(b.map.bytes, map.bytes.data(), 128);
      std::array<uint32_t, 12> operands{};
      for (int i = 0; i < 5 && round % 3; ++i)
        operands[size_t(i)] = uint32_t(round % 3 == 1 ? g.pick(3) * 16 : g.number(1ull << 31));
      for (int i = 8; i < 10 && round % 2; ++i) operands[size_t(i)] = uint32_t(g.number(0xffffffff));
      std::memcpy(b.run.gpu.memory.translate(b.out, sizeof operands), operands.data(), sizeof operands);
      try {
        b.run.launch("k", {1}, {1}, b.in, b.out, b.map);
        ++ran;
      } catch (const KernelFault& f) {
        ++stopped;
        EXPECT_FALSE(f.diagnosis.help.empty()) << f.diagnosis.code;
        EXPECT_NE(f.diagnosis.kind, FaultKind::deadlock) << f.diagnosis.message;
      }
    }
    EXPECT_EQ(b.run.gpu.memory.used(), whole);
  }
  EXPECT_GT(ran, 100);
  EXPECT_GT(stopped, 1000);
}

// 256^4 rows are 0 modulo 2^32.
TEST(GarbageMaps, ABoxOfMoreRowsThan32BitsCount) {
  MapFields m;
  m.rank = 5;
  m.type = 2;
  for (int i = 0; i < 5; ++i) m.dim[i] = 1ull << 32, m.box[i] = i ? 256 : 4, m.stride[i] = i ? 16 : 0;
  const auto stop_of = [&](const std::string& text) {
    BulkRun b(text);
    m.address = b.in;
    const MapObject object = make_map(m);
    std::memcpy(b.map.bytes, object.bytes.data(), 128);
    return b.fault();
  };
  Diagnosis d = stop_of(
      "  cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%map, {0, 0, 0, 0, 0}], "
      "[%bar];\n");
  EXPECT_EQ(d.code, "shared-out-of-bounds");
  EXPECT_THAT(d.message, ::testing::HasSubstr("a tensor load of 4294967296 rows of 16 bytes"));
  d = stop_of("  cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%map, {0, 0, 0, 0, 0}], [%buf];\n");
  EXPECT_EQ(d.code, "shared-out-of-bounds");
  EXPECT_THAT(d.message, ::testing::HasSubstr("a tensor store of 4294967296 rows"));
  d = stop_of("  cp.async.bulk.prefetch.tensor.5d.L2.global [%map, {0, 0, 0, 0, 0}];\n");
  EXPECT_EQ(d.kind, FaultKind::not_modelled);
  EXPECT_THAT(d.message, ::testing::HasSubstr("a tensor prefetch of 4294967296 rows"));
}

}  // namespace
}  // namespace tinygpu::test
