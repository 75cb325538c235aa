// Graphs and stream capture of the runtime. Handles and most structures are the driver's; what begins here finds the
// driver's function by name, as every mixture of the two APIs may.
#include "common/tinygpu/cuda/runtime_graph.h"

using namespace tinygpu::cuda;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return driver_call("cuStreamBeginCapture", stream, CUstreamCaptureMode(mode));
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* after,
                                          const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode mode) {
  return driver_call("cuStreamBeginCaptureToGraph", stream, graph, after, edges, count, CUstreamCaptureMode(mode));
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* after,
                                                const cudaGraphEdgeData* edges, size_t count, unsigned flags) {
  return driver_call("cuStreamUpdateCaptureDependencies", stream, after, edges, count, flags);
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
cudaError_t cudaGraphClone(cudaGraph_t* out, cudaGraph_t graph) { return driver_call("cuGraphClone", out, graph); }
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

}  // extern "C"
