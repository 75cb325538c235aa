// Runtime and driver calls with any arguments: an input is a sequence of calls. Handles and device pointers are live,
// dead or no handles at all; sizes are what overflows. Host memory that a call is given is there, as it would have to
// be on hardware. Every input ends with cudaDeviceReset.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/fuzz/guarded.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/pack.h"
#include "tests/fuzz/target.h"

using gen5::fuzz::Input;

namespace {

constexpr size_t kDeviceBytes = 4 << 20, kHostBytes = 8 << 20, kGap = size_t(1) << 36;

const char kModule[] = R"(.version 9.0
.target sm_100a
.address_size 64
.visible .global .align 4 .u32 counter = 7;
.visible .const .align 4 .u32 table[4] = {1, 2, 3, 4};
.visible .global .align 8 .attribute(.managed) .u64 shared_word;
.visible .entry add(.param .u64 p, .param .u32 n)
{
  .reg .u64 %rd<3>; .reg .u32 %r<4>; .reg .pred %p;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; setp.ge.u32 %p, %r2, %r1; @%p bra E;
  mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r3, [%rd1]; add.u32 %r3, %r3, 1; st.global.u32 [%rd1], %r3;
E: ret;
}
.visible .entry pair() .reqnctapercluster 2, 1, 1
{
  barrier.cluster.arrive; barrier.cluster.wait; ret;
}
.visible .entry big(.param .align 8 .b8 block[64]) .maxntid 64, 1, 1
{
  .shared .align 16 .b8 mine[1024]; .extern .shared .align 16 .b8 more[];
  .reg .u32 %r<2>;
  mov.u32 %r1, %tid.x; st.shared.u32 [more], %r1; bar.sync 0; ret;
}
)";

const std::string& fatbin() {
  static const std::string bytes = gen5::fuzz::read_file(std::string(CUDA_TEST_DATA) + "/tiny_size.fatbin");
  return bytes;
}

/// What one input has made, and what it passes on.
struct Session {
  explicit Session(Input& i) : in(i) {}
  Input& in;
  std::vector<void*> pointers, handles;
  std::vector<CUlibrary> libraries;  // they outlive a reset

  uint64_t number() {
    switch (in.byte() % 10) {
      case 0: return in.byte();
      case 1: return in.take<uint16_t>();
      case 2: return in.take<uint32_t>();
      case 3: return in.take<uint64_t>();
      case 4: return uint64_t(0) - in.byte();
      case 5: return uint64_t(1) << (in.byte() & 63);
      case 6: return (uint64_t(1) << (in.byte() & 63)) - 1;
      case 7: return kDeviceBytes - in.byte();
      case 8: return 512;
      default: return 16;
    }
  }
  /// Live or dead device memory and its surroundings, or any number.
  void* device() {
    const uint8_t how = in.byte();
    if (how % 8 == 7 || pointers.empty()) return reinterpret_cast<void*>(how % 2 ? number() : 0);
    char* const p = static_cast<char*>(pointers[how / 8 % pointers.size()]);
    return how % 8 < 4 ? p : reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(p) + number());
  }
  /// A handle that some call gave, of this or another kind, or none.
  template <class T>
  T handle() {
    const uint8_t how = in.byte();
    if (how % 8 == 7 || handles.empty()) return reinterpret_cast<T>(how % 2 ? number() : how / 16);
    return static_cast<T>(handles[how / 8 % handles.size()]);
  }
  template <class T>
  T* out(T& value) {
    return in.byte() % 16 == 15 ? nullptr : &value;
  }
  template <class T>
  void keep(T h) {
    handles.push_back(reinterpret_cast<void*>(h));
  }
  void keep_pointer(const void* p) {
    if (p) pointers.push_back(const_cast<void*>(p));
  }
  /// kHostBytes, and a gap behind them that no access can reach across.
  static char* host() {
    static char* const memory = [] {
      void* const p = mmap(nullptr, kHostBytes + kGap, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (p == MAP_FAILED || mprotect(p, kHostBytes, PROT_READ | PROT_WRITE)) std::abort();
      return static_cast<char*>(p);
    }();
    return memory;
  }
  cudaMemcpyKind kind() { return cudaMemcpyKind(in.byte() % 6); }
  /// A copy's ends for a kind: device memory, or host memory that holds whatever device memory can. Where CUDA finds
  /// out which it is, memory that it doesn't know is the program's own, and no number may lead there.
  void* end(cudaMemcpyKind k, bool on_host) {
    void* const p = on_host ? host() : device();
    cudaPointerAttributes a{};
    const bool known =
        k != cudaMemcpyDefault || (!cudaPointerGetAttributes(&a, p) && a.type != cudaMemoryTypeUnregistered);
    return known ? p : host();
  }
  static bool to_host(cudaMemcpyKind k) { return k == cudaMemcpyDeviceToHost || k == cudaMemcpyHostToHost; }
  static bool from_host(cudaMemcpyKind k) { return k == cudaMemcpyHostToDevice || k == cudaMemcpyHostToHost; }
  /// A pitch with which `height` rows of host memory are there.
  size_t host_pitch(size_t height) {
    const size_t pitch = number();
    return height && height <= kHostBytes ? std::min(pitch, kHostBytes / height) : pitch;
  }
  /// Few CTAs, or a number of them that no GPU takes.
  unsigned grid() { return in.byte() % 8 == 7 ? unsigned(number()) | 0x80000000u : in.byte() % 5; }
  unsigned block() { return in.byte() % 8 == 7 ? unsigned(number()) : in.byte() % 65; }
  template <class T>
  std::array<T, 8> numbers() {
    std::array<T, 8> a;
    for (T& x : a) x = T(number());
    return a;
  }
  const char* name() {
    static const char* const names[] = {"add", "pair", "big", "tiny", "counter", "table", "shared_word", "", "none"};
    return names[in.byte() % std::size(names)];
  }
};

using Call = void (*)(Session&);

/// A call whose arguments are worked out from left to right, by every compiler: f(a, b) leaves the order open.
struct InOrder {
  template <class F, class... A>
  InOrder(F f, A... arguments) : error(int(f(arguments...))) {}
  operator int() const { return error; }
  int error;
};

const Call kMemory[] = {
    [](Session& s) {
      void* p = nullptr;
      if (!InOrder{cudaMalloc, s.out(p), s.number()}) s.keep_pointer(p);
    },
    [](Session& s) {
      void* p = nullptr;
      if (!InOrder{cudaMallocManaged, s.out(p), s.number(), 1}) s.keep_pointer(p);
    },
    [](Session& s) {
      void* p = nullptr;
      if (!InOrder{cudaMallocHost, s.out(p), s.number()}) s.keep_pointer(p);
    },
    [](Session& s) {
      void* p = nullptr;
      size_t pitch;
      if (!InOrder{cudaMallocPitch, s.out(p), s.out(pitch), s.number(), s.number()}) s.keep_pointer(p);
    },
    [](Session& s) {
      cudaPitchedPtr p{};
      if (!InOrder{cudaMalloc3D, s.out(p), cudaExtent{s.number(), s.number(), s.number()}}) s.keep_pointer(p.ptr);
    },
    [](Session& s) {
      CUdeviceptr p = 0;
      size_t pitch;
      if (!InOrder{cuMemAllocPitch, s.out(p), s.out(pitch), s.number(), s.number(), unsigned(s.number())})
        s.keep_pointer(reinterpret_cast<void*>(p));
    },
    [](Session& s) {
      void* p = nullptr;
      if (!InOrder{cudaMallocAsync, s.out(p), s.number(), s.handle<cudaStream_t>()}) s.keep_pointer(p);
    },
    [](Session& s) {
      void* p = nullptr;
      if (!InOrder{cudaMallocFromPoolAsync, s.out(p), s.number(), s.handle<cudaMemPool_t>(), s.handle<cudaStream_t>()})
        s.keep_pointer(p);
    },
    [](Session& s) {
      InOrder{cudaFree, s.device()};
    },
    [](Session& s) {
      InOrder{cudaFreeHost, s.device()};
    },
    [](Session& s) {
      InOrder{cudaFreeAsync, s.device(), s.handle<cudaStream_t>()};
    },
    [](Session& s) {
      InOrder{cuMemFree, reinterpret_cast<CUdeviceptr>(s.device())};
    },
    [](Session& s) {
      InOrder{cudaHostRegister, s.in.byte() % 2 ? s.device() : Session::host() + s.in.take<uint16_t>(), s.number(),
              unsigned(s.number())};
    },
    [](Session& s) {
      InOrder{cudaHostUnregister, s.in.byte() % 2 ? s.device() : Session::host() + s.in.take<uint16_t>()};
    },
    [](Session& s) {
      void* p = nullptr;
      InOrder{cudaHostGetDevicePointer, s.out(p), s.device(), 0};
    },
    [](Session& s) {
      unsigned f;
      InOrder{cudaHostGetFlags, s.out(f), s.device()};
    },
    [](Session& s) {
      size_t a, b;
      InOrder{cudaMemGetInfo, s.out(a), s.out(b)};
    },
    [](Session& s) {
      cudaPointerAttributes a;
      InOrder{cudaPointerGetAttributes, s.out(a), s.device()};
    },
    [](Session& s) {
      CUdeviceptr p;
      size_t n;
      InOrder{cuMemGetAddressRange, s.out(p), s.out(n), reinterpret_cast<CUdeviceptr>(s.device())};
    },
    [](Session& s) {
      uint64_t v;
      InOrder{cuPointerGetAttribute, s.out(v), CUpointer_attribute(s.number()),
              reinterpret_cast<CUdeviceptr>(s.device())};
    },
    [](Session& s) {
      InOrder{cudaMemPrefetchAsync, s.device(), s.number(), cudaMemLocation{}, 0, s.handle<cudaStream_t>()};
    },
    [](Session& s) {
      cudaMemPool_t p = nullptr;
      if (!InOrder{cudaMemPoolCreate, s.out(p), nullptr}) s.keep(p);
    },
    [](Session& s) {
      cudaMemPool_t p = nullptr;
      if (!InOrder{cudaDeviceGetDefaultMemPool, s.out(p), int(s.in.byte())}) s.keep(p);
    },
    [](Session& s) {
      InOrder{cudaMemPoolDestroy, s.handle<cudaMemPool_t>()};
    },
    [](Session& s) {
      uint64_t v = s.number();
      InOrder{cudaMemPoolSetAttribute, s.handle<cudaMemPool_t>(), cudaMemPoolAttr(s.number()), s.out(v)};
    },
    [](Session& s) {
      uint64_t v;
      InOrder{cudaMemPoolGetAttribute, s.handle<cudaMemPool_t>(), cudaMemPoolAttr(s.number()), s.out(v)};
    },
};

const Call kCopies[] = {
    [](Session& s) {
      const auto k = s.kind();
      void* d = s.end(k, Session::to_host(k));
      InOrder{cudaMemcpy, d, s.end(k, Session::from_host(k)),
              s.number() & (Session::to_host(k) && Session::from_host(k) ? kHostBytes - 1 : ~0ull), k};
    },
    [](Session& s) {
      const auto k = s.kind();
      if (k == cudaMemcpyHostToHost) return;
      void* d = s.end(k, Session::to_host(k));
      InOrder{cudaMemcpyAsync, d, s.end(k, Session::from_host(k)), s.number(), k, s.handle<cudaStream_t>()};
    },
    [](Session& s) {
      const auto k = s.kind();
      if (k == cudaMemcpyHostToHost) return;
      const size_t w = s.number(), h = s.number();
      void* d = s.end(k, Session::to_host(k));
      void* f = s.end(k, Session::from_host(k));
      const size_t dp = Session::to_host(k) ? s.host_pitch(h) : s.number(),
                   fp = Session::from_host(k) ? s.host_pitch(h) : s.number();
      InOrder{cudaMemcpy2D, d, dp, f, fp, w, h, k};
    },
    [](Session& s) {
      cudaMemcpy3DParms p{};
      p.srcPtr = {s.device(), s.number(), s.number(), s.number()};
      p.dstPtr = {s.device(), s.number(), s.number(), s.number()};
      p.srcPos = {s.number(), s.number(), s.number()};
      p.dstPos = {s.number(), s.number(), s.number()};
      p.extent = {s.number(), s.number(), s.number()};
      p.kind = s.in.byte() % 2 ? cudaMemcpyDeviceToDevice : cudaMemcpyKind(7);
      InOrder{cudaMemcpy3D, s.out(p)};
    },
    [](Session& s) {
      InOrder{cuMemcpyDtoD, reinterpret_cast<CUdeviceptr>(s.device()), reinterpret_cast<CUdeviceptr>(s.device()),
              s.number()};
    },
    [](Session& s) {
      InOrder{cuMemcpyHtoD, reinterpret_cast<CUdeviceptr>(s.device()), Session::host(), s.number()};
    },
    [](Session& s) {
      InOrder{cuMemcpyDtoH, Session::host(), reinterpret_cast<CUdeviceptr>(s.device()), s.number()};
    },
    [](Session& s) {
      CUDA_MEMCPY3D p{};
      p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      p.srcDevice = reinterpret_cast<CUdeviceptr>(s.device());
      p.dstDevice = reinterpret_cast<CUdeviceptr>(s.device());
      const auto n = s.numbers<size_t>(), m = s.numbers<size_t>();
      p.srcXInBytes = n[0], p.srcY = n[1], p.srcZ = n[2], p.srcPitch = n[3], p.srcHeight = n[4];
      p.dstXInBytes = m[0], p.dstY = m[1], p.dstZ = m[2], p.dstPitch = m[3], p.dstHeight = m[4];
      p.WidthInBytes = n[5], p.Height = n[6], p.Depth = n[7];
      InOrder{cuMemcpy3D, s.out(p)};
    },
    [](Session& s) {
      CUDA_MEMCPY2D p{};
      p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      p.srcDevice = reinterpret_cast<CUdeviceptr>(s.device());
      p.dstDevice = reinterpret_cast<CUdeviceptr>(s.device());
      const auto n = s.numbers<size_t>();
      p.srcXInBytes = n[0], p.srcY = n[1], p.srcPitch = n[2], p.dstXInBytes = n[3], p.dstY = n[4], p.dstPitch = n[5];
      p.WidthInBytes = n[6], p.Height = n[7];
      InOrder{cuMemcpy2D, s.out(p)};
    },
    [](Session& s) {
      InOrder{cudaMemset, s.device(), int(s.number()), s.number()};
    },
    [](Session& s) {
      InOrder{cudaMemsetAsync, s.device(), int(s.number()), s.number(), s.handle<cudaStream_t>()};
    },
    [](Session& s) { InOrder{cudaMemset2D, s.device(), s.number(), 1, s.number(), s.number()}; },
    [](Session& s) {
      InOrder{cudaMemset3D, cudaPitchedPtr{s.device(), s.number(), s.number(), s.number()}, 1,
              cudaExtent{s.number(), s.number(), s.number()}};
    },
    [](Session& s) {
      InOrder{cuMemsetD16, reinterpret_cast<CUdeviceptr>(s.device()), 1, s.number()};
    },
    [](Session& s) {
      InOrder{cuMemsetD32, reinterpret_cast<CUdeviceptr>(s.device()), 1, s.number()};
    },
    [](Session& s) {
      InOrder{cuMemsetD2D32, reinterpret_cast<CUdeviceptr>(s.device()), s.number(), 1, s.number(), s.number()};
    },
    [](Session& s) {
      InOrder{cudaMemcpyToSymbol, s.handle<void*>(), Session::host(), s.number(), s.number(), s.kind()};
    },
    [](Session& s) {
      InOrder{cudaMemcpyFromSymbol, Session::host(), s.handle<void*>(), s.number(), s.number(), s.kind()};
    },
};

CUlaunchAttribute attribute(Session& s) {
  CUlaunchAttribute a{};
  a.id = CUlaunchAttributeID(s.in.byte() % 20);
  a.value.clusterDim = {s.in.byte() % 5u, s.in.byte() % 3u, s.in.byte() % 3u};
  return a;
}

/// Counts a launch that was taken.
void launched(int error) { gen5::fuzz::launches += error == 0; }

/// Arguments of the module's kernels: a pointer to device memory, a number, zeros behind them.
struct Arguments {
  explicit Arguments(Session& s) : first(reinterpret_cast<uint64_t>(s.device())), second(uint32_t(s.number())) {
    if (s.in.byte() % 16 == 15) pointers[1] = nullptr;
  }
  uint64_t first = 0, rest[8] = {};
  uint32_t second = 0;
  void* pointers[3] = {&first, &second, nullptr};
};

const Call kCode[] = {
    [](Session& s) {
      CUmodule m = nullptr;
      if (!InOrder{cuModuleLoadData, s.out(m), kModule}) s.keep(m);
    },
    [](Session& s) {
      CUmodule m = nullptr;
      if (!InOrder{cuModuleLoadFatBinary, s.out(m), fatbin().data()}) s.keep(m);
    },
    [](Session& s) {
      // No magic number of a container: those are trusted to be as long as they say, as the driver has to.
      static gen5::fuzz::Guarded guarded(4096);
      char text[64] = {};
      s.in.bytes(text, s.in.byte() % 60);
      text[0] |= 1;
      if (std::memcmp(text,
                      "\x7f"
                      "ELF",
                      4) == 0)
        return;
      CUmodule m = nullptr;
      if (!InOrder{cuModuleLoadData, &m, guarded.copy(text, std::strlen(text) + 1).data()}) s.keep(m);
    },
    [](Session& s) {
      CUlibrary l = nullptr;
      if (!InOrder{cuLibraryLoadData, s.out(l), kModule, nullptr, nullptr, 0, nullptr, nullptr, 0}) {
        s.keep(l);
        s.libraries.push_back(l);
      }
    },
    [](Session& s) {
      InOrder{cuModuleUnload, s.handle<CUmodule>()};
    },
    [](Session& s) {
      InOrder{cuLibraryUnload, s.handle<CUlibrary>()};
    },
    [](Session& s) {
      CUfunction f = nullptr;
      if (!InOrder{cuModuleGetFunction, s.out(f), s.handle<CUmodule>(), s.name()}) s.keep(f);
    },
    [](Session& s) {
      CUkernel k = nullptr;
      if (!InOrder{cuLibraryGetKernel, s.out(k), s.handle<CUlibrary>(), s.name()}) s.keep(k);
    },
    [](Session& s) {
      CUdeviceptr p = 0;
      size_t n;
      if (!InOrder{cuModuleGetGlobal, s.out(p), s.out(n), s.handle<CUmodule>(), s.name()})
        s.keep_pointer(reinterpret_cast<void*>(p));
    },
    [](Session& s) {
      CUfunction f[4];
      const unsigned n = s.in.byte() % 5;
      if (!InOrder{cuModuleEnumerateFunctions, f, n, s.handle<CUmodule>()} && n) s.keep(f[0]);
    },
    [](Session& s) {
      unsigned n;
      InOrder{cuModuleGetFunctionCount, s.out(n), s.handle<CUmodule>()};
    },
    [](Session& s) {
      int v;
      InOrder{cuFuncGetAttribute, s.out(v), CUfunction_attribute(s.number()), s.handle<CUfunction>()};
    },
    [](Session& s) {
      InOrder{cuFuncSetAttribute, s.handle<CUfunction>(), CUfunction_attribute(s.in.byte() % 20), int(s.number())};
    },
    [](Session& s) {
      cudaFuncAttributes a;
      InOrder{cudaFuncGetAttributes, s.out(a), s.handle<void*>()};
    },
    [](Session& s) {
      InOrder{cudaFuncSetAttribute, s.handle<void*>(), cudaFuncAttribute(s.in.byte() % 20), int(s.number())};
    },
    [](Session& s) {
      size_t a, b;
      InOrder{cuFuncGetParamInfo, s.handle<CUfunction>(), s.number(), s.out(a), s.out(b)};
    },
    [](Session& s) {
      const char* n;
      InOrder{cuFuncGetName, s.out(n), s.handle<CUfunction>()};
    },
    [](Session& s) {
      CUmodule m;
      InOrder{cuFuncGetModule, s.out(m), s.handle<CUfunction>()};
    },
    [](Session& s) {
      int n;
      InOrder{cuOccupancyMaxActiveBlocksPerMultiprocessor, s.out(n), s.handle<CUfunction>(), int(s.number()),
              s.number()};
    },
    [](Session& s) {
      size_t n;
      InOrder{cuOccupancyAvailableDynamicSMemPerBlock, s.out(n), s.handle<CUfunction>(), int(s.number()),
              int(s.number())};
    },
    [](Session& s) {
      int a, b;
      InOrder{cuOccupancyMaxPotentialBlockSize,
              s.out(a),
              s.out(b),
              s.handle<CUfunction>(),
              nullptr,
              s.number(),
              int(s.number())};
    },
    [](Session& s) {
      CUlaunchConfig c{};
      c.gridDimX = s.grid(), c.gridDimY = 1 + s.in.byte() % 2, c.gridDimZ = 1;
      c.blockDimX = unsigned(s.number()), c.blockDimY = unsigned(s.number()), c.blockDimZ = unsigned(s.number());
      c.sharedMemBytes = unsigned(s.number());
      CUlaunchAttribute a = attribute(s);
      c.attrs = &a;
      c.numAttrs = s.in.byte() % 2;
      int n;
      if (s.in.byte() % 2)
        InOrder{cuOccupancyMaxActiveClusters, s.out(n), s.handle<CUfunction>(), s.out(c)};
      else
        InOrder{cuOccupancyMaxPotentialClusterSize, s.out(n), s.handle<CUfunction>(), s.out(c)};
    },
    [](Session& s) {
      Arguments a(s);
      launched(InOrder{cuLaunchKernel, s.handle<CUfunction>(), s.grid(), 1 + s.in.byte() % 2, 1, s.block(),
                       1 + s.in.byte() % 2, 1, unsigned(s.number()), s.handle<CUstream>(),
                       s.in.byte() % 16 == 15 ? nullptr : a.pointers, nullptr});
    },
    [](Session& s) {
      uint8_t bytes[128] = {};
      s.in.bytes(bytes, 8);
      size_t size = s.in.byte() % 129;
      void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
      launched(
          InOrder{cuLaunchKernel, s.handle<CUfunction>(), s.grid(), 1, 1, s.block(), 1, 1, 0, nullptr, nullptr, extra});
    },
    [](Session& s) {
      Arguments a(s);
      CUlaunchAttribute attributes[2] = {attribute(s), attribute(s)};
      CUlaunchConfig c{};
      c.gridDimX = s.grid(), c.gridDimY = c.gridDimZ = 1;
      c.blockDimX = s.block(), c.blockDimY = c.blockDimZ = 1;
      c.sharedMemBytes = unsigned(s.number());
      c.hStream = s.handle<CUstream>();
      c.attrs = attributes;
      c.numAttrs = s.in.byte() % 3;
      launched(InOrder{cuLaunchKernelEx, s.out(c), s.handle<CUfunction>(), a.pointers, nullptr});
    },
    [](Session& s) {
      Arguments a(s);
      launched(InOrder{cudaLaunchKernel, s.handle<void*>(), dim3{s.grid(), 1, 1}, dim3{s.block(), 1, 1}, a.pointers,
                       s.number(), s.handle<cudaStream_t>()});
    },
    [](Session& s) {
      Arguments a(s);
      launched(InOrder{cudaLaunchCooperativeKernel, s.handle<void*>(), dim3{s.grid(), 1, 1}, dim3{s.block(), 1, 1},
                       a.pointers, s.number(), s.handle<cudaStream_t>()});
    },
};

const Call kOthers[] = {
    [](Session& s) {
      cudaStream_t t = nullptr;
      if (!InOrder{cudaStreamCreateWithPriority, s.out(t), unsigned(s.number()), int(s.number())}) s.keep(t);
    },
    [](Session& s) {
      InOrder{cudaStreamDestroy, s.handle<cudaStream_t>()};
    },
    [](Session& s) {
      InOrder{cudaStreamSynchronize, s.handle<cudaStream_t>()};
    },
    [](Session& s) {
      InOrder{cudaStreamWaitEvent, s.handle<cudaStream_t>(), s.handle<cudaEvent_t>(), 0};
    },
    [](Session& s) {
      unsigned f;
      InOrder{cudaStreamGetFlags, s.handle<cudaStream_t>(), s.out(f)};
    },
    [](Session& s) {
      unsigned long long f;
      InOrder{cudaStreamGetId, s.handle<cudaStream_t>(), s.out(f)};
    },
    [](Session& s) {
      cudaStreamCaptureStatus f;
      InOrder{cudaStreamIsCapturing, s.handle<cudaStream_t>(), s.out(f)};
    },
    [](Session& s) {
      cudaEvent_t e = nullptr;
      if (!InOrder{cudaEventCreateWithFlags, s.out(e), unsigned(s.number())}) s.keep(e);
    },
    [](Session& s) {
      InOrder{cudaEventDestroy, s.handle<cudaEvent_t>()};
    },
    [](Session& s) {
      InOrder{cudaEventRecord, s.handle<cudaEvent_t>(), s.handle<cudaStream_t>()};
    },
    [](Session& s) {
      InOrder{cudaEventSynchronize, s.handle<cudaEvent_t>()};
    },
    [](Session& s) {
      float ms;
      InOrder{cudaEventElapsedTime, s.out(ms), s.handle<cudaEvent_t>(), s.handle<cudaEvent_t>()};
    },
    [](Session& s) {
      int v;
      InOrder{cudaDeviceGetAttribute, s.out(v), cudaDeviceAttr(s.number()), int(s.in.byte() % 3) - 1};
    },
    [](Session& s) {
      static cudaDeviceProp p;
      InOrder{cudaGetDeviceProperties, s.out(p), int(s.number())};
    },
    [](Session& s) {
      char text[64];
      InOrder{cudaDeviceGetPCIBusId, text, int(s.in.byte() % 65), int(s.number())};
    },
    [](Session& s) {
      char text[64];
      InOrder{cuDeviceGetName, text, int(s.in.byte() % 65), int(s.number())};
    },
    [](Session& s) {
      InOrder{cudaDeviceSetLimit, cudaLimit(s.in.byte() % 9), s.number()};
    },
    [](Session& s) {
      size_t v;
      InOrder{cudaDeviceGetLimit, s.out(v), cudaLimit(s.number())};
    },
    [](Session& s) {
      InOrder{cudaSetDevice, int(s.number())};
    },
    [](Session& s) {
      cudaDeviceSynchronize();
      cudaGetErrorString(cudaError_t(s.number()));
      cudaGetErrorName(cudaError_t(s.number()));
    },
    [](Session&) { cudaDeviceReset(); },
    [](Session& s) {
      const char* t;
      InOrder{cuGetErrorName, CUresult(s.number()), s.out(t)};
      InOrder{cuGetErrorString, CUresult(s.number()), s.out(t)};
    },
    [](Session& s) {
      void* p;
      CUdriverProcAddressQueryResult q;
      InOrder{cuGetProcAddress, s.name(), s.out(p), int(s.number()), s.number(), s.out(q)};
    },
    [](Session& s) {
      CUtensorMap map;
      const auto dims = s.numbers<cuuint64_t>(), strides = s.numbers<cuuint64_t>();
      const auto box = s.numbers<cuuint32_t>(), steps = s.numbers<cuuint32_t>();
      InOrder{cuTensorMapEncodeTiled,
              s.out(map),
              CUtensorMapDataType(s.number()),
              cuuint32_t(s.number()),
              s.device(),
              dims.data(),
              strides.data(),
              box.data(),
              steps.data(),
              CUtensorMapInterleave(s.in.byte() % 5),
              CUtensorMapSwizzle(s.in.byte() % 9),
              CUtensorMapL2promotion(s.in.byte() % 6),
              CUtensorMapFloatOOBfill(s.in.byte() % 4)};
    },
    [](Session& s) {
      CUtensorMap map;
      const auto dims = s.numbers<cuuint64_t>(), strides = s.numbers<cuuint64_t>();
      const auto lower = s.numbers<int>(), upper = s.numbers<int>();
      const auto steps = s.numbers<cuuint32_t>();
      InOrder{cuTensorMapEncodeIm2col,
              s.out(map),
              CUtensorMapDataType(s.in.byte() % 20),
              cuuint32_t(s.number()),
              s.device(),
              dims.data(),
              strides.data(),
              lower.data(),
              upper.data(),
              cuuint32_t(s.number()),
              cuuint32_t(s.number()),
              steps.data(),
              CUtensorMapInterleave(s.in.byte() % 5),
              CUtensorMapSwizzle(s.in.byte() % 9),
              CUtensorMapL2promotion(s.in.byte() % 6),
              CUtensorMapFloatOOBfill(s.in.byte() % 4)};
    },
};

template <size_t N>
void call(const Call (&table)[N], Session& s) {
  table[s.in.byte() % N](s);
}

/// The b200 with four SMs and little memory: what an input may fill, it fills quickly.
std::string small_profile() {
  nlohmann::json profile = nlohmann::json::parse(gen5::fuzz::read_file(PROFILE));
  profile["device"]["sms"]["value"] = 4;
  profile["device"]["global_bytes"]["value"] = kDeviceBytes;
  char path[] = "/tmp/fuzz_profile_XXXXXX.json";
  const int file = mkstemps(path, 5);
  const std::string text = profile.dump();
  if (file < 0 || write(file, text.data(), text.size()) != ssize_t(text.size())) std::abort();
  close(file);
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const std::string profile = small_profile();
  setenv("GEN5_MACHINE", profile.c_str(), 1);
  setenv("GEN5_DEVICE", "tinygpu", 1);
  setenv("GEN5_THREADS", "1", 1);
  size_t free = 0, total = 0;
  const bool small = cudaMemGetInfo(&free, &total) == cudaSuccess && total == kDeviceBytes;
  unlink(profile.c_str());
  if (!small || cuInit(0) != CUDA_SUCCESS) std::abort();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input in(data, size);
  Session s(in);
  while (!in.empty()) switch (in.byte() % 4) {
      case 0: call(kMemory, s); break;
      case 1: call(kCopies, s); break;
      case 2: call(kCode, s); break;
      default: call(kOthers, s);
    }
  cudaDeviceReset();  // ends a sticky error, too
  for (CUlibrary l : s.libraries) cuLibraryUnload(l);
  cudaDeviceReset();
  return 0;
}
