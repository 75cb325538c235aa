// tinygpu against an H200: mma.sp.sync, wmma and the rounding modes of f64; the same PTX on the same operands.
#include "tests/conformance/hashed_check.h"
#include "tests/conformance/warp_matrices/cases.h"

namespace conformance::warp_matrices {
namespace {

const warp::HashedGolden& golden() {
  static const warp::HashedGolden g = warp::read_hashed(GOLDEN_FILE, all_cases());
  return g;
}

class WarpMatrices : public ::testing::TestWithParam<std::string> {};

TEST_P(WarpMatrices, AgreesWithTheH200) { warp::expect_golden(all_cases(), golden(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Groups, WarpMatrices, ::testing::ValuesIn(warp::groups_of(all_cases())),
                         [](const auto& p) { return p.param; });

TEST(WarpMatricesGolden, SaysWhereItComesFrom) {
  EXPECT_NE(golden().header.at("device").find("H200"), std::string::npos);
  for (const char* key : {"driver", "date", "assembler"}) EXPECT_FALSE(golden().header.at(key).empty()) << key;
}

}  // namespace
}  // namespace conformance::warp_matrices
