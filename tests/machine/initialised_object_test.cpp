// What a line of CUDA initialises, read from its text.
#include <gtest/gtest.h>

#include "common/tinygpu/base/initialised_object.h"

namespace tinygpu::test::initialised_object_test {
namespace {

TEST(InitialisedObject, IsTheFirstArgumentWithoutCastsAndCalls) {
  for (const auto& [line, object] : {
           std::pair{"  mbarrier_init(shared_address(&barriers.full[i]), 1);", "barriers.full[i]"},
           {"for (int i = 0; i < 4; ++i) mbarrier_init(smem_u32(full + i), 1);", "full + i"},
           {"    ptx::mbarrier_init(&shared->empty[s], kConsumers * 32);", "shared->empty[s]"},
           {"init_smem_barrier(static_cast<uint32_t>(__cvta_generic_to_shared(&bar)), 128);", "bar"},
           {"cutlass::arch::ClusterBarrier::init(reinterpret_cast<uint64_t*>(&storage.mma), 1);", "storage.mma"},
           {"initialize_barrier(smem.tma_barrier[0], 1);", "smem.tma_barrier[0]"},
           {"  init_barrier<kCount>((uint32_t)(done), 1);", "done"},
           {"mbarrier_init(\n      shared_address(&next),\n      1);", "next"},
       })
    EXPECT_EQ(initialised_object(line), object) << line;
}

TEST(InitialisedObject, IsTheReceiverOfAMember) {
  EXPECT_EQ(initialised_object("  storage.full[stage].init(1);"), "storage.full[stage]");
  EXPECT_EQ(initialised_object("if (warp == 0) pipe->empty_barrier_ptr[i]->init(n);"), "pipe->empty_barrier_ptr[i]");
  EXPECT_EQ(initialised_object("this->init(1);"), "");
}

TEST(InitialisedObject, IsNothingWhereTheTextNamesNone) {
  for (const char* line : {
           "asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" :: \"r\"(bar), \"r\"(count));",
           "__device__ void mbarrier_init(uint32_t bar, uint32_t count) {",
           "fence_mbarrier_init();",
           "mbarrier_init(",
           "x = initial + 1;",
           "",
           "mbarrier_init(0x100, 1);",
           "init(an_expression_that_no_reader + would_ever_take_for * the_name_of_anything + at[all], 1);",
       })
    EXPECT_EQ(initialised_object(line), "") << line;
}

TEST(OnlyIndex, IsTheNameInTheOnlyBrackets) {
  EXPECT_EQ(only_index("shared.full[i]"), "i");
  EXPECT_EQ(only_index("ring[stage_2].full"), "stage_2");
  for (const char* object :
       {"full", "full[0]", "full[2 * i]", "full[i][j]", "full[ring[i]]", "full[]", "full[i", "full]i["})
    EXPECT_EQ(only_index(object), std::nullopt) << object;
}

TEST(CountsFromZero, TakesAPlainZeroInTheFirstClauseOfALoop) {
  for (const char* text :
       {"for (int i = 0; i < 4; ++i)", "x;\n  for(uint32_t k=1,i=0;;) {", "for (int j = 0; ;) for (auto i\n= 0 ; ;)"})
    EXPECT_TRUE(counts_from_zero(text, "i")) << text;
  for (const char* text :
       {"for (int i = 1; i < 4; ++i)", "for (int i = 0x1; ;)", "for (int i = 01; ;)", "for (int ii = 0; i;)",
        "for (int pi = 0; ;)", "for (int j = 0; i = 0;)", "int i = 0;", "while (i = 0) {", "for (i == 0;;)", ""})
    EXPECT_FALSE(counts_from_zero(text, "i")) << text;
}

}  // namespace
}  // namespace tinygpu::test::initialised_object_test
