#include "common/tinygpu/check/empty_commits.h"

#include <fmt/format.h>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::checks {

uint32_t EmptyCommits::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::tensor_memory) ? interests : 0;
}

void EmptyCommits::on_launch(const Launch& launch) {
  issuers_.clear();
  issuers_.resize(launch.partitions().size());
}

void EmptyCommits::on_issue(const AsyncOperation& o) {
  using Kind = AsyncOperation::Kind;
  const bool commit = o.kind == Kind::commit;
  if (!commit && o.kind != Kind::mma && o.kind != Kind::tmem_copy && o.kind != Kind::tmem_shift) return;
  Threads& threads = issuers_[o.partition()][o.who.cta];
  const std::pair thread{o.who.warp, o.who.lane};
  if (!commit) {
    threads.try_emplace(thread, Issue{o.who, o.issued});
    return;
  }
  if (threads.empty() || threads.contains(thread)) return;
  const Issue& other = threads.begin()->second;
  Diagnosis d{.code = "commit-empty",
              .severity = Severity::warning,
              .message = "tcgen05.commit in a thread that has issued no operation for it to cover: it arrives at once",
              .help = "let the thread that issued the operations commit them: elect one lane for both",
              .where = o.who.where(o.issued),
              .label = "commits nothing",
              .others = {{other.who.where(other.time), "another thread has issued this"}}};
  // The operation is the commit itself: a thread executes it.
  d.where.operation.clear();
  o.who.report(std::move(d));
}

}  // namespace tinygpu::checks
