// The Hopper kernels for another language: measure.py calls them. Everything returns 0, or 1 behind a message on
// stderr.
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>

#include "chapters/16_megakernel/model.h"
#include "chapters/16_megakernel/target.h"
#include "chapters/16_megakernel/times.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"

namespace {

using namespace megakernel;

struct Model {
  Sizes sizes;
  Machine machine = current_machine();
  Plan plan;
  std::unique_ptr<DeviceModel> device;

  Model(const Sizes& s, bool in_turns)
      : sizes(s), plan(compile(decoder(s, kTarget.tiling(s).norms_apart), s, kTarget.tiling(s), machine)) {
    const Schedule dealt = in_turns ? in_order(plan, machine.sms) : critical_path_first(plan, machine.sms);
    device =
        std::make_unique<DeviceModel>(s, plan, dealt, critical_path_first(plan, machine.sms, machine.sms), nullptr);
    device->fill(1);
  }
};

/// Steps 1 to 7.
const Step& step_of(int number) { return number == kTarget.marked->number ? *kTarget.marked : kSteps[number - 1]; }

template <class F>
int guarded(F&& f) try {
  f();
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

/// Microseconds of one of `launches` launches that follow each other.
template <class F>
float time_of(uint32_t launches, F&& launch) {
  gen5::harness::Timer timer;
  timer.start();
  for (uint32_t i = 0; i < launches; ++i) launch();
  return float(timer.stop().microseconds / launches);
}

/// Sums of what a thread reads; stored where they are what they cannot be, so that they are needed.
__global__ void read_all(const uint4* from, size_t count, uint32_t* unused) {
  constexpr uint32_t kAtOnce = 8;
  const size_t stride = size_t(gridDim.x) * blockDim.x, thread = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  uint32_t all = 0;
  for (size_t i = thread; i < count; i += stride * kAtOnce) {
    uint4 words[kAtOnce];
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) words[k] = i + k * stride < count ? __ldcs(from + i + k * stride) : uint4{};
#pragma unroll
    for (uint32_t k = 0; k < kAtOnce; ++k) all |= words[k].x | words[k].y | words[k].z | words[k].w;
  }
  if (all == 0xdeadbeef) *unused = all;
}

}  // namespace

extern "C" {

int megakernel_open(const uint32_t (&s)[9], int in_turns, void** model) {
  return guarded([&] { *model = new Model({s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8]}, in_turns != 0); });
}
void megakernel_close(void* model) { delete static_cast<Model*>(model); }

/// Bytes of weights and cache that a launch reads.
uint64_t megakernel_bytes(void* model) {
  uint64_t all = 0;
  for (const uint64_t b : static_cast<Model*>(model)->plan.bytes) all += b;
  return all;
}

/// Steps 1 to 7; a graph of step 3's launches is step 13. `times`: `repeats` of them, each the mean of `launches`.
int megakernel_time(void* model, int step, uint32_t launches, uint32_t repeats, float* times) {
  return guarded([&] {
    DeviceModel& device = *static_cast<Model*>(model)->device;
    cudaGraphExec_t graph = nullptr;
    if (step == 2 || step == 13)
      graph = captured(device.work(kSteps[step == 2 ? 0 : 2]), step == 2 ? launch_launches : launch_dependent);
    const auto launch = [&] {
      if (graph)
        GEN5_CUDA(cudaGraphLaunch(graph, nullptr));
      else
        device.launch(step_of(step));
    };
    time_of(2, launch);
    for (uint32_t i = 0; i < repeats; ++i) times[i] = time_of(launches, launch);
    if (graph) GEN5_CUDA(cudaGraphExecDestroy(graph));
  });
}

/// One launch, for its results.
int megakernel_run(void* model, int step) {
  return guarded([&] {
    static_cast<Model*>(model)->device->launch(step_of(step));
    GEN5_CUDA(cudaDeviceSynchronize());
  });
}

/// What the critical path went for, by the tasks' own notes.
int megakernel_path(void* model, int step, char* text, uint64_t size) {
  return guarded([&] {
    Model& m = *static_cast<Model*>(model);
    m.device->launch(step_of(step), true);
    GEN5_CUDA(cudaDeviceSynchronize());
    const std::string said = critical_path(m.plan, m.device->ran(), gen5::harness::current_device()).sentence();
    std::snprintf(text, size, "%s", said.c_str());
  });
}

/// What the parts of a task take on the critical path, and how it is made up: a table.
int megakernel_phases(void* model, int step, char* text, uint64_t size) {
  return guarded([&] {
    Model& m = *static_cast<Model*>(model);
    m.device->launch(step_of(step), true);
    GEN5_CUDA(cudaDeviceSynchronize());
    const gen5::harness::Device device = gen5::harness::current_device();
    const std::vector<Ran> ran = m.device->ran();
    std::snprintf(text, size, "%s", phases(m.plan, ran, critical_path(m.plan, ran, device), device).render().c_str());
  });
}

/// A tensor of DeviceModel::tensors() in device memory.
int megakernel_tensor(void* model, const char* name, void** data, uint64_t* count) {
  return guarded([&] {
    for (const DeviceModel::Tensor& t : static_cast<Model*>(model)->device->tensors())
      if (t.name == name) {
        *data = t.data;
        *count = t.count;
        return;
      }
    throw std::invalid_argument(std::string("there is no tensor ") + name);
  });
}

/// Bytes a microsecond at which device memory is read, `repeats` times.
int megakernel_memory(uint64_t bytes, uint32_t ctas, uint32_t repeats, float* rates) {
  return guarded([&] {
    const gen5::harness::DeviceBuffer<uint4> from(bytes / sizeof(uint4));
    const gen5::harness::DeviceBuffer<uint32_t> unused(1);
    GEN5_CUDA(cudaMemset(from.get(), 1, from.bytes()));
    for (uint32_t i = 0; i < repeats; ++i)
      rates[i] =
          float(from.bytes()) / time_of(3, [&] { read_all<<<ctas, 512>>>(from.get(), from.size(), unused.get()); });
  });
}

}  // extern "C"
