// Which cell each register is: every form of tcgen05.ld and .st against the literal tables of cute_maps.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/run_ptx.h"
#include "tests/tmem/cute_maps.h"
#include "tests/tmem/kernel_text.h"

namespace tinygpu::test {
namespace {

TEST(CuteMaps, RepeatingX4GivesTheHashes) {
  ASSERT_EQ(cute_maps().size(), 74u);
  int hashed = 0;
  for (const CuteMap& m : cute_maps())
    if (!m.literal) {
      ++hashed;
      EXPECT_EQ(hash_of(m), m.hash) << m.suffix() << m.pack;
    }
  EXPECT_EQ(hashed, 44);
}

/// A form at a place of its own.
struct Form {
  const CuteMap& m;
  // Not 0 and not a multiple of anything; the second half of 16x32bx2 lies elsewhere.
  const uint32_t span = m.split() ? 2 * m.columns + 3 : m.columns;
  const uint32_t column = std::min(37u, 512 - std::min(span, 512u));
  const uint32_t offset = m.split() ? std::min(m.columns + 3, 512 - m.columns - column) : 0;
  const uint32_t start = m.lanes() == 16 ? 16 : 0;  // upper half of the partition
  std::string address() const { return fmt::format("%mine+{}", (start << 16) + column); }
  std::pair<uint32_t, uint32_t> absolute(uint32_t thread, uint32_t r) const {
    const MapCell c = m.cell(thread % 32, r);
    const uint32_t half = m.split() && thread % 32 >= 16 ? offset : 0;
    return {thread / 32 * 32 + start + c.lane, column + half + c.column};
  }
};

void check_load(const CuteMap& m) {
  const Form form{m};
  TmemKernel k;
  k.body = fill_all() +
           ld(m.suffix() + (m.pack ? ".pack::16b" : ""), m.registers, form.address(), 0, std::to_string(form.offset)) +
           "  tcgen05.wait::ld.sync.aligned;\n" + store_registers(0, m.registers, m.registers);
  RunPtx run(k.text());
  const uint64_t out = run.buffer<uint32_t>(128 * m.registers);
  run.launch("k", {1}, {128}, uint64_t(0), out);
  const auto got = run.download<uint32_t>(out, 128 * m.registers);
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t r = 0; r < m.registers; ++r) {
      const auto [lane, col] = form.absolute(t, r);
      const uint32_t want =
          m.pack ? (fill_value(lane, col) & 0xffff) | fill_value(lane, col + 1) << 16 : fill_value(lane, col);
      ASSERT_EQ(got[t * m.registers + r], want)
          << "thread " << t << " register " << r << " lane " << lane << " column " << col;
    }
  EXPECT_TRUE(run.reports.empty());
}

void check_store(const CuteMap& m) {
  const Form form{m};
  TmemKernel k;
  k.body = fill_all();
  // Register r of thread t holds t << 8 | r, its complement above.
  k.body += "  shl.b32 %fill, %t, 8;\n";
  for (uint32_t r = 0; r < m.registers; ++r)
    k.body +=
        fmt::format("  add.u32 %a0, %fill, {}; not.b32 %a1, %a0; shl.b32 %a1, %a1, 16; or.b32 %r{}, %a0, %a1;\n", r, r);
  k.body +=
      st(m.suffix() + (m.pack ? ".unpack::16b" : ""), m.registers, form.address(), 0, std::to_string(form.offset)) +
      "  tcgen05.wait::st.sync.aligned;\n";
  for (uint32_t c = 0; c < 512; c += 64)
    k.body += ld("32x32b.x64", 64, fmt::format("%mine+{}", c)) + "  tcgen05.wait::ld.sync.aligned;\n" +
              store_registers(0, 64, 512, c);
  RunPtx run(k.text());
  const uint64_t out = run.buffer<uint32_t>(128 * 512);
  run.launch("k", {1}, {128}, uint64_t(0), out);
  const auto got = run.download<uint32_t>(out, 128 * 512);
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> want;
  for (uint32_t t = 0; t < 128; ++t)
    for (uint32_t r = 0; r < m.registers; ++r) {
      const auto [lane, col] = form.absolute(t, r);
      const uint32_t v = (t << 8 | r) | ~(t << 8 | r) << 16;
      if (m.pack) {
        want[{lane, col}] = v & 0xffff;
        want[{lane, col + 1}] = v >> 16;
      } else {
        want[{lane, col}] = v;
      }
    }
  if (!m.split()) {
    EXPECT_EQ(want.size(), 4 * m.lanes() * m.columns);
  }
  for (uint32_t lane = 0; lane < 128; ++lane)
    for (uint32_t c = 0; c < 512; ++c) {
      const auto it = want.find({lane, c});
      ASSERT_EQ(got[lane * 512 + c], it == want.end() ? fill_value(lane, c) : it->second)
          << "lane " << lane << " column " << c;
    }
  EXPECT_TRUE(run.reports.empty());
}

class Shape : public testing::TestWithParam<const char*> {
 protected:
  template <class F>
  void each_form(F&& f) const {
    for (const CuteMap& m : cute_maps())
      if (m.shape == GetParam()) {
        SCOPED_TRACE(m.suffix() + (m.pack ? " packed" : ""));
        f(m);
      }
  }
};
TEST_P(Shape, LoadsReadTheCellsOfTheTable) { each_form(check_load); }
TEST_P(Shape, StoresWriteTheCellsOfTheTableAndNoOthers) { each_form(check_store); }
INSTANTIATE_TEST_SUITE_P(Tcgen05, Shape, testing::Values("32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"),
                         [](const auto& info) { return "s" + std::string(info.param); });

}  // namespace
}  // namespace tinygpu::test
