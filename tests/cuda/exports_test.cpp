// Every name that NVIDIA's libraries export is exported, under the version that programs ask for. What else they bring.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <string>

namespace {

#define TINYGPU_EXPORT(name) #name,
#define TINYGPU_EXPORT_PER_THREAD(name, suffix) #name #suffix,
#define TINYGPU_VERSIONED(name, current)
constexpr const char* kRuntime[] = {
#include "runtime_names.inc"
};
constexpr const char* kDriver[] = {
#include "driver_names.inc"
};

TEST(Exports, Runtime) {
  void* library = dlopen(CUDART_FILE, RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  EXPECT_GT(std::size(kRuntime), 400u);
  for (const char* name : kRuntime) EXPECT_TRUE(dlvsym(library, name, "libcudart.so.13")) << name;
}

TEST(Exports, Driver) {
  void* library = dlopen(CUDA_FILE, RTLD_NOW);
  ASSERT_TRUE(library) << dlerror();
  EXPECT_GT(std::size(kDriver), 600u);
  for (const char* name : kDriver) EXPECT_TRUE(dlsym(library, name)) << name;
}

// Programs built with --default-stream per-thread call these; they do what the plain functions do.
TEST(Exports, VariantsForStreamsPerThread) {
  void* driver = dlopen(CUDA_FILE, RTLD_NOW);
  void* runtime = dlopen(CUDART_FILE, RTLD_NOW);
  ASSERT_TRUE(driver && runtime) << dlerror();
  const auto driver_copy =
      reinterpret_cast<int (*)(uint64_t, const void*, size_t)>(dlsym(driver, "cuMemcpyHtoD_v2_ptds"));
  EXPECT_EQ(driver_copy(0, nullptr, 0), 3);  // CUDA_ERROR_NOT_INITIALIZED
  const auto runtime_copy =
      reinterpret_cast<int (*)(void*, const void*, size_t, int)>(dlsym(runtime, "cudaMemcpy_ptds"));
  EXPECT_EQ(runtime_copy(nullptr, nullptr, 0, 4), 0);
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
