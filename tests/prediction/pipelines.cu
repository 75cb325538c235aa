// Copies through shared memory: cp.async, linear bulk copies and tensor maps, over depths and sizes of a stage.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

using namespace gen5::ptx;

/// Every thread brings its own 16 bytes of a stage and stores them incremented.
template <int Stages>
__global__ void __launch_bounds__(256) by_cp_async(const float4* in, float4* out, uint32_t count) {
  __shared__ float4 stage[Stages][256];
  const uint32_t step = gridDim.x * 256, first = blockIdx.x * 256 + threadIdx.x;
  const auto load = [&](uint32_t i, uint32_t s) {
    if (i < count)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&stage[s][threadIdx.x])),
                   "l"(in + i)
                   : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  for (uint32_t s = 0; s + 1 < Stages; ++s) load(first + s * step, s);
  uint32_t s = 0;
  for (uint32_t i = first; i < count; i += step, s = (s + 1) % Stages) {
    asm volatile("cp.async.wait_group %0;" ::"n"(Stages - 2) : "memory");
    float4 v = stage[s][threadIdx.x];
    v.x += 1, v.y += 1, v.z += 1, v.w += 1;
    out[i] = v;
    load(i + (Stages - 1) * step, (s + Stages - 1) % Stages);
  }
}

/// One thread of a CTA moves pieces through shared memory: bulk loads, bulk stores.
template <int Stages, int Bytes>
__global__ void by_bulk(const uint8_t* in, uint8_t* out, uint32_t pieces) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ alignas(8) uint64_t full[Stages];
  const uint32_t at = shared_address(memory);
  if (threadIdx.x) return;
  for (int s = 0; s < Stages; ++s) mbarrier_init(shared_address(&full[s]), 1);
  fence_mbarrier_init();
  fence_proxy_async();
  const auto load = [&](uint32_t n) {
    const uint64_t piece = blockIdx.x + uint64_t(n) * gridDim.x;
    if (piece >= pieces) return;
    const uint32_t bar = shared_address(&full[n % Stages]);
    mbarrier_arrive_expect_tx(bar, Bytes);
    bulk_load(at + n % Stages * Bytes, in + piece * Bytes, Bytes, bar);
  };
  for (uint32_t n = 0; n + 1 < Stages; ++n) load(n);
  for (uint32_t n = 0; blockIdx.x + n * gridDim.x < pieces; ++n) {
    mbarrier_wait_parity(shared_address(&full[n % Stages]), n / Stages & 1);
    bulk_store(out + (blockIdx.x + uint64_t(n) * gridDim.x) * Bytes, at + n % Stages * Bytes, Bytes);
    bulk_commit_group();
    bulk_wait_group_read<0>();
    load(n + Stages - 1);
  }
  bulk_wait_group<0>();
}

/// The same with boxes of 64 × 64 16-bit elements of a matrix.
template <int Stages>
__global__ void by_tensor_map(const __grid_constant__ CUtensorMap in, const __grid_constant__ CUtensorMap out,
                              uint32_t rows, uint32_t columns) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ alignas(8) uint64_t full[Stages];
  constexpr uint32_t kBytes = 64 * 64 * 2;
  const uint32_t at = shared_address(memory), boxes = rows * columns;
  if (threadIdx.x) return;
  for (int s = 0; s < Stages; ++s) mbarrier_init(shared_address(&full[s]), 1);
  fence_mbarrier_init();
  fence_proxy_async();
  const auto load = [&](uint32_t n) {
    const uint32_t box = blockIdx.x + n * gridDim.x;
    if (box >= boxes) return;
    const uint32_t bar = shared_address(&full[n % Stages]);
    mbarrier_arrive_expect_tx(bar, kBytes);
    tensor_load_2d(at + n % Stages * kBytes, &in, int(box % columns * 64), int(box / columns * 64), bar);
  };
  for (uint32_t n = 0; n + 1 < Stages; ++n) load(n);
  for (uint32_t n = 0; blockIdx.x + n * gridDim.x < boxes; ++n) {
    const uint32_t box = blockIdx.x + n * gridDim.x;
    mbarrier_wait_parity(shared_address(&full[n % Stages]), n / Stages & 1);
    tensor_store_2d(&out, int(box % columns * 64), int(box / columns * 64), at + n % Stages * kBytes);
    bulk_commit_group();
    bulk_wait_group_read<0>();
    load(n + Stages - 1);
  }
  bulk_wait_group<0>();
}

template <class Launch>
Instance copied(uint32_t mib, float added, Launch launch) {
  const size_t count = size_t(mib) << 18;
  auto in = buffer_of(values(count, 1)), out = empty<float>(count);
  return {[=] { launch(in->get(), out->get()); },
          [=] {
            const auto v = out->download();
            return compare(
                count, 5000, 0, [&](size_t i) { return v[i]; }, [=](size_t i) { return value_at(i, 1) + added; });
          }};
}

template <int Stages>
void add_stages(Cases& cases) {
  for (const uint32_t mib : {16u, 96u}) {
    cases.push_back({text("pipe_cp_async/stages:%d/mib:%u", Stages, mib), "copy pipeline", false, [=] {
                       return copied(mib, 1, [=](float* in, float* out) {
                         by_cp_async<Stages><<<132 * 4, 256>>>(reinterpret_cast<float4*>(in),
                                                               reinterpret_cast<float4*>(out), mib << 16);
                       });
                     }});
    cases.push_back({text("pipe_tensor/stages:%d/mib:%u", Stages, mib), "copy pipeline", false, [=] {
                       return copied(mib, 0, [=](float* in, float* out) {
                         const uint32_t columns = 4096, rows = (mib << 19) / columns;
                         const auto map = [&](float* p) {
                           return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, p, rows, columns,
                                                            columns, 64, 64, CU_TENSOR_MAP_SWIZZLE_NONE);
                         };
                         by_tensor_map<Stages>
                             <<<132 * 2, 32, Stages * 8192>>>(map(in), map(out), rows / 64, columns / 64);
                       });
                     }});
  }
}

template <int Stages, int Bytes>
void add_bulk(Cases& cases) {
  cases.push_back({text("pipe_bulk/stages:%d/bytes:%d", Stages, Bytes), "copy pipeline", false, [] {
                     return copied(64, 0, [](float* in, float* out) {
                       const auto kernel = by_bulk<Stages, Bytes>;
                       GEN5_CUDA(
                           cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Stages * Bytes));
                       kernel<<<132, 32, Stages * Bytes>>>(reinterpret_cast<uint8_t*>(in),
                                                           reinterpret_cast<uint8_t*>(out), (64 << 20) / Bytes);
                     });
                   }});
}

}  // namespace

void add_pipelines(Cases& cases) {
  add_stages<2>(cases);
  add_stages<4>(cases);
  add_bulk<2, 4096>(cases);
  add_bulk<2, 32768>(cases);
  add_bulk<4, 4096>(cases);
  add_bulk<4, 32768>(cases);
  add_bulk<6, 16384>(cases);
}

}  // namespace prediction
