// Every name that NVIDIA's libraries export is exported, under the version that programs ask for.
#include <dlfcn.h>
#include <gtest/gtest.h>

namespace {

#define TINYGPU_EXPORT(name) #name,
#define TINYGPU_EXPORT_PER_THREAD(name, suffix) #name #suffix,
constexpr const char* kRuntime[] = {
#include "common/tinygpu/cuda/runtime_names.inc"
#include "common/tinygpu/cuda/runtime_per_thread_names.inc"
};
constexpr const char* kDriver[] = {
#include "common/tinygpu/cuda/driver_names.inc"
#include "common/tinygpu/cuda/driver_per_thread_names.inc"
};

TEST(Exports, Runtime) {
  void* library = dlopen(CUDART_FILE, RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  EXPECT_EQ(std::size(kRuntime), 422u);  // and the version symbol itself
  for (const char* name : kRuntime) EXPECT_TRUE(dlvsym(library, name, "libcudart.so.13")) << name;
}

TEST(Exports, Driver) {
  void* library = dlopen(CUDA_FILE, RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  EXPECT_GT(std::size(kDriver), 600u);
  for (const char* name : kDriver) EXPECT_TRUE(dlsym(library, name)) << name;
}

}  // namespace
