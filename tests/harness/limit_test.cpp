// What limited a kernel, from its profile.
#include "common/harness/limit.h"

#include <gtest/gtest.h>

namespace {

using namespace gen5::harness;

nlohmann::json profile(double busy) {
  return {{"kernel", "k"},
          {"tensor_core",
           {{"busy", busy},
            {"idle",
             {{{"for", "epilogue"}, {"share", 0.02}},
              {{"for", "loads"}, {"share", 0.3}},
              {{"for", "new"}, {"share", 0.1}}}}}}};
}

TEST(Limit, IsWhatTheTensorCoreWaitedForMost) {
  const TensorCoreTime t = tensor_core_time(profile(0.4));
  EXPECT_EQ(t.limit().what, "loads");
  EXPECT_EQ(t.limit().share, 0.3);
  EXPECT_EQ(t.sentence(),
            "The tensor core was busy for 40 % of the kernel's cycles. 30 %: it waited for loads to land. 10 %: new.");
}

TEST(Limit, IsTheTensorCoreWhereThatIsBusyForMoreThanHalf) {
  EXPECT_EQ(tensor_core_time(profile(0.51)).limit().what, "tensor core");
  EXPECT_EQ(tensor_core_time(profile(0.51)).limit().share, 0.51);
  EXPECT_EQ(tensor_core_time({{"tensor_core", {{"busy", 0.2}}}}).limit().what, "tensor core");
}

TEST(Limit, IsNotKnownOfAKernelWithoutMmas) {
  EXPECT_TRUE(has_tensor_core_time(profile(0.1)));
  EXPECT_FALSE(has_tensor_core_time({{"kernel", "k"}}));
  EXPECT_FALSE(has_tensor_core_time(nlohmann::json::object()));
}

}  // namespace
