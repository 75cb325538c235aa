// tinygpu against an H200: video instructions and isspacep; the same PTX on the same operands.
#include "tests/conformance/hashed_check.h"
#include "tests/conformance/video/cases.h"

namespace conformance::video {
namespace {

const warp::HashedGolden& golden() {
  static const warp::HashedGolden g = warp::read_hashed(GOLDEN_FILE, all_cases());
  return g;
}

class Video : public ::testing::TestWithParam<std::string> {};

TEST_P(Video, AgreesWithTheH200) { warp::expect_golden(all_cases(), golden(), GetParam()); }

INSTANTIATE_TEST_SUITE_P(Groups, Video, ::testing::ValuesIn(warp::groups_of(all_cases())),
                         [](const auto& p) { return p.param; });

TEST(VideoGolden, SaysWhereItComesFrom) {
  EXPECT_NE(golden().header.at("device").find("H200"), std::string::npos);
  for (const char* key : {"driver", "date", "assembler"}) EXPECT_FALSE(golden().header.at(key).empty()) << key;
}

}  // namespace
}  // namespace conformance::video
