// CUDA graphs and stream capture. A graph is a list of pieces of work with what each comes after; an executable graph
// is that list in one order that keeps these. What is launched is submitted to the stream (submitted.h).
#pragma once
#include <cuda.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "common/tinygpu/cuda/graph_memory.h"
#include "common/tinygpu/cuda/launch.h"
#include "common/tinygpu/cuda/submitted.h"

namespace tinygpu::cuda {

class State;
struct Stream;

struct Graph;
struct GraphExec;

/// A value in device memory by which a graph goes on one way or another. Its address is the handle.
struct Condition {
  api::Memory& memory;
  uint64_t address = 0;
  std::optional<uint32_t> at_launch;  // what it is set to when the graph is launched
  Condition(api::Memory& m, uint64_t where, std::optional<uint32_t> set) : memory(m), address(where), at_launch(set) {}
  ~Condition() { memory.release(address); }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
};

/// What a node does that a condition decides.
struct Conditional {
  std::shared_ptr<Condition> condition;
  CUgraphConditionalNodeType type = CU_GRAPH_COND_TYPE_IF;
  std::vector<std::unique_ptr<Graph>> bodies;
  std::vector<CUgraph> handles;  // of the bodies
  /// Which body comes next, by the condition's value; nothing if none does.
  std::optional<size_t> body(uint32_t value) const;
};

/// One node. Its address is the handle of both APIs.
struct GraphNode {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  Work work;                               // not of kernels
  std::shared_ptr<PreparedLaunch> kernel;  // of kernels
  std::vector<GraphNode*> after;
  std::shared_ptr<GraphAddresses> allocates;
  uint64_t frees = 0;  // an address
  std::shared_ptr<Conditional> conditional;
  std::vector<std::shared_ptr<const GraphExec>> bodies;  // of a step of an executable graph
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
  std::vector<std::shared_ptr<Condition>> conditions;
  GraphNode* add(CUgraphNodeType type, std::vector<GraphNode*> after);
  bool has(const GraphNode* node) const;
  /// The nodes, each behind those that it comes after; nothing if they go in a circle.
  std::optional<std::vector<GraphNode*>> order() const;
  /// Nodes that allocate and free memory. An allocation gets the addresses of an earlier one of this graph that is
  /// freed before it begins, if that has as many bytes.
  CUresult add_allocation(GraphMemory& memory, std::vector<GraphNode*> after, uint64_t bytes, GraphNode*& out);
  /// INVALID_VALUE for what no node has allocated, or one of this graph frees already.
  CUresult add_free(GraphMemory& memory, std::vector<GraphNode*> after, uint64_t address, GraphNode*& out);
  bool has_memory() const;
  /// INVALID_VALUE for a handle that is none of this graph's, and a number of bodies that the type does not have.
  CUresult add_conditional(std::vector<GraphNode*> after, uint64_t handle, CUgraphConditionalNodeType type,
                           unsigned bodies, GraphNode*& out);
};

struct GraphExec {
  std::vector<GraphNode> steps;
  std::map<const GraphNode*, size_t> place;  // of the graph's nodes
  const Graph* memory_of = nullptr;          // the graph, if it has nodes of memory
  bool frees_on_launch = false;              // what it allocated before
  std::vector<std::shared_ptr<Condition>> conditions;
};

/// A graph that streams write.
struct Capture {
  uint64_t id = 0;
  std::unique_ptr<Graph> own;  // unless nodes go into a graph that was there
  Graph* graph = nullptr;
  Stream* origin = nullptr;
  bool broken = false;                               // by something that cannot be captured
  std::map<Stream*, std::vector<GraphNode*>> front;  // of each stream: what its next node comes after
  std::vector<GraphNode*> ended;                     // what was the front of streams that are not there any more
};

/// All that live. Handles that are none are INVALID_VALUE, as CUDA has it.
class Graphs {
 public:
  Graph* create();
  Graph* keep(std::unique_ptr<Graph> graph);
  bool destroy(Graph* g);
  Graph* graph(void* handle) const;     // of a capture too
  GraphNode* node(void* handle) const;  // of any graph

  CUresult instantiate(Graph* g, bool frees_on_launch, GraphExec*& out);
  /// NOT_SUPPORTED for a graph with nodes of memory.
  CUresult clone(const Graph& g, Graph*& out);
  bool destroy(GraphExec* e) { return execs_.erase(e) != 0; }
  GraphExec* exec(void* handle) const;

  // ---- Capture. A stream that captures has Stream::capture.
  CUresult begin(Stream& origin);
  /// The nodes go into this graph, behind these.
  CUresult begin(Stream& origin, Graph& into, std::vector<GraphNode*> after);
  /// INVALIDATED and no graph if something that cannot be captured was done meanwhile.
  CUresult end(Stream& stream, Graph*& out);
  /// The capture of this number, if it goes on.
  Capture* capture(uint64_t id) const;
  /// The stream goes away. A capture that began on it is over; of another it must have been joined.
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
/// cudaMallocAsync and cudaFreeAsync on a stream that captures.
CUresult capture_allocation(State& s, Stream& stream, uint64_t bytes, uint64_t& address);
CUresult capture_free(State& s, Stream& stream, uint64_t address);
/// A call that cannot be written down: UNSUPPORTED where the stream captures, and the capture is broken.
CUresult no_capture(Stream& stream);

/// Submits the steps to the stream.
CUresult launch_graph(State& s, Stream& stream, const GraphExec& e);
/// Takes the parameters of the graph's nodes where both have the same nodes with the same edges. False, and the reason,
/// where they differ.
bool update(GraphExec& e, Graph& g, CUgraphExecUpdateResult& why, GraphNode*& where);

}  // namespace tinygpu::cuda
