// The nodes of the runtime's graphs.
#include "common/tinygpu/cuda/exports.h"
#include "common/tinygpu/cuda/memory.h"
#include "common/tinygpu/cuda/runtime_copy.h"
#include "common/tinygpu/cuda/runtime_graph.h"

using namespace tinygpu::cuda;

namespace {

/// The same parameters for the driver.
CUresult driver_params(const cudaKernelNodeParams* p, CUDA_KERNEL_NODE_PARAMS& out) {
  out = {};
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  Kernel* k = nullptr;
  if (CUresult e = find_kernel(p->func, k); e != CUDA_SUCCESS) return e;
  out.func = reinterpret_cast<CUfunction>(k);
  out.gridDimX = p->gridDim.x, out.gridDimY = p->gridDim.y, out.gridDimZ = p->gridDim.z;
  out.blockDimX = p->blockDim.x, out.blockDimY = p->blockDim.y, out.blockDimZ = p->blockDim.z;
  out.sharedMemBytes = p->sharedMemBytes;
  out.kernelParams = p->kernelParams;
  out.extra = p->extra;
  return CUDA_SUCCESS;
}
template <class F>
cudaError_t with_params(const cudaKernelNodeParams* p, F&& f) {
  CUDA_KERNEL_NODE_PARAMS params;
  const cudaError_t e = api([&](State&) { return driver_params(p, params); });
  return e == cudaSuccess ? f(&params) : e;
}

/// A copy as a node does it; nothing if the parameters are none.
Work copy_of(const cudaMemcpy3DParms* p) {
  if (!p) return {};
  return [q = *p](State& s) { return copy_3d(s, q); };
}
Work copy_of(void* dst, const void* src, size_t size, cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return {};
  return [=](State& s) { return copy(s, {dst, Side::either}, {src, Side::either}, size); };
}

cudaError_t add_copy(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, Work work) {
  if (!work) return finish(CUDA_ERROR_INVALID_VALUE);
  const cudaError_t e = driver_call("cuGraphAddEmptyNode", out, graph, after, count);
  if (e != cudaSuccess) return e;
  return api([&](State& s) {
    GraphNode* const n = s.graphs.node(*out);
    n->type = CU_GRAPH_NODE_TYPE_MEMCPY;
    n->work = std::move(work);
    return CUDA_SUCCESS;
  });
}
CUresult set_copy(GraphNode* n, Work work) {
  if (!n || n->type != CU_GRAPH_NODE_TYPE_MEMCPY || !work) return CUDA_ERROR_INVALID_VALUE;
  n->work = std::move(work);
  return CUDA_SUCCESS;
}
cudaError_t set_copy(cudaGraphNode_t node, Work work) {
  return api([&](State& s) { return set_copy(s.graphs.node(node), std::move(work)); });
}
cudaError_t set_copy_of_exec(cudaGraphExec_t exec, cudaGraphNode_t node, Work work) {
  return api([&](State& s) {
    GraphExec* const e = s.graphs.exec(exec);
    if (!e) return CUDA_ERROR_INVALID_VALUE;
    const auto at = e->place.find(reinterpret_cast<const GraphNode*>(node));
    return at == e->place.end() ? CUDA_ERROR_INVALID_VALUE : set_copy(&e->steps[at->second], std::move(work));
  });
}

}  // namespace

extern "C" {

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count) {
  return driver_call("cuGraphAddEmptyNode", out, graph, after, count);
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* p) {
  return driver_call("cuGraphAddHostNode", out, graph, after, count, p);
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* p) {
  CUDA_MEMSET_NODE_PARAMS m{};
  if (p) m = {reinterpret_cast<CUdeviceptr>(p->dst), p->pitch, p->value, p->elementSize, p->width, p->height};
  return driver_call("cuGraphAddMemsetNode", out, graph, after, count, p ? &m : nullptr, CUcontext(nullptr));
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* p) {
  return add_copy(out, graph, after, count, copy_of(p));
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* dst, const void* src, size_t size, cudaMemcpyKind kind) {
  return add_copy(out, graph, after, count, copy_of(dst, src, size, kind));
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
  return set_copy(node, copy_of(p));
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* dst, const void* src, size_t size,
                                           cudaMemcpyKind kind) {
  return set_copy(node, copy_of(dst, src, size, kind));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
  return set_copy_of_exec(exec, node, copy_of(p));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* dst, const void* src,
                                               size_t size, cudaMemcpyKind kind) {
  return set_copy_of_exec(exec, node, copy_of(dst, src, size, kind));
}
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, cudaMemAllocNodeParams* p) {
  return driver_call("cuGraphAddMemAllocNode", out, graph, after, count,
                     reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(p));
}
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* p) {
  return driver_call("cuGraphMemAllocNodeGetParams", node, reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(p));
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                    void* p) {
  return driver_call("cuGraphAddMemFreeNode", out, graph, after, count, reinterpret_cast<CUdeviceptr>(p));
}
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* out) {
  return driver_call("cuGraphMemFreeNodeGetParams", node, static_cast<CUdeviceptr*>(out));
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* p) {
  return with_params(p, [&](const CUDA_KERNEL_NODE_PARAMS* params) {
    return driver_call("cuGraphAddKernelNode", out, graph, after, count, params);
  });
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) {
  return with_params(p, [&](const CUDA_KERNEL_NODE_PARAMS* params) {
    return driver_call("cuGraphKernelNodeSetParams", node, params);
  });
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p) {
  return with_params(p, [&](const CUDA_KERNEL_NODE_PARAMS* params) {
    return driver_call("cuGraphExecKernelNodeSetParams", exec, node, params);
  });
}

/// Any kind of node, by the parameters of its kind.
cudaError_t cudaGraphAddNode(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after,
                             const cudaGraphEdgeData*, size_t count, cudaGraphNodeParams* p) {
  if (!p) return finish(CUDA_ERROR_INVALID_VALUE);
  switch (p->type) {
    case cudaGraphNodeTypeKernel: {
      cudaKernelNodeParams k{};
      k.func = p->kernel.func;
      k.gridDim = p->kernel.gridDim, k.blockDim = p->kernel.blockDim;
      k.sharedMemBytes = p->kernel.sharedMemBytes;
      k.kernelParams = p->kernel.kernelParams, k.extra = p->kernel.extra;
      return cudaGraphAddKernelNode(out, graph, after, count, &k);
    }
    case cudaGraphNodeTypeMemcpy: return cudaGraphAddMemcpyNode(out, graph, after, count, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParams m{p->memset.dst,         p->memset.pitch, p->memset.value,
                               p->memset.elementSize, p->memset.width, p->memset.height};
      return cudaGraphAddMemsetNode(out, graph, after, count, &m);
    }
    case cudaGraphNodeTypeHost: {
      const cudaHostNodeParams h{p->host.fn, p->host.userData};
      return cudaGraphAddHostNode(out, graph, after, count, &h);
    }
    case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(out, graph, after, count);
    case cudaGraphNodeTypeMemAlloc: {
      cudaMemAllocNodeParams a{p->alloc.poolProps, p->alloc.accessDescs, p->alloc.accessDescCount, p->alloc.bytesize,
                               nullptr};
      const cudaError_t e = cudaGraphAddMemAllocNode(out, graph, after, count, &a);
      if (e == cudaSuccess) p->alloc.dptr = a.dptr;
      return e;
    }
    case cudaGraphNodeTypeMemFree: return cudaGraphAddMemFreeNode(out, graph, after, count, p->free.dptr);
    case cudaGraphNodeTypeConditional: {
      CUgraphNodeParams q{};
      q.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
      q.conditional.handle = p->conditional.handle;
      q.conditional.type = CUgraphConditionalNodeType(p->conditional.type);
      q.conditional.size = p->conditional.size;
      const cudaError_t e =
          driver_call("cuGraphAddNode", out, graph, after, static_cast<const CUgraphEdgeData*>(nullptr), count, &q);
      if (e == cudaSuccess) p->conditional.phGraph_out = q.conditional.phGraph_out;
      return e;
    }
    default:
      return finish(CUresult(say_not_implemented("cudaGraphAddNode for a child graph, an event or a semaphore")));
  }
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* out, cudaGraph_t graph, unsigned value,
                                             unsigned flags) {
  return driver_call("cuGraphConditionalHandleCreate", out, graph, CUcontext(nullptr), value, flags);
}

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return driver_call("cuDeviceGetGraphMemAttribute", CUdevice(device), CUgraphMem_attribute(attribute), value);
}
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return driver_call("cuDeviceSetGraphMemAttribute", CUdevice(device), CUgraphMem_attribute(attribute), value);
}
cudaError_t cudaDeviceGraphMemTrim(int device) { return driver_call("cuDeviceGraphMemTrim", CUdevice(device)); }

}  // extern "C"
