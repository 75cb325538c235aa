#include "common/harness/table.h"

#include <gtest/gtest.h>

namespace {

using namespace gen5::harness;

TEST(Table, AlignsByCharactersNotBytes) {
  Table t({"step", "µs"});
  t.row({"ring", "12.5"});
  t.row({"×2", "3"});
  EXPECT_EQ(t.render(), "  step    µs\n  ----------\n  ring  12.5\n  ×2       3\n");
}

TEST(Table, Numbers) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1048576), "1,048,576");
  EXPECT_EQ(with_unit(1000), "1000 B");
  EXPECT_EQ(with_unit(1536), "1.5 KiB");
  EXPECT_EQ(with_unit(3ull << 30), "3.0 GiB");
}

}  // namespace
