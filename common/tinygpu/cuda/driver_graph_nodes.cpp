// The nodes of graphs: what they do, and their parameters.
#include "common/tinygpu/base/graph_condition.h"
#include "common/tinygpu/cuda/driver_copy.h"
#include "common/tinygpu/cuda/driver_graph.h"
#include "common/tinygpu/cuda/exports.h"
#include "common/tinygpu/cuda/memory.h"

using namespace tinygpu::cuda;

namespace {

CUresult add_node(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count, CUgraphNodeType type,
                  Work work) {
  return make_node(out, graph, after, count, [&](State&, Graph& g, std::vector<GraphNode*> nodes, GraphNode*& n) {
    n = g.add(type, std::move(nodes));
    n->work = std::move(work);
    return CUDA_SUCCESS;
  });
}

CUresult prepare_kernel(State& s, const CUDA_KERNEL_NODE_PARAMS* p, PreparedLaunch& out) {
  if (!p || p->extra) return p ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  const void* handle = p->func ? static_cast<const void*>(p->func) : p->kern;
  if (!s.modules.has_kernel(handle)) return CUDA_ERROR_INVALID_HANDLE;
  LaunchRequest r;
  r.kernel = kernel_of(handle);
  r.grid = {p->gridDimX, p->gridDimY, p->gridDimZ};
  r.block = {p->blockDimX, p->blockDimY, p->blockDimZ};
  r.dynamic_shared = p->sharedMemBytes;
  r.args = p->kernelParams;
  return prepare(s, r, out);
}

}  // namespace

extern "C" {

CUresult cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count) {
  return add_node(out, graph, after, count, CU_GRAPH_NODE_TYPE_EMPTY, {});
}
CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                            const CUDA_HOST_NODE_PARAMS* p) {
  if (!p || !p->fn) return CUDA_ERROR_INVALID_VALUE;
  return add_node(out, graph, after, count, CU_GRAPH_NODE_TYPE_HOST, host_function(p->fn, p->userData));
}
CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  return add_node(out, graph, after, count, CU_GRAPH_NODE_TYPE_MEMSET,
                  [m = *p](State& s) { return fill(s, m.dst, m.value, m.elementSize, m.width, m.height, m.pitch); });
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMCPY3D* p, CUcontext) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  return add_node(out, graph, after, count, CU_GRAPH_NODE_TYPE_MEMCPY, [q = *p](State& s) { return copy_block(s, q); });
}
CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* p) {
  if (!p || p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      p->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE || p->poolProps.location.id != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (p->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
  return make_node(out, graph, after, count, [&](State& s, Graph& g, std::vector<GraphNode*> nodes, GraphNode*& n) {
    const CUresult e = g.add_allocation(s.graph_memory, std::move(nodes), p->bytesize, n);
    if (e == CUDA_SUCCESS) p->dptr = n->allocates->at.address;
    return e;
  });
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* p) {
  return in_context([&](State& s) {
    const GraphNode* n = s.graphs.node(node);
    if (!p || !n || !n->allocates) return CUDA_ERROR_INVALID_VALUE;
    *p = {};
    p->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p->poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p->bytesize = n->allocates->bytes;
    p->dptr = n->allocates->at.address;
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                               CUdeviceptr address) {
  return make_node(out, graph, after, count, [&](State& s, Graph& g, std::vector<GraphNode*> nodes, GraphNode*& n) {
    return g.add_free(s.graph_memory, std::move(nodes), address, n);
  });
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  return in_context([&](State& s) {
    const GraphNode* n = s.graphs.node(node);
    return n && n->frees ? answer(address, n->frees) : CUDA_ERROR_INVALID_VALUE;
  });
}
CUresult cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* p) {
  auto prepared = std::make_shared<PreparedLaunch>();
  if (CUresult e = in_context([&](State& s) { return prepare_kernel(s, p, *prepared); }); e != CUDA_SUCCESS) return e;
  return make_node(out, graph, after, count, [&](State&, Graph& g, std::vector<GraphNode*> nodes, GraphNode*& n) {
    n = g.add(CU_GRAPH_NODE_TYPE_KERNEL, std::move(nodes));
    n->kernel = std::move(prepared);
    return CUDA_SUCCESS;
  });
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return in_context([&](State& s) {
    GraphNode* n = s.graphs.node(node);
    return n && n->kernel ? prepare_kernel(s, p, *n->kernel) : CUDA_ERROR_INVALID_VALUE;
  });
}
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return on_exec(exec, [&](State& s, GraphExec& e) {
    const auto it = e.place.find(reinterpret_cast<const GraphNode*>(node));
    if (it == e.place.end() || !e.steps[it->second].kernel) return CUDA_ERROR_INVALID_VALUE;
    return prepare_kernel(s, p, *e.steps[it->second].kernel);
  });
}

/// Any kind of node, by the parameters of its kind.
CUresult cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData*,
                           size_t count, CUgraphNodeParams* p) {
  if (!p) return CUDA_ERROR_INVALID_VALUE;
  switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS k{};
      k.func = p->kernel.func, k.kern = p->kernel.kern;
      k.gridDimX = p->kernel.gridDimX, k.gridDimY = p->kernel.gridDimY, k.gridDimZ = p->kernel.gridDimZ;
      k.blockDimX = p->kernel.blockDimX, k.blockDimY = p->kernel.blockDimY, k.blockDimZ = p->kernel.blockDimZ;
      k.sharedMemBytes = p->kernel.sharedMemBytes;
      k.kernelParams = p->kernel.kernelParams, k.extra = p->kernel.extra;
      return cuGraphAddKernelNode_v2(out, graph, after, count, &k);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: return cuGraphAddMemcpyNode(out, graph, after, count, &p->memcpy.copyParams, {});
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const CUDA_MEMSET_NODE_PARAMS_v2& m = p->memset;
      const CUDA_MEMSET_NODE_PARAMS q{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height};
      return cuGraphAddMemsetNode(out, graph, after, count, &q, {});
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const CUDA_HOST_NODE_PARAMS h{p->host.fn, p->host.userData};
      return cuGraphAddHostNode(out, graph, after, count, &h);
    }
    case CU_GRAPH_NODE_TYPE_EMPTY: return cuGraphAddEmptyNode(out, graph, after, count);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS a{p->alloc.poolProps, p->alloc.accessDescs, p->alloc.accessDescCount,
                                   p->alloc.bytesize, 0};
      const CUresult e = cuGraphAddMemAllocNode(out, graph, after, count, &a);
      if (e == CUDA_SUCCESS) p->alloc.dptr = a.dptr;
      return e;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return cuGraphAddMemFreeNode(out, graph, after, count, p->free.dptr);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return make_node(out, graph, after, count, [&](State&, Graph& g, std::vector<GraphNode*> nodes, GraphNode*& n) {
        CUDA_CONDITIONAL_NODE_PARAMS& c = p->conditional;
        const CUresult e = g.add_conditional(std::move(nodes), c.handle, c.type, c.size, n);
        if (e == CUDA_SUCCESS) c.phGraph_out = n->conditional->handles.data();
        return e;
      });
    default: return CUresult(say_not_implemented("cuGraphAddNode for a child graph, an event or a semaphore"));
  }
}

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* out, CUgraph graph, CUcontext, unsigned value,
                                        unsigned flags) {
  return on_graph(graph, [&](State& s, Graph& g) {
    if (!out || flags > CU_GRAPH_COND_ASSIGN_DEFAULT) return CUDA_ERROR_INVALID_VALUE;
    tinygpu::api::Memory& memory = s.machine.memory();
    const uint64_t address = memory.allocate(sizeof value, tinygpu::MemoryKind::constant, tinygpu::kGraphCondition);
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    std::optional<uint32_t> at_launch;
    if (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) at_launch = value;
    g.conditions.push_back(std::make_shared<Condition>(memory, address, at_launch));
    *out = address;
    return CUDA_SUCCESS;
  });
}

// ---- What graphs have of the device's memory
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return driver([&](State& s) {
    return device == 0 ? s.graph_memory.get(attribute, static_cast<uint64_t*>(value)) : CUDA_ERROR_INVALID_DEVICE;
  });
}
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void* value) {
  return driver([&](State& s) {
    return device == 0 ? s.graph_memory.set(attribute, static_cast<const uint64_t*>(value)) : CUDA_ERROR_INVALID_DEVICE;
  });
}
CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return driver([&](State& s) {
    if (device != 0) return CUDA_ERROR_INVALID_DEVICE;
    s.graph_memory.trim();
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
