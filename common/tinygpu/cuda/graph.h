// CUDA graphs and stream capture. A graph is a list of pieces of work with what each comes after; an executable graph
// is that list in one order that keeps these. What is launched is submitted to the stream (submitted.h).
#pragma once
#include <cuda.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/submitted.h"

namespace tinygpu::cuda {

class State;
struct Stream;

/// One node. Its address is the handle of both APIs.
struct GraphNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Work work;                               // not of kernels
  std::shared_ptr<PreparedLaunch> kernel;  // of kernels
  std::vector<GraphNode*> after;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  GraphNode* add(CUgraphNodeType type, std::vector<GraphNode*> after);
  bool has(const GraphNode* node) const;
  /// The nodes, each behind those that it comes after; nothing if they go in a circle.
  std::optional<std::vector<GraphNode*>> order() const;
};

struct GraphExec {
  std::vector<GraphNode> steps;
  std::map<const GraphNode*, size_t> place;  // of the graph's nodes
};

/// A graph that streams write.
struct Capture {
  uint64_t id = 0;
  std::unique_ptr<Graph> graph;
  Stream* origin = nullptr;
  bool broken = false;                               // by something that cannot be captured
  std::map<Stream*, std::vector<GraphNode*>> front;  // of each stream: what its next node comes after
};

/// All that live. Handles that are none are INVALID_VALUE, as CUDA has it.
class Graphs {
 public:
  Graph* create();
  Graph* keep(std::unique_ptr<Graph> graph);
  bool destroy(Graph* g) { return graphs_.erase(g) != 0; }
  Graph* graph(void* handle) const;
  GraphNode* node(void* handle) const;  // of any graph

  CUresult instantiate(Graph* g, GraphExec*& out);
  bool destroy(GraphExec* e) { return execs_.erase(e) != 0; }
  GraphExec* exec(void* handle) const;

  // ---- Capture. A stream that captures has Stream::capture.
  CUresult begin(Stream& origin);
  /// INVALIDATED and no graph if something that cannot be captured was done meanwhile.
  CUresult end(Stream& stream, Graph*& out);
  /// The capture of this number, if it goes on.
  Capture* capture(uint64_t id) const;
  /// The stream goes away: its capture is broken.
  void forget(Stream& stream);

 private:
  std::map<const void*, std::unique_ptr<Graph>> graphs_;
  std::map<const void*, std::unique_ptr<GraphExec>> execs_;
  std::map<const Capture*, std::unique_ptr<Capture>> captures_;
  uint64_t captured_ = 0;
};

/// A call of the program's that a graph makes.
Work host_function(void (*f)(void*), void* data);

/// A copy or a fill on a stream: written down where the stream captures, else submitted. Its arguments are judged now.
CUresult submit(State& s, Stream& stream, CUgraphNodeType type, Work work);
/// A call that cannot be written down: UNSUPPORTED where the stream captures, and the capture is broken.
CUresult no_capture(Stream& stream);

/// Submits the steps to the stream.
CUresult launch_graph(State& s, Stream& stream, const GraphExec& e);
/// Takes the parameters of the graph's nodes where both have the same nodes with the same edges. False, and the reason,
/// where they differ.
bool update(GraphExec& e, Graph& g, CUgraphExecUpdateResult& why, GraphNode*& where);

}  // namespace tinygpu::cuda
