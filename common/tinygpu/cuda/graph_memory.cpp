#include "common/tinygpu/cuda/graph_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/base/align_up.h"
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/show.h"

namespace tinygpu::cuda {

GraphAddresses::~GraphAddresses() {
  of.known_.erase(at.address);
  of.memory_.unreserve(at, bytes);
}

namespace {

CUresult wrong(const char* code, const std::string& what, const std::string& help) {
  say(code, what, help);
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

std::shared_ptr<GraphAddresses> GraphMemory::reserve(uint64_t bytes) {
  constexpr uint64_t kAlign = 512;  // as that of other allocations
  const api::Memory::Reserved range = memory_.reserve(bytes, kAlign, 0);
  if (!range.address) {
    say("out-of-memory", fmt::format("{} bytes of addresses asked for by a graph: the machine has {} for all, which is "
                                     "twice its memory",
                                     bytes, 2 * memory_.capacity()));
    return nullptr;
  }
  known_.insert(range.address);
  return std::make_shared<GraphAddresses>(*this, range, bytes);
}

CUresult GraphMemory::launch(const GraphExec& e, std::vector<uint64_t>& left_over) {
  std::set<uint64_t> held = held_;
  if (e.frees_on_launch)
    for (const GraphNode& step : e.steps)
      if (step.allocates && held.erase(step.allocates->at.address)) left_over.push_back(step.allocates->at.address);
  for (const GraphNode& step : e.steps) {
    if (step.allocates && !held.insert(step.allocates->at.address).second)
      return wrong(
          "launch-refused",
          fmt::format("a graph is launched whose node allocates {} bytes at {:#x}, and what it allocated there "
                      "before has not been freed",
                      step.allocates->bytes, step.allocates->at.address),
          "free it (cudaFreeAsync, or a node that frees), or instantiate with "
          "cudaGraphInstantiateFlagAutoFreeOnLaunch");
    if (step.frees && !held.erase(step.frees))
      return wrong(
          "invalid-free",
          fmt::format("a graph is launched that frees {:#x}, where no graph has allocated anything now", step.frees),
          "launch the graph that allocates it first, and free it once");
  }
  held_ = std::move(held);
  return CUDA_SUCCESS;
}

CUresult GraphMemory::free_now(uint64_t address) {
  held_.erase(address);
  return free(address);
}

CUresult GraphMemory::allocate(const std::shared_ptr<GraphAddresses>& addresses) {
  if (!memory_.take(addresses->bytes)) {
    say("out-of-memory", fmt::format("a graph asks for {} bytes, and {} of the machine's {} bytes are free",
                                     addresses->bytes, memory_.capacity() - memory_.used(), memory_.capacity()));
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  live_[addresses->at.address] = addresses;
  memory_.show(addresses->at, addresses->bytes);
  used_ += addresses->bytes;
  kept_ = std::max(kept_, used_);
  most_kept_ = std::max(most_kept_, kept_);
  return CUDA_SUCCESS;
}

CUresult GraphMemory::free(uint64_t address) {
  const auto it = live_.find(address);
  if (it == live_.end()) return CUDA_ERROR_INVALID_VALUE;  // its allocation failed, and said so
  memory_.hide(address);
  memory_.give_back(it->second->bytes);
  used_ -= it->second->bytes;
  live_.erase(it);
  return CUDA_SUCCESS;
}

CUresult GraphMemory::get(CUgraphMem_attribute attribute, uint64_t* value) const {
  if (!value) return CUDA_ERROR_INVALID_VALUE;
  constexpr uint64_t kPiece = 32 << 20;  // so much at a time, an H200 says
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: *value = align_up(kept_, kPiece); return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: *value = align_up(most_kept_, kPiece); return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult GraphMemory::set(CUgraphMem_attribute attribute, const uint64_t* value) {
  const bool high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
  if (!high || !value || *value != 0) return CUDA_ERROR_INVALID_VALUE;  // to 0 only, as cuda.h says
  most_kept_ = kept_;
  return CUDA_SUCCESS;
}

void GraphMemory::reset() {
  while (!live_.empty()) free(live_.begin()->first);
  held_.clear();
  kept_ = most_kept_ = 0;
}

}  // namespace tinygpu::cuda
