// State that families keep with a warp, a CTA or an SM.
#include "common/tinygpu/machine/extension.h"

#include <gtest/gtest.h>

namespace tinygpu {
namespace {

struct Counter final : Extension {
  explicit Counter(int n = 0) : value(n) {}
  int value;
};
struct Other final : Extension {};

TEST(Extensions, AStateIsMadeOnceAndFoundFromThenOn) {
  Extensions e;
  EXPECT_EQ(e.find<Counter>(), nullptr);
  Other& other = e.get<Other>();
  EXPECT_EQ(e.find<Counter>(), nullptr);
  Counter& made = e.get<Counter>(7);
  EXPECT_EQ(made.value, 7);
  EXPECT_EQ(&e.get<Counter>(8), &made);
  EXPECT_EQ(e.find<Counter>(), &made);
  EXPECT_EQ(e.find<Other>(), &other);
  int states = 0;
  e.each([&](Extension&) { ++states; });
  EXPECT_EQ(states, 2);
}

template <int>
struct Numbered final : Extension {};

TEST(Extensions, ThereMayBeManyOfThem) {
  Extensions e;
  const auto make = [&]<int... n>(std::integer_sequence<int, n...>) {
    std::vector<Extension*> made = {&e.get<Numbered<n>>()...}, found = {e.find<Numbered<n>>()...};
    EXPECT_EQ(made, found);
  };
  make(std::make_integer_sequence<int, 9>());
  EXPECT_EQ(e.find<Counter>(), nullptr);
  EXPECT_EQ(e.get<Counter>(3).value, 3);
}

}  // namespace
}  // namespace tinygpu
