#include "common/tinygpu/cuda/copy_batch.h"

#include <memory>

#include "common/tinygpu/cuda/memory.h"

namespace tinygpu::cuda {

CUresult submit_batch(State& s, Stream& stream, std::span<const BatchCopy> copies) {
  using Bytes = std::vector<uint8_t>;
  std::vector<std::shared_ptr<Bytes>> kept(copies.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    const BatchCopy& c = copies[i];
    if (!c.at_once || c.size == 0) continue;
    const uint8_t* from = reach(s, c.src, c.size, Side::either, false);
    if (!from) return CUDA_ERROR_INVALID_VALUE;
    kept[i] = std::make_shared<Bytes>(from, from + c.size);
  }
  for (size_t i = 0; i < copies.size(); ++i) {
    const CUresult e = submit(s, stream, CU_GRAPH_NODE_TYPE_MEMCPY, [c = copies[i], bytes = kept[i]](State& at) {
      if (c.size == 0) return CUDA_SUCCESS;
      return copy(at, {c.dst, Side::either}, {bytes ? bytes->data() : c.src, Side::either}, c.size);
    });
    if (e != CUDA_SUCCESS) return e;
  }
  return CUDA_SUCCESS;
}

}  // namespace tinygpu::cuda
