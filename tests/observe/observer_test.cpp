// The stream itself: who is told of what, and that being watched changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/observe/kernels.h"

namespace tinygpu::test::observer_test {
namespace {

struct Recorder final : Observer {
  explicit Recorder(uint32_t interests) : Observer(interests) {}
  void on_launch(const Launch&) override { log.push_back("launch"); }
  void on_end(const Launch&, const LaunchStats* stats) override { log.push_back(stats ? "end" : "fault"); }
  void on_cta(const Cta&, bool starts, uint64_t) override { log.push_back(starts ? "cta starts" : "cta ends"); }
  void on_issue(const AsyncOperation& o) override {
    log.push_back("issue");
    issued.push_back(o);
  }
  void on_complete(const AsyncOperation& o) override {
    log.push_back("complete");
    completed.push_back(o);
  }
  void on_sync(const Sync& s) override {
    log.push_back("sync");
    syncs.push_back(s);
    actors.push_back(s.who ? s.who->operation : 0);
  }
  void on_wait(const Wait& w) override {
    log.push_back("wait");
    waited += w.end - w.begin;
  }
  void on_instruction(const Executed& e) override { instructions += !e.again; }

  std::vector<std::string> log;
  std::vector<AsyncOperation> issued, completed;
  std::vector<Sync> syncs;
  std::vector<uint64_t> actors;
  uint64_t waited = 0, instructions = 0;
};

struct Copies {
  explicit Copies(Observer* observer, CompletionOrder order = {}) : machine(two_copies()) {
    if (observer) machine.gpu.options.observers = {observer};
    machine.gpu.options.order = order;
    machine.gpu.options.threads = 1;  // the recorder keeps one book for all partitions
    const uint64_t from = machine.upload(std::vector<uint32_t>(256, 7));
    const uint64_t to = machine.buffer<uint32_t>(1);
    stats = machine.launch("copies", {3, 1, 1}, {1, 1, 1}, from, to);
    word = machine.download<uint32_t>(to, 1)[0];
  }
  RunPtx machine;
  LaunchStats stats;
  uint32_t word = 0;
};

constexpr uint32_t kAll = Observer::operations | Observer::synchronisation | Observer::waits | Observer::instructions;

TEST(Observer, ARunIsTheSameWhetherWatchedOrNot) {
  Recorder recorder(kAll);
  const Copies plain(nullptr), watched(&recorder);
  EXPECT_EQ(plain.stats.cycles, watched.stats.cycles);
  EXPECT_EQ(plain.stats.instructions, watched.stats.instructions);
  EXPECT_EQ(watched.word, 7u);
}

TEST(Observer, IsToldOnlyOfWhatItAsksFor) {
  Recorder none(0), operations(Observer::operations);
  Copies a(&none), b(&operations);
  EXPECT_THAT(none.log, ::testing::Each(::testing::AnyOf("launch", "end", "cta starts", "cta ends")));
  EXPECT_EQ(none.log.size(), 2u + 2 * 3);
  EXPECT_EQ(operations.issued.size(), 6u);
  EXPECT_TRUE(operations.syncs.empty());
  EXPECT_EQ(operations.instructions, 0u);
}

TEST(Observer, OperationsHaveNumbersOfTheirOwnAndComeBackComplete) {
  Recorder r(Observer::operations);
  Copies run(&r);
  ASSERT_EQ(r.issued.size(), 6u);
  ASSERT_EQ(r.completed.size(), 6u);
  std::set<uint64_t> ids;
  for (const AsyncOperation& o : r.issued) {
    EXPECT_EQ(o.kind, AsyncOperation::Kind::bulk_load);
    EXPECT_EQ(o.bytes, 1024u);
    EXPECT_EQ(o.who.operation, o.id);
    ids.insert(o.id);
  }
  EXPECT_EQ(ids.size(), 6u);
  for (const AsyncOperation& o : r.completed) {
    EXPECT_LE(o.issued, o.begin);
    EXPECT_LT(o.begin, o.end);
    EXPECT_GT(o.busy, 0u);
  }
}

TEST(Observer, APhaseIsEndedByTheCopyAndSeenByTheWait) {
  Recorder r(Observer::operations | Observer::synchronisation);
  RunPtx machine(two_copies());
  machine.gpu.options.observers = {&r};
  const uint64_t from = machine.upload(std::vector<uint32_t>(256, 7)), to = machine.buffer<uint32_t>(1);
  machine.launch("copies", {1, 1, 1}, {1, 1, 1}, from, to);
  std::vector<Sync::Kind> kinds;
  for (const Sync& s : r.syncs) kinds.push_back(s.kind);
  using K = Sync::Kind;
  EXPECT_THAT(kinds, ::testing::ElementsAre(K::init, K::fence, K::expect_tx, K::arrive, K::complete_tx, K::phase,
                                            K::passed, K::expect_tx, K::arrive, K::complete_tx, K::phase, K::passed));
  // The copies signal; everything else is the thread's own.
  EXPECT_EQ(r.actors[4], r.issued[0].id);
  EXPECT_EQ(r.actors[9], r.issued[1].id);
  for (const size_t i : {0u, 1u, 2u, 3u, 6u, 11u}) EXPECT_EQ(r.actors[i], 0u);
  EXPECT_EQ(r.syncs[5].value, 0u);
  EXPECT_EQ(r.syncs[6].value, 0u);
  EXPECT_EQ(r.syncs[10].value, 1u);
  EXPECT_EQ(r.syncs[4].time, r.completed[0].end);
}

TEST(Observer, HearsOfALaunchThatAFaultEnds) {
  Recorder r(0);
  RunPtx machine(two_copies());
  machine.gpu.options.observers = {&r};
  const uint64_t to = machine.buffer<uint32_t>(1);
  EXPECT_THROW(machine.launch("copies", {1, 1, 1}, {1, 1, 1}, uint64_t(0), to), KernelFault);
  EXPECT_EQ(r.log.back(), "fault");
}

TEST(Observer, EveryOrderOfCompletionIsTold) {
  for (const auto mode : {CompletionOrder::Mode::timed, CompletionOrder::Mode::late, CompletionOrder::Mode::seeded}) {
    Recorder r(kAll);
    const Copies run(&r, {mode, 3});
    EXPECT_EQ(r.completed.size(), 6u);
    EXPECT_EQ(run.word, 7u);
  }
}

}  // namespace
}  // namespace tinygpu::test::observer_test
