// Matrix products as CUTLASS's CollectiveBuilder makes them for Hopper: bf16, A and B K-major, f32 sums, bf16 out.
#pragma once
#include <cutlass/cutlass.h>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/kernel/gemm_universal.hpp>
#include <cutlass/util/packed_stride.hpp>

#include "tests/prediction/cases.h"

namespace prediction {

struct Matrix {
  int m, n, k;
};
inline constexpr Matrix kCutlassMatrices[] = {{2048, 2048, 2048}, {4096, 4096, 1024}, {1024, 8192, 512}};

template <int M, int N, int ClusterM, int ClusterN, class Schedule, class EpilogueSchedule>
struct CutlassGemm {
  using Element = cutlass::bfloat16_t;
  using Row = cutlass::layout::RowMajor;
  using Column = cutlass::layout::ColumnMajor;
  using Tile = cute::Shape<cute::Int<M>, cute::Int<N>, cute::_64>;
  using Cluster = cute::Shape<cute::Int<ClusterM>, cute::Int<ClusterN>, cute::_1>;
  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Row, 8, Element, Row, 8,
      EpilogueSchedule>::CollectiveOp;
  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Element, Row, 8, Element, Column, 8, float, Tile, Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      Schedule>::CollectiveOp;
  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;
  using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;

  static Instance make(Matrix size) {
    struct State {
      Buffer<uint16_t> a, b, d;
      Buffer<uint8_t> workspace;
      Gemm gemm;
    };
    auto s = std::make_shared<State>();
    s->a = buffer_of(bf16_values(size_t(size.m) * size.k, 1));
    s->b = buffer_of(bf16_values(size_t(size.n) * size.k, 2));
    s->d = empty<uint16_t>(size_t(size.m) * size.n);
    const auto stride = [](auto kind, int rows, int columns) {
      return cutlass::make_cute_packed_stride(kind, cute::make_shape(rows, columns, 1));
    };
    const auto stride_d = stride(typename Kernel::StrideD{}, size.m, size.n);
    typename Gemm::Arguments arguments{
        cutlass::gemm::GemmUniversalMode::kGemm,
        {size.m, size.n, size.k, 1},
        {reinterpret_cast<Element*>(s->a->get()), stride(typename Kernel::StrideA{}, size.m, size.k),
         reinterpret_cast<Element*>(s->b->get()), stride(typename Kernel::StrideB{}, size.n, size.k)},
        {{1.0f, 0.0f}, nullptr, {}, reinterpret_cast<Element*>(s->d->get()), stride_d}};
    s->workspace = empty<uint8_t>(std::max<size_t>(16, Gemm::get_workspace_size(arguments)));
    const auto demand = [](cutlass::Status status) {
      if (status != cutlass::Status::kSuccess) throw std::runtime_error(cutlass::cutlassGetStatusString(status));
    };
    demand(s->gemm.can_implement(arguments));
    demand(s->gemm.initialize(arguments, s->workspace->get()));
    return {[=] { demand(s->gemm.run()); },
            [=] {
              return check_product<uint16_t>(s->d->download(), from_bf16, uint32_t(size.m), uint32_t(size.n),
                                             uint32_t(size.k), 1, 2, 1e-2);
            }};
  }
};

/// One tile and cluster with every schedule that has registers for it: a consumer thread sums up to 128 elements.
template <int M, int N, int ClusterM, int ClusterN>
void add_cutlass(Cases& cases) {
  using namespace cutlass;
  const auto add = [&]<class Schedule, class EpilogueSchedule>(const char* name, Schedule, EpilogueSchedule) {
    for (const Matrix size : kCutlassMatrices)
      cases.push_back({text("cutlass/tile:%dx%dx64/cluster:%dx%d/%s/m:%d/n:%d/k:%d", M, N, ClusterM, ClusterN, name,
                            size.m, size.n, size.k),
                       "GEMM, CUTLASS", true,
                       [=] { return CutlassGemm<M, N, ClusterM, ClusterN, Schedule, EpilogueSchedule>::make(size); }});
  };
  if constexpr (M * N <= 128 * 128) {
    add("warp_specialised", gemm::KernelTmaWarpSpecialized{}, epilogue::TmaWarpSpecialized{});
    add("ping_pong", gemm::KernelTmaWarpSpecializedPingpong{}, epilogue::TmaWarpSpecialized{});
  }
  if constexpr (M >= 128)
    add("cooperative", gemm::KernelTmaWarpSpecializedCooperative{}, epilogue::TmaWarpSpecializedCooperative{});
}

}  // namespace prediction
