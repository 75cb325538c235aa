// What the driver_graph*.cpp files share.
#pragma once
#include <utility>
#include <vector>

#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/graph.h"

namespace tinygpu::cuda {

/// f(state, graph) for a live graph.
template <class F>
CUresult on_graph(CUgraph graph, F&& f) {
  return in_context([&](State& s) {
    Graph* g = s.graphs.graph(graph);
    return g ? CUresult(f(s, *g)) : CUDA_ERROR_INVALID_VALUE;
  });
}
template <Pending pending = Pending::runs, class F>
CUresult on_exec(CUgraphExec exec, F&& f) {
  return in_context<pending>([&](State& s) {
    GraphExec* e = s.graphs.exec(exec);
    return e ? CUresult(f(s, *e)) : CUDA_ERROR_INVALID_VALUE;
  });
}

/// The nodes that these handles are; false if one is not of the graph.
inline bool nodes_of(const Graph& g, const CUgraphNode* handles, size_t count, std::vector<GraphNode*>& out) {
  if (count && !handles) return false;
  for (size_t i = 0; i < count; ++i) {
    out.push_back(reinterpret_cast<GraphNode*>(handles[i]));
    if (!g.has(out.back())) return false;
  }
  return true;
}

/// Lets f(state, graph, dependencies, node) make a node of a live graph, and hands it out.
template <class F>
CUresult make_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, F&& f) {
  return on_graph(graph, [&](State& s, Graph& g) {
    std::vector<GraphNode*> nodes;
    if (!out || !nodes_of(g, after, count, nodes)) return CUDA_ERROR_INVALID_VALUE;
    GraphNode* n = nullptr;
    const CUresult e = f(s, g, std::move(nodes), n);
    if (e == CUDA_SUCCESS) *out = reinterpret_cast<CUgraphNode>(n);
    return e;
  });
}

}  // namespace tinygpu::cuda
