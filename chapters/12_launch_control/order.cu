// Grids that follow each other: a dependent launch that starts early, and one kernel whose tasks follow each other
// through counters in global memory. Runs on Hopper as well.
#include <fmt/core.h>

#include <algorithm>

#include "chapters/12_launch_control/device.cuh"
#include "chapters/12_launch_control/parts.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/ptx/launch_control.h"

namespace {

using namespace gen5::harness;
using namespace gen5::ptx;

uint64_t cycles_between(unsigned long long from, unsigned long long to) {
  return uint64_t(current_device().cycles(double(to > from ? to - from : 0) / 1000));
}

// ---- 5. Dependent launches

constexpr uint32_t kGrid = 8, kThreads = 128;
constexpr uint32_t kSetup = 4000, kWork = 6000;

/// What thread 0 of a CTA saw, in nanoseconds.
struct Times {
  unsigned long long begun, ready, end;
};

// Writes a block. Its last stretch of work comes behind launch_dependents: dependents may start while it goes on.
__global__ void first(uint32_t* data, Times* times) {
  const unsigned long long begun = nanoseconds();
  work(kSetup);
  const unsigned long long ready = nanoseconds();
  griddepcontrol_launch_dependents();
  work(kWork);
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  data[i] = i * 3;
  if (threadIdx.x == 0) times[blockIdx.x] = {begun, ready, nanoseconds()};
}

// Reads what the grid before it wrote. What does not depend on that comes ahead of griddepcontrol.wait.
__global__ void second(const uint32_t* data, uint32_t* out, Times* times) {
  const unsigned long long begun = nanoseconds();
  work(kSetup);  // barriers, Tensor Memory, tensor maps, weights
  griddepcontrol_wait();
  const unsigned long long ready = nanoseconds();
  work(kWork);
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = data[i ^ 1] + 1;
  if (threadIdx.x == 0) times[blockIdx.x] = {begun, ready, nanoseconds()};
}

struct TwoGrids {
  std::vector<Times> first, second;
  bool right = true;
};

using Second = void(const uint32_t*, uint32_t*, Times*);

TwoGrids run_two(bool early, Second* kernel = second) {
  DeviceBuffer<uint32_t> data(kGrid * kThreads), out(kGrid * kThreads);
  DeviceBuffer<Times> a(kGrid), b(kGrid);
  cudaStream_t stream;
  GEN5_CUDA(cudaStreamCreate(&stream));
  for (int warm = 0; warm < 2; ++warm) {  // the first round loads the code
    data.fill(0);
    GEN5_CUDA(cudaDeviceSynchronize());
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(kGrid);
    config.blockDim = dim3(kThreads);
    config.stream = stream;
    GEN5_CUDA(cudaLaunchKernelEx(&config, first, data.get(), a.get()));
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = early;
    config.attrs = &attribute;
    config.numAttrs = 1;
    GEN5_CUDA(cudaLaunchKernelEx(&config, kernel, static_cast<const uint32_t*>(data.get()), out.get(), b.get()));
    GEN5_CUDA(cudaStreamSynchronize(stream));
  }
  GEN5_CUDA(cudaStreamDestroy(stream));
  TwoGrids t{a.download(), b.download()};
  const auto got = out.download();
  for (uint32_t i = 0; i < got.size(); ++i) t.right &= got[i] == (i ^ 1) * 3 + 1;
  return t;
}

Picture picture_of(const TwoGrids& t, const std::string& title) {
  const unsigned long long origin = t.first[0].begun;
  Picture p{title, {}};
  const auto at = [&](unsigned long long time) { return cycles_between(origin, time); };
  const Times &a = t.first[0], &b = t.second[0];
  p.lanes.push_back({"first grid", {{at(a.begun), at(a.ready), 's'}, {at(a.ready), at(a.end), '1'}}});
  p.lanes.push_back({"second grid", {{at(b.begun), at(b.ready), 's'}, {at(b.ready), at(b.end), '2'}}});
  return p;
}

void part_dependents(Report& r) {
  const TwoGrids plain = run_two(false), early = run_two(true);
  r.say(
      "Two kernels in a stream; the second reads what the first writes. Usually it starts when the first has ended and "
      "all its memory is written. With the launch attribute programmaticStreamSerialization it may start as soon as "
      "every CTA of the first has executed griddepcontrol.launch_dependents, or ended. Then griddepcontrol.wait must "
      "come before its first access to the first kernel's results. s: setup, in the second grid up to the end of its "
      "wait.");
  r.picture(draw({picture_of(plain, "One behind the other:"), picture_of(early, "The second may start early:")}));
  r.check("the second grid read what the first wrote, both ways", plain.right && early.right);
  bool waited = true;
  for (const Times& b : early.second)
    for (const Times& a : early.first) waited &= b.ready + 64 >= a.end;  // the timer moves in steps
  r.check("griddepcontrol.wait ended behind the first grid's last store", waited);
  r.value("plain_cycles", double(cycles_between(plain.first[0].begun, plain.second[0].end)));
  r.value("early_cycles", double(cycles_between(early.first[0].begun, early.second[0].end)));
  r.check("the second grid's setup lay under the first grid's work",
          early.second[0].begun < early.first[0].end && plain.second[0].begun > plain.first[0].end);
  r.say(
      "launch_dependents guarantees nothing about memory: only the wait does. A second grid without the wait may read "
      "old data. A third grid that depends on the first waits for it too, if each grid in between waits.");
}

// ---- 6. Tasks that follow each other

// Three layers over 64 blocks of 256 words: A makes a block of b from one of a, B one of c from four of b, C one of d
// from four of c.
constexpr uint32_t kBlocks = 64, kWords = 256, kFan = 4, kWorkers = 8;
constexpr uint32_t kTasksA = kBlocks, kTasksB = kTasksA / kFan, kTasksC = kTasksB / kFan;
constexpr uint32_t kTasks = kTasksA + kTasksB + kTasksC;

struct Layers {
  const uint32_t* a;
  uint32_t *b, *c, *d;
};

__host__ __device__ constexpr uint32_t cycles_of_task(uint32_t task) {
  if (task < kTasksA) return task % 16 == 13 ? 16000 : 3000;  // uneven
  return task < kTasksA + kTasksB ? 5000 : 8000;
}

/// Does a task, with all threads of a CTA. Tasks are numbered A, B, C.
__device__ void do_task(const Layers& l, uint32_t task) {
  work(cycles_of_task(task));
  const uint32_t k = threadIdx.x;
  if (task < kTasksA) {
    l.b[task * kWords + k] = l.a[task * kWords + k] * 3 + task;
    return;
  }
  const bool is_b = task < kTasksA + kTasksB;
  const uint32_t i = is_b ? task - kTasksA : task - kTasksA - kTasksB;
  const uint32_t* from = is_b ? l.b : l.c;
  uint32_t sum = 0;
  for (uint32_t j = 0; j < kFan; ++j) {
    uint32_t word;  // another CTA wrote it while this kernel ran: not through the read-only cache
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(word)
                 : "l"(from + (i * kFan + j) * kWords + (k + j) % kWords)
                 : "memory");
    sum = sum * 5 + word;
  }
  (is_b ? l.c : l.d)[i * kWords + k] = sum;
}

__device__ void note(Ran* ran, unsigned long long begin, uint32_t task) {
  if (threadIdx.x == 0) ran[task] = {begin, nanoseconds(), blockIdx.x, task};
}

/// In global memory, all zero at the beginning.
struct Board {
  uint32_t next[3];                   // the first task that no CTA has taken; of each launch
  uint32_t ready[kTasksB + kTasksC];  // how many of its inputs are there, of each task of B and C
};

// One layer, tasks `from` to `to`: a launch for each. The end of the grid is what the next one waits for.
__global__ void layer(Layers l, uint32_t* list, uint32_t from, uint32_t to, Ran* ran) {
  __shared__ uint32_t next;
  if (threadIdx.x == 0) next = from + atomicAdd(list, 1);
  for (;;) {
    __syncthreads();
    const uint32_t task = next;
    __syncthreads();
    if (task >= to) return;
    const unsigned long long begin = nanoseconds();
    if (threadIdx.x == 0) next = from + atomicAdd(list, 1);  // while this one is done
    do_task(l, task);
    note(ran, begin, task);
  }
}

// All layers in one launch of CTAs that stay. A CTA takes the next task of the list (while it still does the one
// before: the atomic takes its time), waits until the counter of that one says that its inputs are there, does it, and
// counts up the task that is waiting for it.
__global__ void tasks(Layers l, Board* board, Ran* ran, Ran* waits) {
  __shared__ uint32_t next;
  if (threadIdx.x == 0) next = atomicAdd(&board->next[0], 1);
  for (;;) {
    __syncthreads();
    const uint32_t taken = next;
    if (taken >= kTasks) return;
    const uint32_t task = taken;
    const unsigned long long asked = nanoseconds();
    if (threadIdx.x == 0 && task >= kTasksA) {
      uint32_t ready;
      do {  // acquire: what was written before the count went up is seen behind it
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(ready)
                     : "l"(&board->ready[task - kTasksA])
                     : "memory");
      } while (ready < kFan);
    }
    __syncthreads();  // and by the other threads of the CTA
    const unsigned long long begin = nanoseconds();
    if (threadIdx.x == 0) next = atomicAdd(&board->next[0], 1);
    do_task(l, task);
    __syncthreads();  // all threads have stored their words
    if (threadIdx.x == 0) {
      if (task < kTasksA + kTasksB) {
        // Of the task that this one is an input of: A's tasks come first in `ready`'s numbering, so n / 4 from there.
        const uint32_t consumer = task / kFan;
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(&board->ready[consumer]) : "memory");
      }
      waits[task] = {asked, begin, blockIdx.x, task};
    }
    note(ran, begin, task);
  }
}

constexpr unsigned long long kShown = 150;  // nanoseconds: shorter waits are left out of the picture

struct Run {
  std::vector<Ran> ran, waits;
  bool right = true;
};

/// What d must be, by the host alone.
std::vector<uint32_t> layers_on_host(const std::vector<uint32_t>& a) {
  std::vector<uint32_t> b(a.size());
  for (uint32_t i = 0; i < b.size(); ++i) b[i] = a[i] * 3 + i / kWords;
  const auto fold = [](const std::vector<uint32_t>& from) {
    std::vector<uint32_t> to(from.size() / kFan);
    for (uint32_t i = 0; i < to.size(); ++i)
      for (uint32_t j = 0; j < kFan; ++j)
        to[i] = to[i] * 5 + from[(i / kWords * kFan + j) * kWords + (i % kWords + j) % kWords];
    return to;
  };
  return fold(fold(b));
}

using Tasks = void(Layers, Board*, Ran*, Ran*);

Run run_layers(bool one_kernel, Tasks* kernel = tasks) {
  std::vector<uint32_t> a(kBlocks * kWords);
  for (uint32_t i = 0; i < a.size(); ++i) a[i] = i * 2654435761u;
  DeviceBuffer<uint32_t> da(a), b(a.size()), c(a.size() / kFan), d(a.size() / kFan / kFan);
  DeviceBuffer<Ran> ran(kTasks), waits(kTasks);
  DeviceBuffer<Board> board(1);
  board.fill(0);
  waits.fill(0);
  const Layers l{da.get(), b.get(), c.get(), d.get()};
  if (one_kernel) {
    kernel<<<kWorkers, kWords>>>(l, board.get(), ran.get(), waits.get());
  } else {
    uint32_t* lists = board.get()->next;
    layer<<<kWorkers, kWords>>>(l, lists, 0, kTasksA, ran.get());
    layer<<<kWorkers, kWords>>>(l, lists + 1, kTasksA, kTasksA + kTasksB, ran.get());
    layer<<<kTasksC, kWords>>>(l, lists + 2, kTasksA + kTasksB, kTasks, ran.get());
  }
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return {ran.download(), waits.download(), d.download() == layers_on_host(a)};
}

unsigned long long origin_of(const Run& run) {
  return std::min_element(run.ran.begin(), run.ran.end(), [](const Ran& x, const Ran& y) { return x.begin < y.begin; })
      ->begin;
}

uint64_t cycles_of(const Run& run) {
  unsigned long long end = 0;
  for (const Ran& one : run.ran) end = std::max(end, one.end);
  return cycles_between(origin_of(run), end);
}

Picture picture_of(const Run& run, const std::string& title) {
  Picture p{title, {}};
  const unsigned long long origin = origin_of(run);
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    Lane lane{fmt::format("CTA {}", worker), {}};
    const auto add = [&](const Ran& one, char mark) {
      if (one.sm == worker && one.end > one.begin + (mark == '.' ? kShown : 0))
        lane.spans.push_back({cycles_between(origin, one.begin), cycles_between(origin, one.end), mark});
    };
    for (const Ran& one : run.ran) add(one, one.what < kTasksA ? 'a' : one.what < kTasksA + kTasksB ? 'B' : 'C');
    for (const Ran& one : run.waits) add(one, '.');
    p.lanes.push_back(lane);
  }
  return p;
}

void part_tasks(Report& r) {
  const Run three = run_layers(false), one = run_layers(true);
  r.say(fmt::format(
      "{} tasks in three layers: a task of B needs four of A, one of C four of B. As three launches, a layer begins "
      "when the slowest task of the layer before has ended. As one kernel of {} CTAs that stay, each CTA takes the "
      "next task of a list and waits for its own inputs only. Each task has a counter in global memory: the tasks that "
      "produce its inputs raise it (release), and the CTA that needs them polls it (acquire). a, B, C: tasks; a dot: "
      "waiting for inputs.",
      kTasks, kWorkers));
  r.picture(draw({picture_of(three, "Three launches:"), picture_of(one, "One kernel:")}));
  Table t({"", "launches", "cycles"});
  t.row({"a launch for each layer", "3", with_commas(cycles_of(three))});
  t.row({"tasks and counters", "1", with_commas(cycles_of(one))});
  r.table(t);
  r.check("the last layer is what the host computes, both ways", three.right && one.right);
  bool ordered = true;
  for (uint32_t task = kTasksA; task < kTasks; ++task)
    for (uint32_t j = 0; j < kFan; ++j) ordered &= one.ran[task].begin + 64 >= one.ran[(task - kTasksA) * kFan + j].end;
  r.check("no task began before its inputs were done", ordered);
  r.value("launches_cycles", double(cycles_of(three)));
  r.value("tasks_cycles", double(cycles_of(one)));
  r.say(
      "Two rules make it safe. All CTAs must be on the chip at once, or a waiting CTA may keep out the one that it "
      "waits for. And the list must name a task's inputs before the task, so that every waiting CTA waits for a task "
      "that a running CTA has taken.");
}

// ---- Mistakes

bool dependents_right(Second* kernel) { return run_two(true, kernel).right; }
bool tasks_right(Tasks* kernel) { return run_layers(true, kernel).right; }

#include "order_mistakes.inc"

}  // namespace

void add_order(Chapter& chapter) {
  chapter.part("dependents", "A grid that starts before the one ahead of it has ended", part_dependents);
  chapter.part("tasks", "One kernel whose tasks follow each other through counters", part_tasks);
  chapter.mistakes(kMistakes);
}
