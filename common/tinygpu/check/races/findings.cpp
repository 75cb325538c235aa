#include "common/tinygpu/check/races/findings.h"

#include <fmt/format.h>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/base/relied_on.h"
#include "common/tinygpu/engines/tma/tensor_box.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu::races {
namespace {

const ptx::Instruction& instruction_of(const Record& r) { return r.who.function->instruction(*r.who.op); }

bool is_tcgen05(const Record& r) { return instruction_of(r).traits().subject == ptx::Subject::tensor_memory; }

const char* verb_of(AccessKind kind) {
  return kind == AccessKind::read ? "reads" : kind == AccessKind::write ? "writes" : "updates";
}

std::string bytes_at(ptx::Space space, uint64_t address, uint32_t bytes) {
  return fmt::format("{} byte{} at {} {:#x}", bytes, bytes == 1 ? "" : "s",
                     space == ptx::Space::global ? "global address" : "shared offset", address);
}

/// ": row 5, columns 32 to 39 of the box", if a tensor copy moves them.
std::string in_the_box(const Record& r, ptx::Space space, uint64_t address, uint32_t bytes) {
  const auto place =
      r.box && space == ptx::Space::shared ? r.box->place_of(r.box_offset, uint32_t(address)) : std::nullopt;
  return place ? ": " + r.box->name_of(*place, bytes) : "";
}

/// How one waits for an operation: a sentence, and lines of code.
struct Fix {
  std::string help;
  std::string example;
};

Fix wait_for(const Record& earlier) {
  switch (earlier.ends) {
    case Ends::mbarrier:
      return {
          "wait first for the phase of the copy's mbarrier that counts its bytes, in this thread or in one that it "
          "synchronises with; a barrier of threads does not wait for copies",
          "L: mbarrier.try_wait.parity.shared::cta.b64 p, [full], parity;  @!p bra L;"};
    case Ends::bulk_group:
      if (earlier.writes())
        return {"wait for the writes in the thread that issued the copy, then synchronise",
                "cp.async.bulk.commit_group;  cp.async.bulk.wait_group 0;"};
      return {"wait in the thread that issued the copy until its source has been read, then synchronise",
              "cp.async.bulk.commit_group;  cp.async.bulk.wait_group.read 0;"};
    case Ends::commit:
      return {"execute tcgen05.commit to an mbarrier after the operation, and wait for that phase first",
              "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [empty];\n"
              "L: mbarrier.try_wait.parity.shared::cta.b64 p, [empty], parity;  @!p bra L;"};
    case Ends::copies:
      return {"wait in the thread that issued the copies, then let the threads meet",
              "cp.async.wait_all;  bar.sync 0;"};
    case Ends::wgmma:
      return {"wait in the warpgroup that issued it, then synchronise", "wgmma.wait_group.sync.aligned 0;"};
    default: return {"synchronise with the thread that made the earlier access", ""};
  }
}

Fix fix_of(Why why, const Record& earlier, const Record& later, ptx::Space space) {
  switch (why) {
    case Why::incomplete: return wait_for(earlier);
    case Why::lanes: return {"let the lanes meet between the two", "bar.warp.sync 0xffffffff;   // __syncwarp()"};
    case Why::one_arrives:
    case Why::same_value:
    case Why::spoken_for:
      return {"let the lanes meet before one of them arrives for all, or let all of them arrive",
              "bar.warp.sync 0xffffffff;   // __syncwarp()\n@elected mbarrier.arrive.shared::cta.b64 _, [empty];"};
    case Why::one_warp:
      return {"let the warps meet before one of them arrives for all, or let all of them arrive",
              "bar.sync 1, 128;   // the warpgroup's own barrier\n"
              "@elected mbarrier.arrive.shared::cta.b64 _, [empty];"};
    case Why::no_scope:
      return {"name the scope at the arrive and at the wait",
              "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
              "L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [bar], parity;  @!p bra L;"};
    case Why::by_operation:
      return {"let the thread itself arrive on an mbarrier after its access, or put a barrier between the two",
              "mbarrier.arrive.shared::cta.b64 _, [full];   // one more arrival than the operation's"};
    case Why::nearly:
      return {
          "let the release and the acquire between the two reach each other (.cluster for CTAs of a cluster, .gpu "
          "for others), and leave out .relaxed on both sides",
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];\n"
          "L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [bar], parity;  @!p bra L;"};
    case Why::relaxed:
      return {
          "leave out .relaxed, which is for threads that hand over nothing but what fence.mbarrier_init has published",
          "barrier.cluster.arrive.release.aligned;  barrier.cluster.wait.acquire.aligned;"};
    case Why::no_fence:
      if (space == ptx::Space::global)
        return {"fence in the thread that made the earlier access, before it synchronises",
                "fence.proxy.async.global;"};
      return {
          "fence in every thread that made the earlier access, between the access and the barrier before the operation "
          "(or in the thread that issues the operation, after the barrier)",
          "fence.proxy.async.shared::cta;"};
    case Why::read_only:
      return {
          "load without .nc: in CUDA C++ without __ldg, and not through a pointer that is both const and __restrict__",
          "ld.global.u32 r, [address];"};
    default:
      // Which of the two is meant to come first is not known.
      if (later.operation != earlier.operation && space == ptx::Space::shared) {
        Fix end = wait_for(later.operation ? later : earlier);
        return {
            "if the access is to come first, put a barrier between it and the instruction that issues the "
            "operation; if the operation is, " +
                end.help,
            "bar.sync 0;   // __syncthreads(), if all threads of the CTA execute it\n" + end.example};
      }
      if (later.operation || earlier.operation || space == ptx::Space::shared)
        return {"put a barrier, or an mbarrier's arrive and wait, between the two",
                "bar.sync 0;   // __syncthreads(), if all threads of the CTA execute it"};
      return {"order the two by a barrier, or by a release and an acquire of one word",
              "st.release.gpu.global.u32 [flag], 1;   // after the earlier access\n"
              "L: ld.acquire.gpu.global.u32 r, [flag];  setp.eq.u32 p, r, 0;  @p bra L;"};
  }
}

/// One reads the whole word that the other compares and swaps.
bool read_beside_cas(const Record& a, const Record& b) {
  const auto swaps = [](const Record& r) {
    return r.kind == AccessKind::atomic && !r.operation && r.who.function->instruction(*r.who.op).has("cas");
  };
  const Record& reads = a.kind == AccessKind::read ? a : b;
  const Record& other = a.kind == AccessKind::read ? b : a;
  return reads.kind == AccessKind::read && !reads.operation && swaps(other) && reads.map.bytes == other.map.bytes;
}

struct Judged {
  const char* code;
  Severity severity;
  const ReliedOn* relied_on = nullptr;
};

Judged judged(Why why, const Record& earlier, const Record& later) {
  if (why == Why::unordered && earlier.who.op == later.who.op && earlier.kind == AccessKind::write && !later.operation)
    return {"data-race", Severity::warning, &kSameStore};
  if ((why == Why::unordered || why == Why::lanes || why == Why::spoken_for) && read_beside_cas(earlier, later))
    return {why == Why::unordered ? "data-race" : "lane-order-missing", Severity::warning, &kReadThenCas};
  switch (why) {
    case Why::lanes:
    case Why::spoken_for: return {"lane-order-missing", Severity::error};
    case Why::one_arrives: return {"lane-order-missing", Severity::warning, &kReadThenOneArrives};
    case Why::one_warp: return {"data-race", Severity::warning, &kReadThenOneArrives};
    case Why::no_scope:
      if (earlier.writes() && !(earlier.operation && later.writes()))
        return {"scope-too-narrow", Severity::warning, &kArriveWithoutScope};
      return {"scope-too-narrow", Severity::note};
    case Why::by_operation:
      // Kernels free a buffer of another CTA so, once it has been read.
      if (!earlier.writes() || (earlier.operation && later.writes())) return {"data-race", Severity::note};
      return {"data-race", Severity::error};
    case Why::same_value: return {"lane-order-missing", Severity::note};
    case Why::nearly:
      if (instruction_of(earlier).opcode == ptx::Opcode::tcgen05_alloc)
        return {"scope-too-narrow", Severity::warning, &kRelaxedAlloc};
      // Kernels free a buffer of another CTA so, once it has been read; a copy that had landed there is no value lost.
      return {"scope-too-narrow",
              earlier.writes() && !(earlier.operation && later.writes()) ? Severity::error : Severity::note};
    case Why::relaxed: return {"scope-too-narrow", Severity::warning, &kRelaxedOwn};
    case Why::incomplete:
      // Unread bytes of a stage are filled again; findings at its other bytes name their readers.
      if (earlier.ends == Ends::mbarrier && later.operation && earlier.kind == AccessKind::write &&
          later.kind == AccessKind::write)
        return {"async-not-complete", Severity::warning};
      return {"async-not-complete", Severity::error};
    case Why::no_fence:
      if (!earlier.writes()) return {"proxy-fence-missing", Severity::warning, &kReadBeforeCopy};
      if (instruction_of(earlier).opcode == ptx::Opcode::tcgen05_alloc)
        return {"proxy-fence-missing", Severity::warning, &kCopyOverAlloc};
      if (earlier.ends == Ends::copies && (later.ends == Ends::commit || later.ends == Ends::wgmma))
        return {"proxy-fence-missing", Severity::warning, &kCopiedOperand};
      if (is_tcgen05(later)) return {"proxy-fence-missing", Severity::warning, &kOperandFence};
      return {"proxy-fence-missing", Severity::error};
    case Why::read_only: return {"read-only-written", Severity::error};
    default: return {"data-race", Severity::error};
  }
}

const char* reason(Why why, const Record& earlier) {
  switch (why) {
    case Why::unordered: return "nothing orders the two";
    case Why::lanes: return "the lanes of the warp have not met in between, and lock step is not promised";
    case Why::spoken_for:
      return "some of its lanes are known to have finished the access, but the warp's lanes had not met before these "
             "lanes synchronised, and an arrive releases only its own lane's accesses";
    case Why::one_arrives:
      return "one of its lanes has arrived for all, and the lanes have met only at an instruction that waits for the "
             "warp and orders no memory";
    case Why::one_warp:
      return "one warp of the warpgroup has arrived for all, and its warps have met only at a wgmma, which orders no "
             "memory";
    case Why::no_scope:
      return "between them is an mbarrier.arrive or a wait without a scope, whose default scope is the CTA";
    case Why::nearly:
      return "one of the releases and acquires between them is .relaxed, or has a scope that does not include the next "
             "thread";
    case Why::relaxed: return "between them is barrier.cluster.arrive.relaxed, which orders no memory";
    case Why::by_operation:
      return "between them is the end of an asynchronous operation, which orders that operation, but not the earlier "
             "work of its thread";
    case Why::same_value:
      return "one of the lanes is known to have finished the store, and all lanes store one value; the other lanes are "
             "not ordered, which does no harm on hardware";
    case Why::no_fence:
      return earlier.writes() ? "no fence.proxy.async lies in between: the operation may see old data"
                              : "no fence.proxy.async lies in between: the operation may overtake the read";
    case Why::read_only:
      return "ld.global.nc is for bytes that nobody writes while the kernel runs; whatever orders the two, it may find "
             "what its cache held before";
    default: return "no wait for that operation lies between";
  }
}

}  // namespace

std::string name_of(const Record& r) {
  return fmt::format("{}{}{}", instruction_of(r).name(), *r.operand ? ", operand " : "", r.operand);
}

LabelledPlace place_of(const Record& r, std::string label) {
  LabelledPlace p{r.who.where(r.time), std::move(label)};
  if (r.operation) p.where.operation = instruction_of(r).name();
  return p;
}

void tell_race(Why why, const Record& earlier, const Record& later, ptx::Space space, uint64_t address,
               uint32_t bytes) {
  const Judged j = judged(why, earlier, later);
  const auto named = [&](const Record& r) {
    Record at = r;
    if (const uint32_t lanes = r.map.of(address); lanes && !r.operation) at.who.lane = __builtin_ctz(lanes);
    return at;
  };
  Diagnosis d;
  d.code = j.code;
  d.severity = j.severity;
  d.message =
      fmt::format("{} {} {} that {} {}: {}", name_of(later), verb_of(later.kind), bytes_at(space, address, bytes),
                  name_of(earlier), verb_of(earlier.kind), reason(why, earlier));
  if (j.relied_on) d.message += j.relied_on->said();
  LabelledPlace first =
      place_of(named(later), fmt::format("{} {}{}", verb_of(later.kind), bytes_at(space, address, bytes),
                                         in_the_box(later, space, address, bytes)));
  d.where = std::move(first.where);
  d.label = std::move(first.label);
  d.others.push_back(
      place_of(named(earlier), fmt::format("this memory: the earlier access {} it{}", verb_of(earlier.kind),
                                           in_the_box(earlier, space, address, bytes))));
  const Fix fix = fix_of(why, earlier, later, space);
  d.help = fix.help;
  d.example = fix.example;
  if (why == Why::no_fence && !earlier.writes()) {  // the code's rule is about stores
    d.rule =
        "The read goes through the generic proxy, the operation's write through the async proxy. Barriers and "
        "mbarriers order threads and not these two. Only fence.proxy.async, in the thread that has read, keeps the "
        "write behind the read. Hardware has been seen to be right without it, but nothing promises that.";
    d.section = "9.7.13.4 membar, fence";
  }
  later.who.report(std::move(d));
}

void tell_unpublished(const Record& init, const Origin& who, const Cta& owner, uint32_t offset, Unpublished to) {
  const Judged j = to == Unpublished::to_thread ? Judged{"mbarrier-init-not-published", Severity::error}
                   : to == Unpublished::relaxed
                       ? Judged{"mbarrier-init-not-published", Severity::warning, &kRelaxedInit}
                   : to == Unpublished::to_copy ? Judged{"mbarrier-init-not-published", Severity::warning, &kInitFence}
                                                : Judged{"mbarrier-init-not-published", Severity::note};
  Diagnosis d;
  d.code = j.code;
  d.severity = j.severity;
  d.message = fmt::format("{} is {}", mbarrier_name(owner, offset),
                          to == Unpublished::to_thread ? "used by a thread that need not see its initialisation"
                          : to == Unpublished::relaxed
                              ? "used by a thread that need not see its initialisation: the synchronisation between is "
                                ".relaxed or has too narrow a scope, and no fence.mbarrier_init stands before it"
                          : to == Unpublished::to_copy
                              ? "signalled by a copy, and no fence has made its initialisation visible to the async "
                                "proxy"
                              : "signalled by tcgen05.commit, and no fence has published its initialisation. By the "
                                "manual's words a commit needs none in its own CTA; kernels fence all the same");
  if (j.relied_on) d.message += j.relied_on->said();
  d.where = who.where();
  d.label = to == Unpublished::to_thread || to == Unpublished::relaxed ? "used here" : "signals it";
  d.others.push_back(place_of(init, "initialised here"));
  if (to == Unpublished::to_thread) {
    d.help = "let the threads meet after the initialisation";
    d.example = "bar.sync 0;";
  } else {
    d.help = "fence after the initialisation, in the thread that initialises, and let the threads meet";
    d.example = "fence.mbarrier_init.release.cluster;  bar.sync 0;";
  }
  who.report(std::move(d));
}

void tell_inval(const Record& wait, const Origin& who, const Cta& owner, uint32_t offset) {
  Diagnosis d;
  d.code = "data-race";
  d.severity = Severity::warning;
  d.message = fmt::format("mbarrier.inval ends {}, and a thread may still wait for it: nothing orders the two{}",
                          mbarrier_name(owner, offset), kEndedByOne.said());
  d.where = who.where();
  d.label = "ends it";
  d.others.push_back(place_of(wait, "waits for it"));
  d.help = "let all waiting threads meet after their waits, then end it";
  d.example = "bar.sync 0;  @p mbarrier.inval.shared::cta.b64 [bar];";
  who.report(std::move(d));
}

void tell_late_wait(const Record& wait, uint64_t phase, const Cta& owner, uint32_t offset, const LabelledPlace& ender) {
  wait.who.report(
      {.code = "mbarrier-late-wait",
       .severity = Severity::warning,
       .message =
           fmt::format("a thread may be so late here that phases {} and {} of {} have ended: no arrival of phase "
                       "{} comes behind this wait for phase {}. Then it finds the parity of the phase before, "
                       "and goes on waiting",
                       phase, phase + 1, mbarrier_name(owner, offset), phase + 1, phase),
       .help = "let every warp that waits also give the stage back: an arrival for each on the mbarrier for which the "
               "producer waits; or let them meet before one arrives for all",
       .where = wait.who.where(wait.time),
       .label = fmt::format("waits for phase {}", phase),
       .others = {ender},
       .example = "bar.warp.sync 0xffffffff;   // in each warp that waits\n"
                  "@elected mbarrier.arrive.shared::cta.b64 _, [empty];"});
}

void tell_exit(const Record& r, uint32_t rank, bool out, const std::string& what) {
  Diagnosis d;
  d.code = "exit-with-remote-access";
  d.severity = Severity::error;
  d.message = out ? fmt::format(
                        "CTA rank {} of the cluster ends before its {} is known to have read {}: shared memory lives "
                        "as long as its CTA",
                        rank, name_of(r), what)
                  : fmt::format(
                        "CTA rank {} of the cluster ends before another CTA's {} to {} is known to have ended: shared "
                        "memory lives as long as its CTA",
                        rank, name_of(r), what);
  LabelledPlace at = place_of(r, out ? "it may still read after the CTA's exit" : "it may come after the CTA's exit");
  d.where = std::move(at.where);
  d.label = std::move(at.label);
  d.help = "let all CTAs of the cluster meet before any of them exits, after the waits for their last operations";
  d.example = "barrier.cluster.arrive;  barrier.cluster.wait;";
  r.who.report(std::move(d));
}

void tell_primary_grid(const Record& r, uint64_t address, uint64_t bytes, const LabelledPlace& before,
                       const std::string& kernel) {
  Diagnosis d;
  d.code = "data-race";
  d.message =
      fmt::format("{} {} {} that the grid before ({}) touches: this thread has not waited for that grid", name_of(r),
                  verb_of(r.kind), bytes_at(ptx::Space::global, address, uint32_t(bytes)), kernel_label(kernel));
  Record at = r;
  if (const uint32_t lanes = r.map.of(address); lanes && !r.operation) at.who.lane = __builtin_ctz(lanes);
  LabelledPlace first =
      place_of(at, fmt::format("{} {}", verb_of(r.kind), bytes_at(ptx::Space::global, address, uint32_t(bytes))));
  d.where = std::move(first.where);
  d.label = std::move(first.label);
  d.others.push_back(before);
  d.help = "execute griddepcontrol.wait before the first access to memory that the preceding grid touches";
  d.example = "griddepcontrol.wait;   // cudaGridDependencySynchronize()";
  d.rule =
      "A grid that executes griddepcontrol.launch_dependents lets the next grid start beside it; the next grid sees "
      "its writes after griddepcontrol.wait.";
  d.section = "9.7.14.13 griddepcontrol";
  r.who.report(std::move(d));
}

void tell_unwritten(const Record& r, uint64_t address, uint32_t bytes) {
  Diagnosis d;
  const Judged j =
      r.operation ? Judged{"shared-uninitialised", Severity::note} : Judged{"shared-uninitialised", Severity::warning};
  d.code = j.code;
  d.severity = j.severity;
  d.message = fmt::format("{} reads {}, never written since the CTA began", name_of(r),
                          bytes_at(ptx::Space::shared, address, bytes));
  Record at = r;
  if (const uint32_t lanes = r.map.of(address); lanes && !r.operation) at.who.lane = __builtin_ctz(lanes);
  LabelledPlace first = place_of(at, "reads arbitrary bytes");
  d.where = std::move(first.where);
  d.label = std::move(first.label);
  d.help = "write the bytes first, or compare the address with where they were written";
  r.who.report(std::move(d));
}

}  // namespace tinygpu::races
