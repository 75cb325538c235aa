// ---- The multiplication of 32 bytes of K, of operands without block scales.

constexpr uint32_t kScaleBytes = 0, kScaleTraffic = 0, kScaleColumns = 0;  // of a stage, in shared and Tensor Memory
struct ScaleMaps {};
__device__ inline void load_scales(const ScaleMaps&, const Tiles&, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t) {}
__device__ inline void copy_scales(uint32_t, uint32_t) {}

constexpr uint32_t kInstruction = layout::instruction_descriptor({.kind = kKind,
                                                                  .a = kElement,
                                                                  .b = kElement,
                                                                  .m = kPair * (kRows < 128 ? 64 : 128),
                                                                  .n = kTileN,
                                                                  .cta_group = kPair});

__device__ inline void multiply_step(uint32_t d, uint64_t a, uint64_t b, uint32_t, uint32_t, uint32_t,
                                     bool accumulate) {
  if constexpr (kKind == layout::Kind::f16)
    tcgen05_mma_f16<kPair>(d, a, b, kInstruction, accumulate);
  else
    tcgen05_mma_f8f6f4<kPair>(d, a, b, kInstruction, accumulate);
}

ScaleMaps scale_maps(const Problem&) { return {}; }
