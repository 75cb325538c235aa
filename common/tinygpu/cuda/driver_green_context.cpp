// Green contexts of the driver API.
#include <algorithm>

#include "common/tinygpu/cuda/driver_context.h"

using namespace tinygpu::cuda;

namespace {

/// f(state, context) for a live handle.
template <class F>
CUresult on_green(const void* green, F&& f) {
  return driver([&](State& s) {
    const std::shared_ptr<GreenContext> context = s.green_contexts.find(green);
    return context ? CUresult(f(s, context)) : CUDA_ERROR_INVALID_CONTEXT;
  });
}

}  // namespace

extern "C" {

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* out, CUdevResourceType type) {
  return on_device(device, [&](State& s) {
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    return answer(out, s.green_contexts.whole());
  });
}
CUresult cuCtxGetDevResource(CUcontext c, CUdevResource* out, CUdevResourceType type) {
  return driver([&](State& s) {
    const ContextPtr context = live_context(c ? c : handle_of(current_context()));
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    return answer(out, context->green ? context->green->resource : s.green_contexts.whole());
  });
}
CUresult cuDevSmResourceSplitByCount(CUdevResource* out, unsigned* groups, const CUdevResource* input,
                                     CUdevResource* remaining, unsigned flags, unsigned least) {
  constexpr unsigned kKnown =
      CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
  return driver([&](State& s) {
    if (!groups || !input || flags & ~kKnown) return CUDA_ERROR_INVALID_VALUE;
    return s.green_contexts.split(*input, least, flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING, *groups, out,
                                  remaining);
  });
}
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* out, CUdevResource* resources, unsigned count) {
  return driver([&](State& s) {
    if (!out || !resources || count == 0) return CUDA_ERROR_INVALID_VALUE;
    return s.green_contexts.describe({resources, count}, *out);
  });
}
CUresult cuGreenCtxCreate(CUgreenCtx* out, CUdevResourceDesc description, CUdevice device, unsigned flags) {
  return on_device(device, [&](State& s) {
    if (!out || flags != CU_GREEN_CTX_DEFAULT_STREAM) return CUDA_ERROR_INVALID_VALUE;
    const CUresult e = s.green_contexts.create(description, *out);
    if (e == CUDA_SUCCESS) ++contexts().retained;
    return e;
  });
}
CUresult cuGreenCtxDestroy(CUgreenCtx green) {
  return after_faults([&](State& s) {
    const auto context = s.green_contexts.find(green);
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    std::erase_if(contexts().live, [&](const auto& entry) { return entry.second->green == context; });
    s.green_contexts.destroy(green);
    --contexts().retained;
    end_with_the_last(s);
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxFromGreenCtx(CUcontext* out, CUgreenCtx green) {
  return on_green(green, [&](State&, const std::shared_ptr<GreenContext>& context) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    for (const auto& [key, c] : contexts().live)
      if (c->green == context) return answer(out, handle_of(c));
    auto c = std::make_shared<Context>(Context{contexts().primary->flags, 3020, contexts().next_id++, context});
    contexts().live[c.get()] = c;
    return answer(out, handle_of(c));
  });
}
CUresult cuGreenCtxGetDevResource(CUgreenCtx green, CUdevResource* out, CUdevResourceType type) {
  return on_green(green, [&](State&, const std::shared_ptr<GreenContext>& context) {
    return type == CU_DEV_RESOURCE_TYPE_SM ? answer(out, context->resource) : CUDA_ERROR_INVALID_RESOURCE_TYPE;
  });
}
CUresult cuGreenCtxGetId(CUgreenCtx green, unsigned long long* id) {
  return driver([&](State& s) {
    const std::shared_ptr<const GreenContext> context = green ? s.green_contexts.find(green) : GreenContexts::current();
    return context ? answer(id, context->id) : CUDA_ERROR_INVALID_CONTEXT;
  });
}
CUresult cuGreenCtxStreamCreate(CUstream* stream, CUgreenCtx green, unsigned flags, int priority) {
  return on_green(green, [&](State& s, const std::shared_ptr<GreenContext>& context) {
    if (!stream || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *stream = reinterpret_cast<CUstream>(
        s.streams.create(flags, std::clamp(priority, kHighestPriority, kLowestPriority), context));
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx* out) {
  return on_stream<Pending::stays>(stream, [&](State& s, Stream& p) {
    const void* green = s.streams.green_of(p).get();
    return answer(out, static_cast<CUgreenCtx>(const_cast<void*>(green)));
  });
}
/// The machine runs all that it was given before the host goes on, so an event behind a context's work is over.
CUresult cuGreenCtxRecordEvent(CUgreenCtx green, CUevent event) {
  return on_green(green, [&](State& s, const std::shared_ptr<GreenContext>&) {
    if (!s.events.has(event)) return CUDA_ERROR_INVALID_HANDLE;
    s.events.record(event, s.now_ms());
    return CUDA_SUCCESS;
  });
}
CUresult cuGreenCtxWaitEvent(CUgreenCtx green, CUevent event) {
  return on_green(green, [&](State& s, const std::shared_ptr<GreenContext>&) {
    return s.events.has(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

}  // extern "C"
