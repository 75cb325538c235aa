#include "common/tinygpu/check/unordered_operations.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::checks {
namespace {

using Kind = AsyncOperation::Kind;
using Cells = std::vector<AsyncOperation::TensorUse>;

bool is_of_tensor_core(Kind kind) { return kind == Kind::mma || kind == Kind::tmem_copy || kind == Kind::tmem_shift; }

bool meet(const Cells& one, const Cells& other) {
  for (const auto& a : one)
    for (const auto& b : other)
      if (a.sm == b.sm && (a.writes || b.writes) && a.cells.overlaps(b.cells)) return true;
  return false;
}

}  // namespace

uint32_t UnorderedOperations::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::tensor_memory) ? interests : 0;
}

void UnorderedOperations::on_launch(const Launch& launch) {
  parts_.clear();
  parts_.resize(launch.partitions().size());
}

void UnorderedOperations::on_issue(const AsyncOperation& o) {
  if (!is_of_tensor_core(o.kind)) return;
  Part& part = parts_[o.partition()];
  std::vector<Pending>& queue = part.queues[o.sm];
  std::vector<uint64_t>& before = part.before;
  before = o.after;
  for (auto i = queue.rbegin(); i != queue.rend(); ++i) {
    const AsyncOperation& p = **i;
    if (std::ranges::find(before, p.id) != before.end()) {
      before.insert(before.end(), p.after.begin(), p.after.end());
    } else if (meet(p.cells, o.cells)) {
      o.who.report({.code = "tmem-unordered",
                    .severity = Severity::warning,
                    .message = fmt::format("this {} and an earlier {} touch the same cells of Tensor Memory, and "
                                           "nothing orders them",
                                           name_of(o.kind), name_of(p.kind)),
                    .help = "Wait for the earlier operation's tcgen05.commit on its mbarrier. Issue order holds only "
                            "between MMAs with one accumulator, shape and kind, and from cp or shift to mma.",
                    .where = o.who.where(o.issued),
                    .label = "issued here",
                    .others = {{p.who.where(p.issued), "the earlier one"}}});
      break;
    }
  }
  queue.push_back(o.shared_from_this());
}

void UnorderedOperations::on_complete(const AsyncOperation& o) {
  if (!is_of_tensor_core(o.kind)) return;
  std::erase_if(parts_[o.partition()].queues[o.sm], [&](const Pending& p) { return p.get() == &o; });
}

}  // namespace tinygpu::checks
