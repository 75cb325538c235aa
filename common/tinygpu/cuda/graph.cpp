#include "common/tinygpu/cuda/graph.h"

#include <algorithm>

#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

namespace {

/// These nodes, and all that they come after.
std::set<const GraphNode*> all_before(const std::vector<GraphNode*>& front) {
  std::set<const GraphNode*> reached;
  std::vector<const GraphNode*> todo(front.begin(), front.end());
  while (!todo.empty()) {
    const GraphNode* n = todo.back();
    todo.pop_back();
    if (reached.insert(n).second) todo.insert(todo.end(), n->after.begin(), n->after.end());
  }
  return reached;
}

}  // namespace

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

bool Graph::has_memory() const {
  return std::ranges::any_of(nodes, [](const auto& n) { return n->allocates || n->frees; });
}

CUresult Graph::add_allocation(GraphMemory& memory, std::vector<GraphNode*> after, uint64_t bytes, GraphNode*& out) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::set<const GraphNode*> before = all_before(after);
  std::shared_ptr<GraphAddresses> addresses;
  for (const auto& n : nodes) {
    if (addresses || !n->allocates || n->allocates->bytes != bytes) continue;
    // Every node that allocates there comes before, and as many that free it again do.
    bool all = true;
    ptrdiff_t open = 0;
    for (const auto& other : nodes) {
      const bool comes_before = before.count(other.get()) != 0;
      if (other->allocates == n->allocates) ++open, all &= comes_before;
      if (other->frees == n->allocates->at.address) open -= comes_before;
    }
    if (all && open == 0) addresses = n->allocates;
  }
  if (!addresses) addresses = memory.reserve(bytes);
  if (!addresses) return CUDA_ERROR_OUT_OF_MEMORY;
  out = add(CU_GRAPH_NODE_TYPE_MEM_ALLOC, std::move(after));
  out->allocates = addresses;
  out->work = [addresses](State& s) { return s.graph_memory.allocate(addresses); };
  return CUDA_SUCCESS;
}

CUresult Graph::add_free(GraphMemory& memory, std::vector<GraphNode*> after, uint64_t address, GraphNode*& out) {
  if (!memory.known(address)) return CUDA_ERROR_INVALID_VALUE;
  ptrdiff_t allocated = 0, freed = 0;
  for (const auto& n : nodes) {
    allocated += n->allocates && n->allocates->at.address == address;
    freed += n->frees == address;
  }
  if (freed >= std::max<ptrdiff_t>(allocated, 1)) return CUDA_ERROR_INVALID_VALUE;
  out = add(CU_GRAPH_NODE_TYPE_MEM_FREE, std::move(after));
  out->frees = address;
  out->work = [address](State& s) { return s.graph_memory.free(address); };
  return CUDA_SUCCESS;
}

Graph* Graphs::create() { return keep(std::make_unique<Graph>()); }

Graph* Graphs::keep(std::unique_ptr<Graph> graph) {
  Graph* g = graph.get();
  graphs_[g] = std::move(graph);
  return g;
}

std::optional<size_t> Conditional::body(uint32_t value) const {
  size_t wanted = value;
  if (type != CU_GRAPH_COND_TYPE_SWITCH) wanted = value ? 0 : 1;
  if (wanted >= bodies.size()) return std::nullopt;
  return wanted;
}

CUresult Graph::add_conditional(std::vector<GraphNode*> after, uint64_t handle, CUgraphConditionalNodeType type,
                                unsigned bodies, GraphNode*& out) {
  const auto condition = std::ranges::find_if(conditions, [&](const auto& c) { return c->address == handle; });
  const unsigned most = type == CU_GRAPH_COND_TYPE_WHILE ? 1 : type == CU_GRAPH_COND_TYPE_IF ? 2 : ~0u;
  if (condition == conditions.end() || type > CU_GRAPH_COND_TYPE_SWITCH || bodies == 0 || bodies > most)
    return CUDA_ERROR_INVALID_VALUE;
  auto c = std::make_shared<Conditional>();
  c->condition = *condition;
  c->type = type;
  for (unsigned i = 0; i < bodies; ++i) {
    c->bodies.push_back(std::make_unique<Graph>());
    c->bodies.back()->conditions = conditions;  // kernels in it may set them, and nodes ask for them
    c->handles.push_back(reinterpret_cast<CUgraph>(c->bodies.back().get()));
  }
  out = add(CU_GRAPH_NODE_TYPE_CONDITIONAL, std::move(after));
  out->conditional = std::move(c);
  return CUDA_SUCCESS;
}

bool Graphs::destroy(Graph* g) {
  for (const auto& [_, e] : execs_)
    if (e->memory_of == g) e->memory_of = nullptr;
  return graphs_.erase(g) != 0;
}

namespace {

/// The first that is not null of f(graph), for a graph and those in its nodes.
template <class F>
auto search(Graph& g, const F& f) -> decltype(f(g)) {
  if (const auto found = f(g)) return found;
  for (const auto& n : g.nodes)
    if (n->conditional)
      for (const auto& body : n->conditional->bodies)
        if (const auto found = search(*body, f)) return found;
  return nullptr;
}

}  // namespace

Graph* Graphs::graph(void* handle) const {
  const auto is_it = [&](Graph& g) { return &g == handle ? &g : nullptr; };
  for (const auto& [_, c] : captures_)
    if (Graph* found = search(*c->graph, is_it)) return found;
  for (const auto& [_, g] : graphs_)
    if (Graph* found = search(*g, is_it)) return found;
  return nullptr;
}

GraphNode* Graphs::node(void* handle) const {
  auto* const n = static_cast<GraphNode*>(handle);
  const auto has_it = [&](Graph& g) { return g.has(n) ? n : nullptr; };
  for (const auto& [_, c] : captures_)
    if (search(*c->graph, has_it)) return n;
  for (const auto& [_, g] : graphs_)
    if (search(*g, has_it)) return n;
  return nullptr;
}

namespace {

CUresult make_executable(const Graph& g, std::unique_ptr<GraphExec>& out) {
  const auto order = g.order();
  if (!order) return CUDA_ERROR_INVALID_VALUE;
  out = std::make_unique<GraphExec>();
  out->conditions = g.conditions;
  for (const GraphNode* n : *order) {
    out->place[n] = out->steps.size();
    out->steps.push_back(*n);
    GraphNode& step = out->steps.back();
    // Parameters that are set in the one are not set in the other.
    if (n->kernel) step.kernel = std::make_shared<PreparedLaunch>(*n->kernel);
    if (!n->conditional) continue;
    for (const auto& body : n->conditional->bodies) {
      // As the manual has it: a body holds no such nodes.
      if (std::ranges::any_of(body->nodes, [](const auto& inner) {
            return inner->allocates || inner->frees || inner->type == CU_GRAPH_NODE_TYPE_HOST;
          }))
        return CUDA_ERROR_NOT_SUPPORTED;
      std::unique_ptr<GraphExec> made;
      if (const CUresult e = make_executable(*body, made); e != CUDA_SUCCESS) return e;
      step.bodies.push_back(std::move(made));
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult Graphs::instantiate(Graph* g, bool frees_on_launch, GraphExec*& out) {
  std::unique_ptr<GraphExec> e;
  if (const CUresult error = make_executable(*g, e); error != CUDA_SUCCESS) return error;
  e->frees_on_launch = frees_on_launch;
  if (g->has_memory()) {
    // Both would allocate at the same addresses.
    if (std::ranges::any_of(execs_, [&](const auto& other) { return other.second->memory_of == g; }))
      return CUDA_ERROR_NOT_SUPPORTED;
    e->memory_of = g;
  }
  out = e.get();
  execs_[out] = std::move(e);
  return CUDA_SUCCESS;
}

CUresult Graphs::clone(const Graph& g, Graph*& out) {
  if (g.has_memory() || !g.conditions.empty()) return CUDA_ERROR_NOT_SUPPORTED;
  auto copy = std::make_unique<Graph>();
  std::map<const GraphNode*, GraphNode*> twin;
  for (const auto& n : g.nodes) {
    GraphNode* const c = twin[n.get()] = copy->add(n->type, {});
    c->work = n->work;
    if (n->kernel) c->kernel = std::make_shared<PreparedLaunch>(*n->kernel);
  }
  for (const auto& n : g.nodes)
    for (const GraphNode* before : n->after) twin[n.get()]->after.push_back(twin[before]);
  out = keep(std::move(copy));
  return CUDA_SUCCESS;
}

GraphExec* Graphs::exec(void* handle) const {
  const auto it = execs_.find(handle);
  return it == execs_.end() ? nullptr : it->second.get();
}

CUresult Graphs::begin(Stream& origin) {
  auto own = std::make_unique<Graph>();
  const CUresult e = begin(origin, *own, {});
  if (e == CUDA_SUCCESS) origin.capture->own = std::move(own);
  return e;
}

CUresult Graphs::begin(Stream& origin, Graph& into, std::vector<GraphNode*> after) {
  if (origin.capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto c = std::make_unique<Capture>();
  c->id = ++captured_;
  c->graph = &into;
  c->origin = &origin;
  c->front[&origin] = std::move(after);
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
  const std::set<const GraphNode*> reached = all_before(c->front[&stream]);
  const auto all_reached = [&](const std::vector<GraphNode*>& front) {
    return std::ranges::all_of(front, [&](const GraphNode* n) { return reached.count(n) != 0; });
  };
  bool joined = all_reached(c->ended);
  for (auto& [member, front] : c->front) {
    joined &= all_reached(front);
    member->capture = nullptr;
  }
  const bool broken = c->broken;
  if (!broken && joined) out = c->own ? keep(std::move(c->own)) : c->graph;
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
  const auto front = c->front.extract(&stream);
  c->ended.insert(c->ended.end(), front.mapped().begin(), front.mapped().end());
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

CUresult capture_allocation(State& s, Stream& stream, uint64_t bytes, uint64_t& address) {
  Capture& c = *stream.capture;
  if (c.broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  GraphNode* n = nullptr;
  const CUresult e = c.graph->add_allocation(s.graph_memory, c.front[&stream], bytes, n);
  if (e != CUDA_SUCCESS) return e;
  c.front[&stream] = {n};
  address = n->allocates->at.address;
  return CUDA_SUCCESS;
}

CUresult capture_free(State& s, Stream& stream, uint64_t address) {
  Capture& c = *stream.capture;
  if (c.broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  GraphNode* n = nullptr;
  const CUresult e = c.graph->add_free(s.graph_memory, c.front[&stream], address, n);
  if (e == CUDA_SUCCESS) c.front[&stream] = {n};
  return e;
}

CUresult no_capture(Stream& stream) {
  if (!stream.capture) return CUDA_SUCCESS;
  stream.capture->broken = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult launch_graph(State& s, Stream& stream, const GraphExec& e) {
  std::vector<uint64_t> left_over;
  if (const CUresult error = s.graph_memory.launch(e, left_over); error != CUDA_SUCCESS) return error;
  for (const uint64_t address : left_over)
    s.submitted.add(stream, [address](State& at) { return at.graph_memory.free(address); });
  s.submitted.add(stream, e);
  // The host may wait for what its own function does, and use what is still allocated when the graph is over.
  const bool is_awaited = std::ranges::any_of(e.steps, [&](const GraphNode& n) {
    return n.type == CU_GRAPH_NODE_TYPE_HOST || (n.allocates && s.graph_memory.holds(n.allocates->at.address));
  });
  return is_awaited ? s.settle() : s.has_submitted(stream);
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
    why = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    if (where->conditional) return false;
    if (where->allocates && where->allocates->bytes != e.steps[i].allocates->bytes) return false;
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
