#include "common/tinygpu/isa/device_runtime.h"

#include <utility>

#include "common/tinygpu/base/graph_condition.h"
#include "common/tinygpu/isa/builtin_call.h"
#include "common/tinygpu/isa/heap.h"
#include "common/tinygpu/machine/chip/device_launches.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/program/program.h"

namespace tinygpu::isa {
namespace {

/// cudaError_t of device code.
constexpr int32_t kSuccess = 0, kInvalidValue = 1, kMemoryAllocation = 2, kInvalidResourceHandle = 400;

/// Where a caller wants an answer.
void store_to(Warp& w, uint64_t address, uint64_t value, int lane) {
  const Place to =
      locate(w, ptx::Space::generic, address, sizeof value, 8, AccessKind::write, lane, "store of a call's answer");
  std::memcpy(to.host, &value, sizeof value);
}

// ---- Conditions of graphs

void set_condition(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    const uint64_t handle = argument<uint64_t>(w, op, 0, lane);
    const uint32_t value = argument<uint32_t>(w, op, 1, lane);
    const Allocation* a = w.gpu().memory.find(handle);
    if (!a || a->base != handle || a->name != kGraphCondition)
      w.fault(FaultKind::illegal_address, "illegal-address", "the condition of a graph is set by a handle that is none",
              "pass the handle that cudaGraphConditionalHandleCreate gave, of a graph that is there", lane);
    std::memcpy(a->host, &value, sizeof value);
  });
}

// ---- Launches
// A parameter buffer is an allocation: a Header, behind it the parameters.

struct Triple {
  uint32_t x, y, z;
  Dim3 dim3() const { return {x, y, z}; }
};
struct Header {
  uint64_t function;
  Triple grid, block;
  uint32_t shared;
};
constexpr uint64_t kHeaderBytes = 64;
constexpr const char* kBufferName = "parameters of a launch";

/// A kernel by its address in device code, or null.
const Function* kernel_at(Program& program, uint64_t address) {
  const uint64_t index = (address - kFunctionWindow) / 16;
  if (address < kFunctionWindow || address % 16 || index >= program.function_count()) return nullptr;
  const Function& f = program.at(uint32_t(index));
  return f.entry ? &f : nullptr;
}

/// (function, grid, block, dynamic shared memory): the address at which the caller writes the parameters, or 0.
void get_parameter_buffer(Warp& w, const Op& op) {
  Program& program = *w.partition().launch.config.program;
  for_lanes(w.exec(), [&](int lane) {
    const Header h{argument<uint64_t>(w, op, 0, lane), argument<Triple>(w, op, 1, lane),
                   argument<Triple>(w, op, 2, lane), argument<uint32_t>(w, op, 3, lane)};
    const Function* kernel = kernel_at(program, h.function);
    if (!kernel) return set_return<uint64_t>(w, op, lane, 0);
    const uint64_t address =
        w.gpu().memory.allocate(kHeaderBytes + kernel->param_bytes + 1, 64, MemoryKind::device, kBufferName);
    if (address) std::memcpy(w.gpu().memory.find(address)->host, &h, sizeof h);
    set_return<uint64_t>(w, op, lane, address ? address + kHeaderBytes : 0);
  });
}

/// (buffer, stream)
void launch_device(Warp& w, const Op& op) {
  Launch& launch = w.partition().launch;
  for_lanes(w.exec(), [&](int lane) {
    const uint64_t buffer = argument<uint64_t>(w, op, 0, lane) - kHeaderBytes;
    const Allocation* a = w.gpu().memory.find(buffer);
    if (!a || a->base != buffer || a->name != kBufferName) return set_return(w, op, lane, kInvalidValue);
    Header h;
    std::memcpy(&h, a->host, sizeof h);
    const Function& kernel = *kernel_at(*launch.config.program, h.function);
    const uint8_t* const first = a->host + kHeaderBytes;
    DeviceLaunch wanted;
    wanted.by_cta = w.cta().key.id;
    wanted.stream = argument<uint64_t>(w, op, 1, lane);
    wanted.kernel = kernel.name;
    wanted.grid = h.grid.dim3();
    wanted.block = h.block.dim3();
    wanted.dynamic_shared = h.shared;
    wanted.parameters.assign(first, first + kernel.param_bytes);
    launch.launched.push_back(std::move(wanted));
    w.gpu().memory.release(buffer);
    set_return(w, op, lane, kSuccess);
  });
}

// ---- Streams: a number each

void create_stream(Warp& w, const Op& op) {
  uint64_t& last = w.partition().launch.last_device_stream;
  for_lanes(w.exec(), [&](int lane) {
    store_to(w, argument<uint64_t>(w, op, 0, lane), ++last, lane);
    set_return(w, op, lane, kSuccess);
  });
}
void destroy_stream(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    const bool made = argument<uint64_t>(w, op, 0, lane) > kLastDeviceStream;
    set_return(w, op, lane, made ? kSuccess : kInvalidResourceHandle);
  });
}

/// (to, from, bytes, kind, stream)
void copy_on_stream(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    DeviceLaunch wanted;
    wanted.by_cta = w.cta().key.id;
    wanted.stream = argument<uint64_t>(w, op, 4, lane);
    wanted.copy_to = argument<uint64_t>(w, op, 0, lane);
    wanted.copy_from = argument<uint64_t>(w, op, 1, lane);
    wanted.copy_bytes = argument<uint64_t>(w, op, 2, lane);
    w.partition().launch.launched.push_back(std::move(wanted));
    set_return(w, op, lane, kSuccess);
  });
}

// ---- Memory: the heap's

void allocate(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    const uint64_t address = allocate_in_heap(w.gpu(), argument<uint64_t>(w, op, 1, lane));
    store_to(w, argument<uint64_t>(w, op, 0, lane), address, lane);
    set_return(w, op, lane, address ? kSuccess : kMemoryAllocation);
  });
}
void free(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    free_in_heap(w, argument<uint64_t>(w, op, 0, lane), lane);
    set_return(w, op, lane, kSuccess);
  });
}

void no_error(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) { set_return(w, op, lane, kSuccess); });
}

}  // namespace

ExecFn device_runtime_function(std::string_view name) {
  if (name == "cudaGraphSetConditional") return set_condition;
  constexpr std::string_view kStem = "__cudaCDP2", kPerThread = "_ptsz";
  if (!name.starts_with(kStem)) return nullptr;
  name.remove_prefix(kStem.size());
  if (name.ends_with(kPerThread)) name.remove_suffix(kPerThread.size());
  if (name == "GetParameterBufferV2") return get_parameter_buffer;
  if (name == "LaunchDeviceV2") return launch_device;
  if (name == "MemcpyAsync") return copy_on_stream;
  if (name == "Malloc") return allocate;
  if (name == "Free") return free;
  if (name == "StreamCreateWithFlags") return create_stream;
  if (name == "StreamDestroy") return destroy_stream;
  if (name == "GetLastError" || name == "PeekAtLastError") return no_error;
  return nullptr;
}

}  // namespace tinygpu::isa
