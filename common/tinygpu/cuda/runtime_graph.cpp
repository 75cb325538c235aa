// Graphs and stream capture of the runtime. Handles and most structures are the driver's; what begins here finds the
// driver's function by name, as every mixture of the two APIs may.
#include "common/tinygpu/cuda/entry_point.h"
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/memory.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;

namespace {

/// Calls the driver's function of that name, with these arguments.
template <class... A>
cudaError_t driver_call(const char* name, A... arguments) {
  return api<Pending::stays>([&](State&) {  // the driver's call does what is due
    static std::map<std::string, void*>& known = *new std::map<std::string, void*>;
    void*& f = known[name];
    if (!f) f = driver_function(name, CUDA_VERSION);
    if (!f) return CUDA_ERROR_NOT_SUPPORTED;
    return reinterpret_cast<CUresult (*)(A...)>(f)(arguments...);
  });
}

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

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return driver_call("cuStreamBeginCapture", stream, CUstreamCaptureMode(mode));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return driver_call("cuStreamEndCapture", stream, graph);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return driver_call("cuStreamIsCapturing", stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** after, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  return driver_call("cuStreamGetCaptureInfo", stream, reinterpret_cast<CUstreamCaptureStatus*>(status), id, graph,
                     after, edges, count);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return driver_call("cuThreadExchangeStreamCaptureMode", mode);
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) { return driver_call("cuGraphCreate", graph, flags); }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return driver_call("cuGraphDestroy", graph); }
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return driver_call("cuGraphGetNodes", graph, nodes, count);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data,
                              size_t* count) {
  return driver_call("cuGraphGetEdges", graph, from, to, data, count);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return driver_call("cuGraphNodeGetType", node, reinterpret_cast<CUgraphNodeType*>(type));
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* edges, size_t count) {
  return driver_call("cuGraphAddDependencies", graph, from, to, edges, count);
}
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
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* out, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* dst, const void* src, size_t size, cudaMemcpyKind kind) {
  const cudaError_t e = driver_call("cuGraphAddEmptyNode", out, graph, after, count);
  if (e != cudaSuccess) return e;
  return api([&](State& s) {
    GraphNode* n = s.graphs.node(*out);
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return CUDA_ERROR_INVALID_VALUE;
    n->type = CU_GRAPH_NODE_TYPE_MEMCPY;
    n->work = [=](State& at) { return copy(at, {dst, Side::either}, {src, Side::either}, size); };
    return CUDA_SUCCESS;
  });
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

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags) {
  return driver_call("cuGraphInstantiateWithFlags", out, graph, flags);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(out, graph, flags);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return driver_call("cuGraphExecDestroy", exec); }
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return driver_call("cuGraphUpload", exec, stream);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return driver_call("cuGraphLaunch", exec, stream);
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  return driver_call("cuGraphExecUpdate", exec, graph, info);
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p) {
  return with_params(p, [&](const CUDA_KERNEL_NODE_PARAMS* params) {
    return driver_call("cuGraphExecKernelNodeSetParams", exec, node, params);
  });
}

}  // extern "C"
