// Every name that NVIDIA's libraries export is exported, under the version that programs ask for. What else they bring.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <string>

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

// A library with threads of its own takes its locks when the process ends. One that another thread held at the moment
// of a fork() is never free in the child, which then waits for it forever: oneTBB did that, once in tens of thousands.
TEST(Exports, NoLibraryWithThreadsOfItsOwnComesWithThem) {
  ASSERT_TRUE(dlopen(CUDART_FILE, RTLD_NOW) && dlopen(CUDA_FILE, RTLD_NOW)) << dlerror();
  std::string mapped;
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* to) {
        *static_cast<std::string*>(to) += object->dlpi_name + std::string("\n");
        return 0;
      },
      &mapped);
  EXPECT_NE(mapped.find("libtinygpu"), std::string::npos) << mapped;
  for (const char* name : {"libtbb", "libgomp", "libomp"}) EXPECT_EQ(mapped.find(name), std::string::npos) << mapped;
}

}  // namespace
