#include "common/tinygpu/cuda/launch_attributes.h"

#include <fmt/format.h>

#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {

CUresult read_attributes(const CUlaunchAttribute* attributes, unsigned count, LaunchRequest& r,
                         const void*& event_after) {
  if (count && !attributes) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    const CUlaunchAttributeValue& v = attributes[i].value;
    switch (attributes[i].id) {
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        r.cluster = {v.clusterDim.x, v.clusterDim.y, v.clusterDim.z};
        r.cluster_given = true;
        break;
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: r.cooperative = v.cooperative != 0; break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        r.programmatic = v.programmaticStreamSerializationAllowed != 0;
        break;
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: event_after = v.programmaticEvent.event; break;
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: event_after = v.launchCompletionEvent.event; break;
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: break;
      default:
        say("launch-attribute",
            fmt::format("launch attribute {} is not implemented by tinygpu", int(attributes[i].id)));
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return CUDA_SUCCESS;
}

CUresult launch_with(State& s, Stream& stream, const CUlaunchAttribute* attributes, unsigned count, LaunchRequest& r) {
  const std::shared_ptr<const GreenContext> green = s.streams.green_of(stream);
  if (green && green->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (green) r.only_on = green->sms;
  const void* event = nullptr;
  if (CUresult e = read_attributes(attributes, count, r, event); e != CUDA_SUCCESS) return e;
  if (event && !s.events.has(event)) return CUDA_ERROR_INVALID_HANDLE;
  if (event && stream.capture) return no_capture(stream);
  auto prepared = std::make_shared<PreparedLaunch>();
  if (CUresult e = prepare(s, r, *prepared); e != CUDA_SUCCESS) return e;
  if (Capture* c = stream.capture) {
    if (CUresult e = submit(s, stream, CU_GRAPH_NODE_TYPE_KERNEL, {}); e != CUDA_SUCCESS) return e;
    c->graph->nodes.back()->kernel = std::move(prepared);
    return CUDA_SUCCESS;
  }
  s.submitted.add(stream, std::move(prepared));
  if (event) s.submitted.record(stream, s.events.at(event));
  return s.has_submitted(stream);
}

}  // namespace tinygpu::cuda
