// Host threads: every call once, on as many threads as are asked for, and none missed where there are none.
#include "common/tinygpu/machine/host_threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tinygpu::test {
namespace {

void rest() { std::this_thread::sleep_for(std::chrono::microseconds(30)); }

TEST(HostThreads, EachIsCalledOnce) {
  HostThreads threads;
  for (const int n : {1, 2, 3, 7, 132})
    for (const int count : {1, 2, 5, 9}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(n));
      for (int round = 0; round < 20; ++round) threads.run(count, size_t(n), [&](size_t i) { ++calls[i]; });
      for (auto& c : calls) EXPECT_EQ(c, 20) << n << " on " << count;
    }
}

TEST(HostThreads, ManyShortRoundsEndEachBeforeTheNext) {
  HostThreads threads;
  std::vector<int> counts(8);  // not atomic, and another thread's in each round
  for (int round = 0; round < 3000; ++round)
    threads.run(3, counts.size(), [&](size_t i) {
      ++counts[(i + size_t(round)) % 8];
      if (i == 0) rest();
    });
  for (const int c : counts) EXPECT_EQ(c, 3000);
}

TEST(HostThreads, OthersTakePart) {
  HostThreads threads;
  std::atomic<int> here = 0;
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  threads.run(3, 3, [&](size_t) {
    ++here;
    while (here < 3 && std::chrono::steady_clock::now() < late) std::this_thread::yield();
  });
  EXPECT_LT(std::chrono::steady_clock::now(), late) << "each of the three waits for the two others";
}

TEST(HostThreads, WhatACallThrowsArrivesAndTheNextRoundIsWhole) {
  HostThreads threads;
  for (int round = 0; round < 50; ++round) {
    EXPECT_THROW(threads.run(3, 6,
                             [&](size_t i) {
                               rest();
                               if (i == size_t(round % 6)) throw std::runtime_error("this one");
                             }),
                 std::runtime_error);
    std::atomic<int> calls = 0;
    threads.run(3, 6, [&](size_t) { ++calls; });
    EXPECT_EQ(calls, 6);
  }
}

// It has no other thread, and waits for none.
TEST(HostThreads, TheChildOfAForkDoesAllItself) {
  auto threads = std::make_unique<HostThreads>();
  threads->run(4, 8, [](size_t) { rest(); });
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int calls = 0;
    threads->run(4, 8, [&](size_t) {
      ++calls;
      rest();
    });
    threads.reset();
    _exit(calls == 8 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  std::atomic<int> calls = 0;
  threads->run(4, 8, [&](size_t) { ++calls; });
  EXPECT_EQ(calls, 8) << "of the parent";
}

}  // namespace
}  // namespace tinygpu::test
