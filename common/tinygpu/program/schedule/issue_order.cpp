#include "common/tinygpu/program/schedule/issue_order.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>

namespace tinygpu {
namespace {

/// Registers that pending loads may occupy (inferred: the number left to a kernel of many warps).
constexpr uint32_t kMostWaiting = 64;

struct Edge {
  uint32_t to, latency;
};

/// Which instruction must be issued before which, and by how many cycles.
class Dependences {
 public:
  explicit Dependences(const std::vector<IssueNode>& run) : next(run.size()), before(run.size()) {
    struct Register {
      int64_t writer = -1;
      std::vector<uint32_t> readers;
    };
    std::unordered_map<uint32_t, Register> registers;
    struct Space {
      int64_t writer = -1;
      std::vector<uint32_t> readers;
    } spaces[2];
    int64_t turn = -1;
    for (uint32_t i = 0; i < run.size(); ++i) {
      const IssueNode& n = run[i];
      for (uint32_t r : n.uses) {
        Register& known = registers[r];
        if (known.writer >= 0)
          add(uint32_t(known.writer), i, std::max(run[known.writer].latency, run[known.writer].expected));
        known.readers.push_back(i);
      }
      for (uint32_t r : n.defs) {
        Register& known = registers[r];
        for (uint32_t reader : known.readers)
          if (reader != i) add(reader, i, 0);
        if (known.writer >= 0 && known.writer != i) add(uint32_t(known.writer), i, 0);
        known = {i, {}};
      }
      for (int s = 0; s < 2; ++s) {
        const uint8_t access = n.memory >> (2 * s) & 3;
        if (access & 2) {
          for (uint32_t reader : spaces[s].readers)
            if (reader != i) add(reader, i, 0);
          if (spaces[s].writer >= 0) add(uint32_t(spaces[s].writer), i, 0);
          spaces[s] = {i, {}};
        } else if (access & 1) {
          if (spaces[s].writer >= 0) add(uint32_t(spaces[s].writer), i, 0);
          spaces[s].readers.push_back(i);
        }
      }
      if (n.in_turn) {
        if (turn >= 0) add(uint32_t(turn), i, 0);
        turn = i;
      }
    }
  }
  std::vector<std::vector<Edge>> next;
  std::vector<uint32_t> before;  // how many

 private:
  void add(uint32_t from, uint32_t to, uint32_t latency) {
    next[from].push_back({to, latency});
    ++before[to];
  }
};

/// When the units of a sub-partition are free.
class Units {
 public:
  uint64_t free(Pipe pipe) const { return pipe == Pipe::none ? 0 : free_[half(pipe)]; }
  void take(const IssueNode& n, uint64_t time) {
    if (n.pipe != Pipe::none) free_[half(n.pipe)] = time + n.occupies;
  }

 private:
  /// Of the two that multiply, the one that is free first.
  size_t half(Pipe pipe) const {
    if (pipe != Pipe::fma) return size_t(pipe);
    return size_t(free_[size_t(Pipe::fma_lite)] <= free_[size_t(Pipe::fma_heavy)] ? Pipe::fma_lite : Pipe::fma_heavy);
  }
  std::array<uint64_t, kPipes> free_{};
};

/// The readers of results that are on their way, counted in registers.
class Waiting {
 public:
  explicit Waiting(const std::vector<IssueNode>& run) : run_(run), left_(run.size()) {
    std::unordered_map<uint32_t, uint32_t> writer;
    producers_.resize(run.size());
    for (uint32_t i = 0; i < run.size(); ++i) {
      for (uint32_t r : run[i].uses)
        if (auto it = writer.find(r); it != writer.end() && run[it->second].words) {
          producers_[i].push_back(it->second);
          ++left_[it->second];
        }
      for (uint32_t r : run[i].defs) writer[r] = i;
    }
  }
  bool room_for(uint32_t i) const { return !run_[i].words || !words_ || words_ + run_[i].words <= kMostWaiting; }
  void issued(uint32_t i) {
    if (left_[i]) words_ += run_[i].words;
    for (uint32_t p : producers_[i])
      if (left_[p] && --left_[p] == 0) words_ -= run_[p].words;
  }

 private:
  const std::vector<IssueNode>& run_;
  std::vector<uint32_t> left_;  // readers to come
  std::vector<std::vector<uint32_t>> producers_;
  uint32_t words_ = 0;
};

}  // namespace

std::vector<uint32_t> issue_order(const std::vector<IssueNode>& run) {
  Dependences d(run);
  std::vector<uint64_t> height(run.size());  // cycles until the run's end, at least
  uint32_t work[kPipes + 1] = {};
  for (size_t i = run.size(); i-- > 0;) {
    height[i] = run[i].issue;
    for (const Edge& e : d.next[i]) height[i] = std::max(height[i], height[e.to] + std::max(e.latency, run[i].issue));
    // The work left to its unit from here on.
    uint32_t& left = work[size_t(run[i].pipe)];
    left += run[i].pipe == Pipe::fma ? run[i].occupies / 2u : run[i].occupies;
    height[i] = std::max<uint64_t>(height[i], left);
  }
  // Among instructions whose operands and units are ready, the one with the longest chain behind it goes first.
  const auto later = [&](uint32_t a, uint32_t b) { return height[a] != height[b] ? height[a] < height[b] : a > b; };
  using Queue = std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later)>;
  std::vector<Queue> ready(kPipes + 1, Queue(later));
  Queue loads(later);
  using Timed = std::pair<uint64_t, uint32_t>;
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>> coming;
  std::vector<uint64_t> from(run.size());
  for (uint32_t i = 0; i < run.size(); ++i)
    if (!d.before[i]) coming.emplace(0, i);
  Waiting waiting(run);
  Units units;
  std::vector<uint32_t> order;
  order.reserve(run.size());
  uint64_t t = 0;
  while (order.size() < run.size()) {
    for (; !coming.empty() && coming.top().first <= t; coming.pop()) {
      const uint32_t i = coming.top().second;
      (run[i].words ? loads : ready[size_t(run[i].pipe)]).push(i);
    }
    Queue* best = nullptr;
    uint64_t next = coming.empty() ? ~0ull : coming.top().first;
    const auto offer = [&](Queue& queue) {
      if (queue.empty()) return;
      const uint64_t free = units.free(run[queue.top()].pipe);
      if (free > t)
        next = std::min(next, free);
      else if (!best || later(best->top(), queue.top()))
        best = &queue;
    };
    for (Queue& queue : ready) offer(queue);
    // Without a free register a load waits for other instructions, if there are any.
    if (!loads.empty() && waiting.room_for(loads.top())) offer(loads);
    if (!best && next == ~0ull) best = &loads;
    if (!best) {
      t = next;
      continue;
    }
    const uint32_t i = best->top();
    best->pop();
    units.take(run[i], t);
    order.push_back(i);
    waiting.issued(i);
    for (const Edge& e : d.next[i]) {
      from[e.to] = std::max(from[e.to], t + e.latency);
      if (--d.before[e.to] == 0) coming.emplace(from[e.to], e.to);
    }
    t += run[i].issue;
  }
  return order;
}

std::vector<uint64_t> issue_times(const std::vector<IssueNode>& run, const std::vector<uint32_t>& order, uint64_t begin,
                                  RegisterTimes& ready) {
  std::vector<uint64_t> out;
  out.reserve(run.size() + 1);
  Units units;
  uint64_t t = begin;
  for (uint32_t i : order) {
    const IssueNode& n = run[i];
    uint64_t start = t;
    for (uint32_t r : n.uses) start = std::max(start, ready.at(r));
    start = std::max(start, units.free(n.pipe));
    units.take(n, start);
    for (uint32_t r : n.defs) ready.set(r, start + n.latency);
    out.push_back(start);
    t = start + n.issue;
  }
  out.push_back(t);
  return out;
}

}  // namespace tinygpu
