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

}  // namespace
}  // namespace tinygpu::test::initialised_object_test
