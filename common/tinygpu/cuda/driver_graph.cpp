// Graphs and stream capture of the driver API.
#include "common/tinygpu/cuda/driver_graph.h"
#include "common/tinygpu/cuda/memory.h"

using namespace tinygpu::cuda;

extern "C" {

// ---- Capture
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return on_stream(stream, [&](State& s, Stream& p) {
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
    // The legacy stream waits for all others, which a graph cannot say.
    return &p == &s.streams.legacy() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : s.graphs.begin(p);
  });
}
#undef cuStreamBeginCapture
CUresult cuStreamBeginCapture(CUstream stream) {
  return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData*,
                                     size_t count, CUstreamCaptureMode mode) {
  return on_stream(stream, [&](State& s, Stream& p) {
    Graph* const g = s.graphs.graph(graph);
    std::vector<GraphNode*> nodes;
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED || !g || !nodes_of(*g, after, count, nodes))
      return CUDA_ERROR_INVALID_VALUE;
    return &p == &s.streams.legacy() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : s.graphs.begin(p, *g, std::move(nodes));
  });
}
/// What the stream's next node comes after: these, or these too.
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* after, const CUgraphEdgeData*, size_t count,
                                              unsigned flags) {
  return on_stream(stream, [&](State&, Stream& p) {
    if (!p.capture) return CUDA_ERROR_ILLEGAL_STATE;
    std::vector<GraphNode*> nodes;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || !nodes_of(*p.capture->graph, after, count, nodes))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<GraphNode*>& front = p.capture->front[&p];
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) front.clear();
    front.insert(front.end(), nodes.begin(), nodes.end());
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* out) {
  return on_stream(stream, [&](State& s, Stream& p) {
    const bool into_one_there = p.capture && !p.capture->own;
    if (!out && !into_one_there) return CUDA_ERROR_INVALID_VALUE;
    Graph* g = nullptr;
    const CUresult e = s.graphs.end(p, g);
    if (out) *out = reinterpret_cast<CUgraph>(g);
    return e;
  });
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream& p) {
    return answer(status, !p.capture          ? CU_STREAM_CAPTURE_STATUS_NONE
                          : p.capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                              : CU_STREAM_CAPTURE_STATUS_ACTIVE);
  });
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** after, const CUgraphEdgeData** edges, size_t* count) {
  if (CUresult e = cuStreamIsCapturing(stream, status); e != CUDA_SUCCESS) return e;
  return on_stream(stream, [&](State&, Stream& p) {
    Capture* c = p.capture;
    if (!c) return CUDA_SUCCESS;
    auto& front = c->front[&p];
    if (id) *id = c->id;
    if (graph) *graph = reinterpret_cast<CUgraph>(c->graph);
    if (after) *after = reinterpret_cast<const CUgraphNode*>(front.data());
    if (edges) *edges = nullptr;
    if (count) *count = front.size();
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** after, size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, after, nullptr, count);
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return in_context([&](State&) {
    return mode && *mode <= CU_STREAM_CAPTURE_MODE_RELAXED ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// ---- Graphs
CUresult cuGraphCreate(CUgraph* out, unsigned flags) {
  return in_context([&](State& s) {
    if (!out || flags) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUgraph>(s.graphs.create());
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphDestroy(CUgraph graph) {
  return on_graph(graph, [&](State& s, Graph& g) {
    s.graphs.destroy(&g);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphClone(CUgraph* out, CUgraph graph) {
  return on_graph(graph, [&](State& s, Graph& g) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    Graph* copy = nullptr;
    const CUresult e = s.graphs.clone(g, copy);
    if (e == CUDA_SUCCESS) *out = reinterpret_cast<CUgraph>(copy);
    return e;
  });
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return on_graph(graph, [&](State&, Graph& g) {
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    const size_t room = *count, n = nodes ? std::min(room, g.nodes.size()) : g.nodes.size();
    for (size_t i = 0; nodes && i < room; ++i)
      nodes[i] = i < n ? reinterpret_cast<CUgraphNode>(g.nodes[i].get()) : nullptr;
    *count = n;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  return on_graph(graph, [&](State&, Graph& g) {
    if (!count || !from != !to || (data && !from)) return CUDA_ERROR_INVALID_VALUE;
    const size_t room = from ? *count : 0;
    size_t n = 0;
    for (const auto& node : g.nodes)
      for (GraphNode* before : node->after) {
        if (n < room) {
          from[n] = reinterpret_cast<CUgraphNode>(before);
          to[n] = reinterpret_cast<CUgraphNode>(node.get());
        }
        ++n;
      }
    for (size_t i = n; i < room; ++i) from[i] = to[i] = nullptr;
    if (data) std::fill_n(data, room, CUgraphEdgeData{});
    *count = from ? std::min(n, room) : n;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return in_context([&](State& s) {
    const GraphNode* n = s.graphs.node(node);
    return n ? answer(type, n->type) : CUDA_ERROR_INVALID_VALUE;
  });
}
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData*, size_t count) {
  return on_graph(graph, [&](State&, Graph& g) {
    if (count && (!from || !to)) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i)
      if (!g.has(reinterpret_cast<GraphNode*>(from[i])) || !g.has(reinterpret_cast<GraphNode*>(to[i])))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; ++i)
      reinterpret_cast<GraphNode*>(to[i])->after.push_back(reinterpret_cast<GraphNode*>(from[i]));
    return CUDA_SUCCESS;
  });
}

// ---- Executable graphs
CUresult cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return on_graph(graph, [&](State& s, Graph& g) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) return CUDA_ERROR_NOT_SUPPORTED;
    GraphExec* e = nullptr;
    const CUresult error = s.graphs.instantiate(&g, flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH, e);
    if (error == CUDA_SUCCESS) *out = reinterpret_cast<CUgraphExec>(e);
    return error;
  });
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* p) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  const CUresult e = cuGraphInstantiateWithFlags(out, graph, p->flags);
  p->hErrNode_out = nullptr;
  p->result_out = e == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return e;
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return on_exec(exec, [](State& s, GraphExec& e) {
    s.graphs.destroy(&e);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return on_exec(
      exec, [&](State& s, GraphExec&) { return s.streams.find(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return on_exec<Pending::stays>(exec, [&](State& s, GraphExec& e) {
    return with_stream(s, stream, [&](State&, Stream& p) {
      const CUresult error = no_capture(p);
      return error == CUDA_SUCCESS ? launch_graph(s, p, e) : error;
    });
  });
}
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  return on_exec(exec, [&](State& s, GraphExec& e) {
    Graph* g = s.graphs.graph(graph);
    if (!g || !info) return CUDA_ERROR_INVALID_VALUE;
    GraphNode* where = nullptr;
    *info = {};
    const bool done = update(e, *g, info->result, where);
    info->errorNode = reinterpret_cast<CUgraphNode>(where);
    return done ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  });
}

}  // extern "C"
