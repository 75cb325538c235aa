#include "common/tinygpu/cuda/graph.h"

#include <algorithm>

#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

GraphNode* Graph::add(CUgraphNodeType type, std::vector<GraphNode*> after) {
  nodes.push_back(std::make_unique<GraphNode>());
  nodes.back()->type = type;
  nodes.back()->after = std::move(after);
  return nodes.back().get();
}

bool Graph::has(const GraphNode* node) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& n) { return n.get() == node; });
}

std::optional<std::vector<GraphNode*>> Graph::order() const {
  std::vector<GraphNode*> out;
  std::set<const GraphNode*> done;
  // Nodes mostly stand in order already: one pass is the rule.
  for (bool moved = true; moved && out.size() < nodes.size();) {
    moved = false;
    for (const auto& n : nodes) {
      if (done.count(n.get()) || !std::all_of(n->after.begin(), n->after.end(), [&](auto* a) { return done.count(a); }))
        continue;
      done.insert(n.get());
      out.push_back(n.get());
      moved = true;
    }
  }
  if (out.size() < nodes.size()) return std::nullopt;
  return out;
}

Graph* Graphs::create() { return keep(std::make_unique<Graph>()); }

Graph* Graphs::keep(std::unique_ptr<Graph> graph) {
  Graph* g = graph.get();
  graphs_[g] = std::move(graph);
  return g;
}

Graph* Graphs::graph(void* handle) const {
  const auto it = graphs_.find(handle);
  return it == graphs_.end() ? nullptr : it->second.get();
}

GraphNode* Graphs::node(void* handle) const {
  for (const auto& [_, g] : graphs_)
    if (g->has(static_cast<GraphNode*>(handle))) return static_cast<GraphNode*>(handle);
  return nullptr;
}

CUresult Graphs::instantiate(Graph* g, GraphExec*& out) {
  const auto order = g->order();
  if (!order) return CUDA_ERROR_INVALID_VALUE;
  auto e = std::make_unique<GraphExec>();
  for (const GraphNode* n : *order) {
    e->place[n] = e->steps.size();
    e->steps.push_back(*n);
    // Parameters that are set in the one are not set in the other.
    if (n->kernel) e->steps.back().kernel = std::make_shared<PreparedLaunch>(*n->kernel);
  }
  out = e.get();
  execs_[out] = std::move(e);
  return CUDA_SUCCESS;
}

GraphExec* Graphs::exec(void* handle) const {
  const auto it = execs_.find(handle);
  return it == execs_.end() ? nullptr : it->second.get();
}

CUresult Graphs::begin(Stream& origin) {
  if (origin.capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto c = std::make_unique<Capture>();
  c->id = ++captured_;
  c->graph = std::make_unique<Graph>();
  c->origin = &origin;
  c->front[&origin];
  origin.capture = c.get();
  captures_[c.get()] = std::move(c);
  return CUDA_SUCCESS;
}

CUresult Graphs::end(Stream& stream, Graph*& out) {
  out = nullptr;
  Capture* c = stream.capture;
  if (!c) return CUDA_ERROR_ILLEGAL_STATE;
  if (c->origin != &stream) {
    c->broken = true;  // as on an H200
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  // Streams that joined must have been waited for by the origin, with all that they have.
  bool joined = true;
  const auto& origin = c->front[&stream];
  std::set<const GraphNode*> reached;
  std::vector<const GraphNode*> todo(origin.begin(), origin.end());
  while (!todo.empty()) {
    const GraphNode* n = todo.back();
    todo.pop_back();
    if (reached.insert(n).second) todo.insert(todo.end(), n->after.begin(), n->after.end());
  }
  for (auto& [member, front] : c->front) {
    for (const GraphNode* n : front) joined &= reached.count(n) != 0;
    member->capture = nullptr;
  }
  const bool broken = c->broken;
  if (!broken && joined) out = keep(std::move(c->graph));
  captures_.erase(c);
  return broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

Capture* Graphs::capture(uint64_t id) const {
  for (const auto& [_, c] : captures_)
    if (id && c->id == id) return c.get();
  return nullptr;
}

void Graphs::forget(Stream& stream) {
  if (!stream.capture) return;
  Capture* c = stream.capture;
  c->broken = true;
  c->front.erase(&stream);
  if (c->origin != &stream) return;
  for (auto& [member, _] : c->front) member->capture = nullptr;
  captures_.erase(c);
}

Work host_function(void (*f)(void*), void* data) {
  return [=](State& s) {
    struct Within {
      bool& flag;
      explicit Within(bool& f) : flag(f) { flag = true; }
      ~Within() { flag = false; }
    } within(s.in_host_function);
    f(data);
    return CUDA_SUCCESS;
  };
}

CUresult submit(State& s, Stream& stream, CUgraphNodeType type, Work work) {
  Capture* c = stream.capture;
  if (!c) return s.do_on(stream, std::move(work));
  if (c->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  GraphNode* n = c->graph->add(type, c->front[&stream]);
  n->work = std::move(work);
  c->front[&stream] = {n};
  return CUDA_SUCCESS;
}

CUresult no_capture(Stream& stream) {
  if (!stream.capture) return CUDA_SUCCESS;
  stream.capture->broken = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult launch_graph(State& s, Stream& stream, const GraphExec& e) {
  s.submitted.add(stream, e);
  // The host may wait for what its own function does.
  const bool calls_host =
      std::ranges::any_of(e.steps, [](const GraphNode& n) { return n.type == CU_GRAPH_NODE_TYPE_HOST; });
  return calls_host ? s.settle() : s.has_submitted(stream);
}

bool update(GraphExec& e, Graph& g, CUgraphExecUpdateResult& why, GraphNode*& where) {
  where = nullptr;
  const auto order = g.order();
  why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  if (!order || order->size() != e.steps.size()) return false;
  // Which of the old nodes stands where in `e`, to compare edges.
  std::map<const GraphNode*, size_t> place;
  for (size_t i = 0; i < order->size(); ++i) place[(*order)[i]] = i;
  const auto edges = [](const GraphNode& n, const std::map<const GraphNode*, size_t>& places) {
    std::set<size_t> out;
    for (const GraphNode* a : n.after) out.insert(places.at(a));
    return out;
  };
  for (size_t i = 0; i < order->size(); ++i) {
    where = (*order)[i];
    why = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (where->type != e.steps[i].type) return false;
    why = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (edges(*where, place) != edges(e.steps[i], e.place)) return false;
  }
  for (size_t i = 0; i < order->size(); ++i) {
    const std::vector<GraphNode*> after = e.steps[i].after;
    e.steps[i] = *(*order)[i];
    e.steps[i].after = after;
    if (e.steps[i].kernel) e.steps[i].kernel = std::make_shared<PreparedLaunch>(*e.steps[i].kernel);
  }
  why = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  where = nullptr;
  return true;
}

}  // namespace tinygpu::cuda
