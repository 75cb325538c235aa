// Work of several streams through the runtime API: what runs beside what, in which order, and what the host sees of it.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/cuda/stream_kernels.h"

namespace {

#define OK(call) ASSERT_EQ(call, cudaSuccess)

constexpr unsigned kLong = 20'000, kWhole = 200 << 10;

class Streams : public ::testing::Test {
 protected:
  void SetUp() override {
    int sms = 0;
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    sms_ = unsigned(sms);
    OK(cudaMalloc(reinterpret_cast<void**>(&stamps_), kGrids * kMost * sizeof(Stamp)));
    OK(cudaMalloc(reinterpret_cast<void**>(&words_), 1024 * sizeof(unsigned)));
    OK(cudaMemset(words_, 0, 1024 * sizeof(unsigned)));
    for (cudaStream_t& s : s_) OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  }
  void TearDown() override {
    for (cudaStream_t s : s_) EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
    EXPECT_EQ(cudaFree(stamps_), cudaSuccess);
    EXPECT_EQ(cudaFree(words_), cudaSuccess);
  }
  Stamp* grid(unsigned i) const { return stamps_ + i * kMost; }
  struct Span {
    unsigned long long begin, end;
  };
  Span span(unsigned i, unsigned ctas) const {
    std::vector<Stamp> s(ctas);
    EXPECT_EQ(cudaMemcpy(s.data(), grid(i), ctas * sizeof(Stamp), cudaMemcpyDeviceToHost), cudaSuccess);
    Span out{~0ull, 0};
    for (const Stamp& x : s) out = {std::min(out.begin, x.begin), std::max(out.end, x.end)};
    return out;
  }
  unsigned word(unsigned i) const {
    unsigned v = 0;
    EXPECT_EQ(cudaMemcpy(&v, words_ + i, sizeof v, cudaMemcpyDeviceToHost), cudaSuccess);
    return v;
  }
  static bool overlap(const Span& a, const Span& b) { return a.begin < b.end && b.begin < a.end; }

  static constexpr unsigned kGrids = 8, kMost = 256;
  unsigned sms_ = 0;
  Stamp* stamps_ = nullptr;
  unsigned* words_ = nullptr;
  cudaStream_t s_[3] = {};
};

TEST_F(Streams, TwoHalvesOfTheChipTakeTheTimeOfOne) {
  cudaEvent_t a, b;
  OK(cudaEventCreate(&a));
  OK(cudaEventCreate(&b));
  const unsigned half = sms_ / 2;
  const auto milliseconds = [&](bool second, bool same_stream) {
    EXPECT_EQ(cudaEventRecord(a, s_[0]), cudaSuccess);
    launch_stay(grid(0), half, kLong, kWhole, s_[0]);
    if (second) launch_stay(grid(1), half, kLong, kWhole, s_[same_stream ? 0 : 1]);
    cudaEvent_t joined;
    EXPECT_EQ(cudaEventCreate(&joined), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(joined, s_[1]), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(s_[0], joined, 0), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(b, s_[0]), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(b), cudaSuccess);
    EXPECT_EQ(cudaEventDestroy(joined), cudaSuccess);
    float ms = 0;
    EXPECT_EQ(cudaEventElapsedTime(&ms, a, b), cudaSuccess);
    return ms;
  };
  const float one = milliseconds(false, false), both = milliseconds(true, false), after = milliseconds(true, true);
  EXPECT_GT(one, 0);
  EXPECT_NEAR(both / one, 1, 0.1);
  EXPECT_NEAR(after / one, 2, 0.1);
  OK(cudaEventDestroy(a));
  OK(cudaEventDestroy(b));
}

TEST_F(Streams, EventsPutStreamsInOrder) {
  cudaEvent_t e;
  OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  launch_stay(grid(0), 4, kLong, 0, s_[0]);
  OK(cudaEventRecord(e, s_[0]));
  launch_stay(grid(1), 4, kLong, 0, s_[0]);
  OK(cudaStreamWaitEvent(s_[1], e, 0));
  launch_stay(grid(2), 4, kLong, 0, s_[1]);
  OK(cudaDeviceSynchronize());
  const Span first = span(0, 4), second = span(1, 4), third = span(2, 4);
  EXPECT_GT(second.begin, first.end);
  EXPECT_GT(third.begin, first.end);
  EXPECT_TRUE(overlap(second, third));
  OK(cudaEventDestroy(e));
}

TEST_F(Streams, AnEventsTimeIsThatOfItsStream) {
  cudaEvent_t begin, quick, slow;
  for (cudaEvent_t* e : {&begin, &quick, &slow}) OK(cudaEventCreate(e));
  OK(cudaEventRecord(begin, s_[0]));
  launch_stay(grid(0), 4, 10 * kLong, 0, s_[0]);
  OK(cudaEventRecord(slow, s_[0]));
  launch_stay(grid(1), 4, kLong, 0, s_[1]);
  OK(cudaEventRecord(quick, s_[1]));
  float to_quick = 0, to_slow = 0;
  OK(cudaEventElapsedTime(&to_quick, begin, quick));
  OK(cudaEventElapsedTime(&to_slow, begin, slow));
  EXPECT_GT(to_quick, 0);
  EXPECT_GT(to_slow, 5 * to_quick);
  for (cudaEvent_t e : {begin, quick, slow}) OK(cudaEventDestroy(e));
}

TEST_F(Streams, TheLegacyStreamWaitsForThoseThatBlock) {
  cudaStream_t blocking, other;
  OK(cudaStreamCreate(&blocking));
  OK(cudaStreamCreate(&other));
  launch_stay(grid(0), 4, kLong, 0, blocking);
  launch_stay(grid(1), 4, kLong, 0, nullptr);
  launch_stay(grid(2), 4, kLong, 0, other);
  launch_stay(grid(3), 4, 3 * kLong, 0, s_[0]);
  OK(cudaDeviceSynchronize());
  EXPECT_GT(span(1, 4).begin, span(0, 4).end);
  EXPECT_GT(span(2, 4).begin, span(1, 4).end);
  EXPECT_TRUE(overlap(span(3, 4), span(0, 4)));
  EXPECT_TRUE(overlap(span(3, 4), span(1, 4)));
  OK(cudaStreamDestroy(blocking));
  OK(cudaStreamDestroy(other));
}

TEST_F(Streams, PrioritiesCount) {
  cudaStream_t high;
  OK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, -5));
  launch_stay(grid(0), sms_, kLong, kWhole, s_[0]);
  launch_stay(grid(1), sms_, kLong, kWhole, high);
  OK(cudaDeviceSynchronize());
  EXPECT_GT(span(0, sms_).begin, span(1, sms_).begin + kLong / 4);
  OK(cudaStreamDestroy(high));
}

TEST_F(Streams, KernelsOfTwoStreamsMayTalk) {
  launch_wait(words_, s_[0]);
  launch_set(words_, 1, 1000, s_[1]);
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(word(0), 1u);
}

TEST_F(Streams, TheHostSeesWhatTheyWriteWithoutACall) {
  unsigned* mapped;
  OK(cudaHostAlloc(reinterpret_cast<void**>(&mapped), 4096, cudaHostAllocMapped));
  *mapped = 0;
  launch_set(mapped, 7, 1000, s_[0]);
  const auto begin = std::chrono::steady_clock::now();
  while (!*const_cast<volatile unsigned*>(mapped) &&
         std::chrono::steady_clock::now() - begin < std::chrono::seconds(20))
    std::this_thread::yield();
  EXPECT_EQ(*mapped, 7u);
  OK(cudaFreeHost(mapped));
}

// What runs beside what, and so the cycles, are the program's: the host's own time is not.
TEST_F(Streams, AHostThatIsBusyElsewhereTakesNoTimeOfTheDevice) {
  using namespace std::chrono_literals;
  std::vector<unsigned> buffer(16 << 20);
  unsigned* pinned;
  OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), buffer.size() * sizeof(unsigned)));
  // %globaltimer counts whole nanoseconds of cycles that are shorter.
  const auto apart = [&](auto&& host) {
    launch_stay(grid(0), 4, kLong, 0, s_[0]);
    for (const auto begin = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - begin < 600ms;) host();
    launch_stay(grid(1), 4, kLong, 0, s_[1]);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_TRUE(overlap(span(0, 4), span(1, 4)));
    return double(span(1, 4).begin - span(0, 4).begin);
  };
  launch_stay(grid(0), 4, kLong, 0, s_[0]);
  launch_stay(grid(1), 4, kLong, 0, s_[1]);
  OK(cudaDeviceSynchronize());
  const double at_once = double(span(1, 4).begin - span(0, 4).begin);
  unsigned n = 0;
  EXPECT_NEAR(apart([] { std::this_thread::sleep_for(50ms); }), at_once, 1);
  EXPECT_NEAR(apart([&] { std::fill(buffer.begin(), buffer.end(), ++n); }), at_once, 1) << "memory of its own";
  EXPECT_NEAR(apart([&] { std::fill(pinned, pinned + buffer.size(), ++n); }), at_once, 1) << "a buffer for the device";
  OK(cudaFreeHost(pinned));
}

TEST_F(Streams, ADependentLaunchBeginsBesideItsPrimary) {
  for (cudaStream_t stream : {cudaStream_t{}, s_[0]}) {
    launch_dependent_stay(grid(0), 4, kLong, stream);
    launch_dependent_stay(grid(1), 4, kLong, stream);
    launch_stay(grid(2), 4, kLong, 0, stream);
    OK(cudaDeviceSynchronize());
    EXPECT_TRUE(overlap(span(0, 4), span(1, 4)));
    EXPECT_FALSE(overlap(span(1, 4), span(2, 4)));
    EXPECT_GT(span(2, 4).begin, std::max(span(0, 4).end, span(1, 4).end));
  }
}

TEST_F(Streams, ADependentLaunchOfAGraphBeginsBesideItsPrimary) {
  OK(cudaStreamBeginCapture(s_[0], cudaStreamCaptureModeThreadLocal));
  launch_dependent_stay(grid(0), 4, kLong, s_[0]);
  launch_dependent_stay(grid(1), 4, kLong, s_[0]);
  launch_stay(grid(2), 4, kLong, 0, s_[0]);
  cudaGraph_t graph;
  OK(cudaStreamEndCapture(s_[0], &graph));
  cudaGraphExec_t exec;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int launch = 0; launch < 2; ++launch) {
    OK(cudaGraphLaunch(exec, s_[1]));
    OK(cudaDeviceSynchronize());
    EXPECT_TRUE(overlap(span(0, 4), span(1, 4)));
    EXPECT_GT(span(2, 4).begin, std::max(span(0, 4).end, span(1, 4).end));
  }
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
}

TEST_F(Streams, TheHostMayLetGoWhatHasBeenSubmitted) {
  unsigned* mapped;
  OK(cudaHostAlloc(reinterpret_cast<void**>(&mapped), 4096, cudaHostAllocMapped));
  *mapped = 0;
  launch_wait(mapped, s_[0]);
  launch_stay(grid(0), 4, kLong, 0, s_[0]);
  *const_cast<volatile unsigned*>(mapped) = 1;
  OK(cudaStreamSynchronize(s_[0]));
  EXPECT_GT(span(0, 4).end, 0u);
  OK(cudaFreeHost(mapped));
}

// NVIDIA's UnifiedMemoryPerf holds a stream up so, and prefetches behind that.
TEST_F(Streams, AdviceWaitsForNoKernel) {
  unsigned *mapped, *managed;
  OK(cudaHostAlloc(reinterpret_cast<void**>(&mapped), 4096, cudaHostAllocMapped));
  OK(cudaMallocManaged(reinterpret_cast<void**>(&managed), 4096));
  *mapped = *managed = 0;
  launch_wait(mapped, s_[0]);
  const cudaMemLocation device{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
  OK(cudaMemPrefetchAsync(managed, 4096, device, 0, s_[0]));
  OK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetPreferredLocation, device));
  OK(cudaStreamAttachMemAsync(s_[0], managed, 0, cudaMemAttachGlobal));
  launch_set(managed, 7, 1000, s_[0]);
  OK(cudaMemPrefetchAsync(managed, 4096, host, 0, s_[0]));
  *const_cast<volatile unsigned*>(mapped) = 1;
  OK(cudaStreamSynchronize(s_[0]));
  EXPECT_EQ(*managed, 7u);
  EXPECT_EQ(cudaMemPrefetchAsync(&host, 4, host, 0, s_[0]), cudaErrorInvalidValue);
  OK(cudaFreeHost(mapped));
  OK(cudaFree(managed));
}

TEST_F(Streams, CopiesAndFillsComeInTheirStreamsOrder) {
  unsigned* pinned;
  OK(cudaMallocHost(reinterpret_cast<void**>(&pinned), 4096));
  pinned[0] = 41;
  pinned[1] = 0;
  launch_stay(grid(0), 4, 10 * kLong, 0, s_[1]);
  OK(cudaMemcpyAsync(words_, pinned, 4, cudaMemcpyHostToDevice, s_[0]));
  launch_next(words_ + 1, words_, kLong, s_[0]);
  OK(cudaMemcpyAsync(pinned + 1, words_ + 1, 4, cudaMemcpyDeviceToHost, s_[0]));
  OK(cudaMemsetAsync(words_ + 1, 0, 4, s_[0]));
  OK(cudaStreamSynchronize(s_[0]));
  EXPECT_EQ(pinned[1], 42u);
  EXPECT_EQ(word(1), 0u);
  OK(cudaFreeHost(pinned));
}

TEST_F(Streams, MemoryThatIsNotPinnedIsReadAtOnce) {
  unsigned value = 41;
  launch_stay(grid(0), 4, kLong, 0, s_[1]);
  OK(cudaMemcpyAsync(words_, &value, 4, cudaMemcpyHostToDevice, s_[0]));
  value = 0;
  launch_next(words_ + 1, words_, 0, s_[0]);
  OK(cudaDeviceSynchronize());
  EXPECT_EQ(word(1), 42u);
}

TEST_F(Streams, ACopyThatIsWrongSaysSoAtOnce) {
  launch_stay(grid(0), 4, kLong, 0, s_[0]);
  EXPECT_EQ(cudaMemsetAsync(reinterpret_cast<void*>(64), 0, 4, s_[0]), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  OK(cudaDeviceSynchronize());
}

TEST_F(Streams, AGraphsBranchesRunSideBySide) {
  cudaEvent_t fork, join;
  OK(cudaEventCreate(&fork));
  OK(cudaEventCreate(&join));
  OK(cudaStreamBeginCapture(s_[0], cudaStreamCaptureModeThreadLocal));
  launch_stay(grid(0), 4, kLong, 0, s_[0]);
  OK(cudaEventRecord(fork, s_[0]));
  OK(cudaStreamWaitEvent(s_[1], fork, 0));
  launch_stay(grid(1), 4, kLong, 0, s_[0]);
  launch_stay(grid(2), 4, kLong, 0, s_[1]);
  OK(cudaEventRecord(join, s_[1]));
  OK(cudaStreamWaitEvent(s_[0], join, 0));
  launch_stay(grid(3), 4, kLong, 0, s_[0]);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamEndCapture(s_[0], &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (const cudaStream_t on : {s_[0], cudaStream_t(nullptr)}) {
    OK(cudaGraphLaunch(exec, on));
    launch_stay(grid(4), 4, kLong, 0, on);
    OK(cudaDeviceSynchronize());
    EXPECT_GT(std::min(span(1, 4).begin, span(2, 4).begin), span(0, 4).end);
    EXPECT_TRUE(overlap(span(1, 4), span(2, 4)));
    EXPECT_GT(span(3, 4).begin, std::max(span(1, 4).end, span(2, 4).end));
    EXPECT_GT(span(4, 4).begin, span(3, 4).end);
  }
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  OK(cudaEventDestroy(fork));
  OK(cudaEventDestroy(join));
}

TEST_F(Streams, MoreThanAQueueHolds) {
  for (unsigned i = 0; i < 3000; ++i) launch_next(words_, words_, 0, s_[i % 2 ? 1 : 0]);
  OK(cudaDeviceSynchronize());
  EXPECT_GT(word(0), 1499u);
  EXPECT_LE(word(0), 3000u);
}

TEST_F(Streams, ManyThreadsSubmit) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) launch_next(words_ + t, words_ + t, 100, s_[t]);
      EXPECT_EQ(cudaStreamSynchronize(s_[t]), cudaSuccess);
    });
  for (std::thread& t : threads) t.join();
  for (unsigned t = 0; t < 3; ++t) EXPECT_EQ(word(t), 20u);
}

// The last one: nothing works behind it but cudaDeviceReset.
TEST(StreamFault, IsSeenByWhoeverWaits) {
  cudaStream_t a, b;
  OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  Stamp* stamps;
  OK(cudaMalloc(reinterpret_cast<void**>(&stamps), 64 * sizeof(Stamp)));
  launch_stay(stamps, 4, kLong, 0, a);
  launch_set(reinterpret_cast<unsigned*>(64), 1, 100, b);
  OK(cudaGetLastError());
  EXPECT_EQ(cudaStreamSynchronize(a), cudaErrorIllegalAddress) << "the context is gone for all";
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorIllegalAddress);
  OK(cudaDeviceReset());
  OK(cudaDeviceSynchronize());
}

}  // namespace
