// Conformance of mbarrier objects with a real GPU: scripts of operations, observed by tokens, predicates, pending
// counts and the word that mbarrier.inval leaves.
//
//   conformance_mbarrier --write h200.golden     on a GPU of compute capability 9.0
//   conformance_mbarrier --check h200.golden     anywhere
// GCC 12 sees overlapping copies in std::string concatenation where there are none (PR 105651).
#pragma GCC diagnostic ignored "-Wrestrict"
#include <cuda_runtime.h>

#include <algorithm>

#include "tests/conformance/random.h"
#include "tests/conformance/runner.h"

namespace conformance {
namespace {

enum Operation : uint8_t {
  arrive,
  arrive_count,
  arrive_expect,
  arrive_no_complete,
  drop,
  drop_count,
  drop_expect,
  drop_no_complete,
  expect,
  complete,
  test_parity,
  test_token,
  pending_count,
  try_parity,
  renew,
  async_arrive,
  async_arrive_noinc,
  operations
};
constexpr const char* kNames[] = {"arrive",
                                  "arrive.count",
                                  "arrive.expect_tx",
                                  "arrive.noComplete",
                                  "arrive_drop",
                                  "arrive_drop.count",
                                  "arrive_drop.expect_tx",
                                  "arrive_drop.noComplete",
                                  "expect_tx",
                                  "complete_tx",
                                  "test_wait.parity",
                                  "test_wait",
                                  "pending_count",
                                  "try_wait.parity",
                                  "inval+init",
                                  "cp.async.mbarrier.arrive",
                                  "cp.async.mbarrier.arrive.noinc"};

constexpr int kSteps = 14;

struct Step {
  uint8_t operation = arrive, spelling = 0;
  uint16_t per_lane = 0;  // added to the argument, times the lane
  uint32_t argument = 0;
};

enum Mode : int { one_thread, whole_warp, remote };

struct Script {
  Mode mode = one_thread;
  uint32_t count = 1;  // of init
  int steps = 0;
  Step step[kSteps];
};

__device__ __forceinline__ uint32_t address_of(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }

// Operations with a token, and waits; `...` are operands, the first of them the object.
#define TOKEN_ASM(TEXT, ...) asm volatile("mbarrier." TEXT ";" : "=l"(token) : __VA_ARGS__ : "memory")
#define WAIT_ASM(TEXT, ...)                                                               \
  asm volatile("{.reg .pred p; mbarrier." TEXT ".b64 p, [%1], %2; selp.b32 %0, 1, 0, p;}" \
               : "=r"(seen)                                                               \
               : __VA_ARGS__                                                              \
               : "memory")
// Four spellings of each: default, release, acquire or relaxed, scopes, generic address.
#define TOKEN_OP(NAME, MODS, OPERANDS, ...)                                                                            \
  switch (s.spelling) {                                                                                                \
    case 0: TOKEN_ASM(NAME MODS ".shared.b64 %0, [%1]" OPERANDS, "r"(bar), ##__VA_ARGS__); break;                      \
    case 1: TOKEN_ASM(NAME MODS ".release.cluster.shared::cta.b64 %0, [%1]" OPERANDS, "r"(bar), ##__VA_ARGS__); break; \
    case 2: TOKEN_ASM(NAME MODS ".relaxed.cta.shared::cta.b64 %0, [%1]" OPERANDS, "r"(bar), ##__VA_ARGS__); break;     \
    default: TOKEN_ASM(NAME MODS ".b64 %0, [%1]" OPERANDS, "l"(object), ##__VA_ARGS__); break;                         \
  }
#define NO_COMPLETE_OP(NAME)                                                                                 \
  switch (s.spelling % 3) {                                                                                  \
    case 0: TOKEN_ASM(NAME ".noComplete.shared.b64 %0, [%1], %2", "r"(bar), "r"(n)); break;                  \
    case 1: TOKEN_ASM(NAME ".noComplete.release.cta.shared::cta.b64 %0, [%1], %2", "r"(bar), "r"(n)); break; \
    default: TOKEN_ASM(NAME ".noComplete.b64 %0, [%1], %2", "l"(object), "r"(n)); break;                     \
  }
#define WAIT_OP(NAME, VALUE)                                                       \
  switch (s.spelling) {                                                            \
    case 0: WAIT_ASM(NAME ".shared", "r"(bar), VALUE); break;                      \
    case 1: WAIT_ASM(NAME ".acquire.cluster.shared::cta", "r"(bar), VALUE); break; \
    case 2: WAIT_ASM(NAME ".relaxed.cta.shared::cta", "r"(bar), VALUE); break;     \
    default: WAIT_ASM(NAME, "l"(object), VALUE); break;                            \
  }
#define COUNT_OP(NAME)                                                                                               \
  switch (s.spelling) {                                                                                              \
    case 0: asm volatile("mbarrier." NAME ".relaxed.cta.shared.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory"); break; \
    case 1:                                                                                                          \
      asm volatile("mbarrier." NAME ".relaxed.cluster.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory");     \
      break;                                                                                                         \
    case 2:                                                                                                          \
      asm volatile("mbarrier." NAME ".relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory"); \
      break;                                                                                                         \
    default: asm volatile("mbarrier." NAME ".relaxed.cta.b64 [%0], %1;" ::"l"(object), "r"(n) : "memory"); break;    \
  }

__device__ uint64_t perform(const Step& s, uint64_t* object, uint32_t bar, uint64_t& token, const int* source,
                            int* target, uint32_t lane) {
  const uint32_t n = s.argument + s.per_lane * lane;
  uint32_t seen = 0;
  const uint64_t upper = 0xffffffff00000000ull;
  switch (s.operation) {
    case arrive: TOKEN_OP("arrive", "", ""); return token & upper;
    case arrive_count: TOKEN_OP("arrive", "", ", %2", "r"(n)); return token & upper;
    case arrive_expect: TOKEN_OP("arrive", ".expect_tx", ", %2", "r"(n)); return token & upper;
    case arrive_no_complete: NO_COMPLETE_OP("arrive"); return token & upper;
    case drop: TOKEN_OP("arrive_drop", "", ""); return token & upper;
    case drop_count: TOKEN_OP("arrive_drop", "", ", %2", "r"(n)); return token & upper;
    case drop_expect: TOKEN_OP("arrive_drop", ".expect_tx", ", %2", "r"(n)); return token & upper;
    case drop_no_complete: NO_COMPLETE_OP("arrive_drop"); return token & upper;
    case expect: COUNT_OP("expect_tx"); return 0;
    case complete: COUNT_OP("complete_tx"); return 0;
    case test_parity: WAIT_OP("test_wait.parity", "r"(n & 1)); return seen;
    case test_token: WAIT_OP("test_wait", "l"(token)); return seen;
    case pending_count: asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(seen) : "l"(token)); return seen;
    case try_parity: WAIT_OP("try_wait.parity", "r"(n & 1)); return seen;
    case renew: {
      asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(bar) : "memory");
      const uint64_t word = *reinterpret_cast<volatile uint64_t*>(object);
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory");
      return word;
    }
    default:
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address_of(target + lane)), "l"(source + lane)
                   : "memory");
      if (s.operation == async_arrive)
        asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(bar) : "memory");
      else
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(bar) : "memory");
      asm volatile("cp.async.wait_all;" ::: "memory");
      for (long long start = clock64(); clock64() - start < 3000;) {
      }
      return 0;
  }
}

#define REMOTE_OP(NAME, MODS, OPERANDS, ...)                                                                     \
  switch (s.spelling % 3) {                                                                                      \
    case 0:                                                                                                      \
      asm volatile("mbarrier." NAME MODS ".shared::cluster.b64 _, [%0]" OPERANDS ";" ::"r"(bar), ##__VA_ARGS__   \
                   : "memory");                                                                                  \
      break;                                                                                                     \
    case 1:                                                                                                      \
      asm volatile("mbarrier." NAME MODS ".release.cluster.shared::cluster.b64 _, [%0]" OPERANDS ";" ::"r"(bar), \
                   ##__VA_ARGS__                                                                                 \
                   : "memory");                                                                                  \
      break;                                                                                                     \
    default:                                                                                                     \
      asm volatile("mbarrier." NAME MODS ".relaxed.cluster.shared::cluster.b64 _, [%0]" OPERANDS ";" ::"r"(bar), \
                   ##__VA_ARGS__                                                                                 \
                   : "memory");                                                                                  \
      break;                                                                                                     \
  }

__device__ void perform_remote(const Step& s, uint32_t bar, uint32_t lane) {
  const uint32_t n = s.argument + s.per_lane * lane;
  switch (s.operation) {
    case arrive: REMOTE_OP("arrive", "", ""); break;
    case arrive_count: REMOTE_OP("arrive", "", ", %1", "r"(n)); break;
    case arrive_expect: REMOTE_OP("arrive", ".expect_tx", ", %1", "r"(n)); break;
    case drop: REMOTE_OP("arrive_drop", "", ""); break;
    case drop_count: REMOTE_OP("arrive_drop", "", ", %1", "r"(n)); break;
    case drop_expect: REMOTE_OP("arrive_drop", ".expect_tx", ", %1", "r"(n)); break;
    case expect:
      asm volatile("mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory");
      break;
    default:
      asm volatile("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], %1;" ::"r"(bar), "r"(n) : "memory");
      break;
  }
}

__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

/// out: 32 observations a step, then the last word. `initialise` false: the object is 8 zero bytes.
__global__ void script_kernel(Script script, const int* source, uint64_t* out, bool initialise) {
  __shared__ alignas(8) uint64_t object;
  __shared__ int target[32];
  const uint32_t bar = address_of(&object), lane = threadIdx.x;
  uint64_t token = 0;
  if (lane == 0) {
    object = 0;
    if (initialise) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(bar), "r"(script.count) : "memory");
  }
  __syncwarp();
  for (int i = 0; i < script.steps; ++i) {
    if (script.mode == whole_warp || lane == 0)
      out[i * 32 + lane] = perform(script.step[i], &object, bar, token, source, target, lane);
    __syncwarp();
  }
  if (lane == 0) {
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(bar) : "memory");
    out[kSteps * 32] = *reinterpret_cast<volatile uint64_t*>(&object);
  }
}

/// Rank 1 operates on rank 0's object; rank 0 looks after every step.
__global__ void remote_kernel(Script script, uint64_t* out) {
  __shared__ alignas(8) uint64_t object;
  uint32_t rank, bar;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  const uint32_t own = address_of(&object), lane = threadIdx.x;
  asm volatile("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(bar) : "r"(own));
  if (rank == 0 && lane == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(own), "r"(script.count) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster_sync();
  for (int i = 0; i < script.steps; ++i) {
    const Step& s = script.step[i];
    if (rank == 1 && (s.per_lane || lane == 0)) perform_remote(s, bar, lane);
    cluster_sync();
    if (rank == 0 && lane == 0) {
      for (long long start = clock64(); clock64() - start < 3000;) {
      }
      uint32_t even, odd;
      asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.b32 %0, 1, 0, p;}"
                   : "=r"(even)
                   : "r"(own)
                   : "memory");
      asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 1; selp.b32 %0, 1, 0, p;}"
                   : "=r"(odd)
                   : "r"(own)
                   : "memory");
      out[i * 32] = even | odd << 1;
    }
    cluster_sync();
  }
  if (rank == 0 && lane == 0) {
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(own) : "memory");
    out[kSteps * 32] = *reinterpret_cast<volatile uint64_t*>(&object);
  }
  cluster_sync();
}

// ---- Cases

constexpr int64_t kLimit = (1 << 20) - 1;

/// Just enough of the object to write scripts that stay within the rules.
struct Outline {
  int64_t expected, pending, tx = 0;
  void settle() {
    if (pending == 0 && tx == 0) pending = expected;
  }
};

Script script_of(Random& r, Mode mode) {
  Script script;
  script.mode = mode;
  const bool warp = mode == whole_warp;
  const int64_t lanes = warp ? 32 : 1;
  script.count = uint32_t(lanes * r.between(1, r.one_in(3) ? 2000 : 4) + (warp ? r.between(0, 40) : 0));
  if (r.one_in(20)) script.count = uint32_t(kLimit);
  Outline o{script.count, script.count};
  script.steps = int(r.between(4, kSteps));
  bool token = false;
  for (int i = 0; i < script.steps; ++i) {
    Step& s = script.step[i];
    s.spelling = uint8_t(r.below(4));
    for (int tries = 0;; ++tries) {
      s.operation = uint8_t(r.below(mode == remote ? expect + 2 : operations));
      s.per_lane = mode == remote ? uint16_t(r.one_in(4)) : 0;
      const int64_t width = s.per_lane ? 32 : lanes;  // lanes that act
      if (tries > 50) s.operation = mode == remote ? expect : test_parity, s.per_lane = 0;
      s.argument = uint32_t(r.below(4));
      const auto span = [&](int64_t n) { return width * n + (s.per_lane ? 496 : 0); };  // 0 + 1 + … + 31 on top
      const auto amount = [&](int64_t most) {
        return most <= 0 ? 0 : r.between(0, r.one_in(4) ? most : std::min<int64_t>(most, 64));
      };
      bool fits = true;
      Outline next = o;
      switch (s.operation) {
        case arrive:
          s.per_lane = s.per_lane && mode == remote;
          next.pending -= width;
          break;
        case arrive_count:
        case arrive_no_complete:
          s.argument = uint32_t(amount((o.pending - (s.per_lane ? 496 : 0)) / width));
          next.pending -= span(s.argument);
          if (s.operation == arrive_no_complete && mode == remote) fits = false;
          break;
        case drop:
          next.pending -= width;
          next.expected -= width;
          break;
        case drop_count:
        case drop_no_complete:
          s.argument = uint32_t(amount((std::min(o.pending, o.expected) - (s.per_lane ? 496 : 0)) / width));
          next.pending -= span(s.argument);
          next.expected -= span(s.argument);
          if (s.operation == drop_no_complete && mode == remote) fits = false;
          break;
        case arrive_expect:
        case drop_expect:
          s.argument = uint32_t(16 * amount((kLimit - std::max<int64_t>(o.tx, 0)) / width / 16 - 32));
          next.tx += span(s.argument);
          next.pending -= width;
          if (s.operation == drop_expect) next.expected -= width;
          break;
        case expect:
          s.argument = uint32_t(o.tx < 0 && r.one_in(2) && !s.per_lane
                                    ? -o.tx / width
                                    : 8 * amount((kLimit - std::max<int64_t>(o.tx, 0)) / width / 8 - 64));
          next.tx += span(s.argument);
          break;
        case complete:
          s.argument = uint32_t(o.tx > 0 && !r.one_in(3) && !s.per_lane
                                    ? o.tx / width
                                    : 8 * amount((kLimit + std::min<int64_t>(o.tx, 0)) / width / 8 - 64));
          next.tx -= span(s.argument);
          break;
        case test_token:
        case pending_count: fits = token; break;
        case renew:
          s.argument = uint32_t(lanes * r.between(1, 100));
          next = {int64_t(s.argument), int64_t(s.argument)};
          if (warp) fits = false;
          break;
        case async_arrive:
          if (o.pending + lanes > kLimit) fits = false;
          break;
        case async_arrive_noinc: next.pending -= lanes; break;
        default: break;
      }
      if (!fits || next.pending < 0 || next.expected < 0 || next.tx > kLimit || next.tx < -kLimit ||
          (next.expected == 0 && !r.one_in(8)))
        continue;
      // No arrivals expected any more: the misuse cases look at what then completes.
      if (o.expected == 0 && s.operation != test_parity && s.operation != try_parity && s.operation != renew) {
        if (tries > 50) break;
        continue;
      }
      o = next;
      if (s.operation <= complete || s.operation >= async_arrive) o.settle();
      break;
    }
    token |= s.operation <= drop_no_complete;
  }
  return script;
}

Step step(uint8_t operation, uint32_t argument = 0, uint8_t spelling = 0) {
  Step s;
  s.operation = operation;
  s.argument = argument;
  s.spelling = spelling;
  return s;
}

struct Misuse {
  const char* what;
  Script script;
  bool initialise = true;
};

std::vector<Misuse> misuses() {
  std::vector<Misuse> all;
  const auto add = [&](const char* what, Mode mode, uint32_t count, std::initializer_list<Step> steps,
                       bool initialise = true) {
    Misuse m{what, {}, initialise};
    m.script.mode = mode;
    m.script.count = count;
    for (const Step& s : steps) m.script.step[m.script.steps++] = s;
    all.push_back(m);
  };
  const uint32_t top = uint32_t(kLimit);
  add("more arrivals than pending", one_thread, 2, {step(arrive_count, 3)});
  add("arrivals past zero while bytes are missing", one_thread, 1, {step(arrive_expect, 64), step(arrive)});
  add("a warp arrives on fewer", whole_warp, 31, {step(arrive)});
  add("a warp arrives on exactly its lanes", whole_warp, 32,
      {step(arrive), step(arrive), step(test_parity, 0), step(test_parity, 1)});
  add("arrive of 2^20", one_thread, top, {step(arrive_count, 1u << 20)});
  add("arrive of 2^20 on count 5", one_thread, 5, {step(arrive_count, 1u << 20)});
  add("arrive of 2^31", one_thread, 5, {step(arrive_count, 1u << 31)});
  add("drop of more than pending", one_thread, 3, {step(drop_count, 4)});
  add("drop twice", one_thread, 1, {step(drop), step(drop)});
  add("arrive after all dropped", one_thread, 2, {step(drop_count, 2), step(arrive)});
  add("drop everything, test", one_thread, 2, {step(drop_count, 2), step(test_parity, 0), step(test_parity, 1)});
  add("complete_tx 0 after all dropped", one_thread, 1,
      {step(drop), step(complete, 0), step(test_parity, 0), step(test_parity, 1)});
  add("expect_tx 0 after all dropped", one_thread, 1,
      {step(drop), step(expect, 0), step(test_parity, 0), step(test_parity, 1)});
  add("arrive 0 after all dropped", one_thread, 1,
      {step(drop), step(arrive_count, 0), step(test_parity, 0), step(test_parity, 1)});
  add("expect and complete after all dropped", one_thread, 1,
      {step(drop), step(expect, 16), step(test_parity, 0), step(complete, 16), step(test_parity, 0),
       step(test_parity, 1)});
  add("expect past the limit", one_thread, 1, {step(expect, top), step(expect, 1)});
  add("expect of 2^20", one_thread, 1, {step(expect, 1u << 20)});
  add("expect of 2^20 + 5", one_thread, 1, {step(expect, (1u << 20) + 5)});
  add("expect of 2^21", one_thread, 1, {step(expect, 1u << 21)});
  add("expect of 2^31", one_thread, 1, {step(expect, 1u << 31)});
  add("expect of the limit", one_thread, 1,
      {step(expect, top), step(arrive), step(complete, top), step(test_parity, 0)});
  add("complete past the limit", one_thread, 1, {step(complete, top), step(complete, 1)});
  add("complete of the limit", one_thread, 1,
      {step(complete, top), step(expect, top), step(arrive), step(test_parity, 0)});
  add("complete of 2^20", one_thread, 1, {step(complete, 1u << 20)});
  add("a warp's bytes pass the limit together", whole_warp, 64, {step(expect, 32768)});
  add("a warp's bytes stay below", whole_warp, 64, {step(expect, 32767)});
  add("a warp's bytes pass it, the sum would be in range", whole_warp, 64,
      {step(complete, 32000), step(expect, 33000)});
  add("arrive on zero bytes", one_thread, 1, {step(arrive)}, false);
  add("drop on zero bytes", one_thread, 1, {step(drop)}, false);
  add("expect on zero bytes", one_thread, 1, {step(expect, 16)}, false);
  add("complete on zero bytes", one_thread, 1, {step(complete, 16)}, false);
  add("test on zero bytes", one_thread, 1, {step(test_parity, 0)}, false);
  add("init 0, test", one_thread, 0, {step(test_parity, 0), step(test_parity, 1)});
  add("init 0, arrive", one_thread, 0, {step(arrive)});
  add("init 0, expect and complete", one_thread, 0, {step(expect, 16), step(complete, 16), step(test_parity, 0)});
  add("init 2^20, arrive", one_thread, 1u << 20, {step(arrive)});
  add("init 2^20 + 1", one_thread, (1u << 20) + 1, {step(test_parity, 0), step(test_parity, 1)});
  add("init 2^21 + 3", one_thread, (1u << 21) + 3, {step(test_parity, 0), step(test_parity, 1)});
  add("noComplete completes", one_thread, 2, {step(arrive_no_complete, 2), step(test_parity, 0), step(pending_count)});
  add("complete ahead of expect", one_thread, 1,
      {step(complete, 48), step(arrive), step(test_parity, 0), step(expect, 48), step(test_parity, 0)});
  add("arrive of 0", one_thread, 1, {step(arrive_count, 0), step(pending_count)});
  add("noinc past zero", one_thread, 1,
      {step(async_arrive_noinc), step(async_arrive_noinc), step(test_parity, 0), step(test_parity, 1)});
  add("async arrive at the limit", one_thread, top, {step(async_arrive), step(test_parity, 0)});
  add("remote arrivals beyond pending", remote, 1, {step(arrive_count, 2)});
  add("remote expect beyond the limit", remote, 1, {step(expect, top), step(expect, 1)});
  add("remote drop of all, then arrive", remote, 1, {step(drop), step(arrive)});
  for (uint32_t k = 0; k < 16; ++k)  // wrap-around: many phases in one script
    add("phases", one_thread, 1,
        {step(arrive, 0, k & 3), step(test_token), step(arrive, 0, k >> 2), step(test_parity, 0), step(arrive),
         step(test_parity, 0), step(arrive), step(test_parity, 1), step(arrive), step(test_token),
         step(arrive_expect, 16 * k), step(complete, 16 * k), step(test_parity, 0), step(test_parity, 1)});
  return all;
}

constexpr size_t kThreadScripts = 700, kWarpScripts = 300, kRemoteScripts = 200;

Misuse case_of(size_t n) {
  static const std::vector<Misuse> special = misuses();
  if (n < special.size()) return special[n];
  n -= special.size();
  Random r(0xba7 + 104729 * n);
  const Mode mode = n < kThreadScripts ? one_thread : n < kThreadScripts + kWarpScripts ? whole_warp : remote;
  return {"script", script_of(r, mode)};
}

void run_case(size_t n, Result& r) {
  static int* source = nullptr;
  static uint64_t* out = nullptr;
  if (!out) {
    cudaMalloc(&source, 32 * sizeof(int));
    cudaMalloc(&out, (kSteps * 32 + 1) * sizeof(uint64_t));
    cudaMemset(source, 1, 32 * sizeof(int));
  }
  const Misuse m = case_of(n);
  cudaMemset(out, 0, (kSteps * 32 + 1) * sizeof(uint64_t));
  if (m.script.mode == remote) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(2);
    config.blockDim = dim3(32);
    cudaLaunchAttribute attribute[1];
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim = {2, 1, 1};
    config.attrs = attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, remote_kernel, m.script, out);
  } else {
    script_kernel<<<1, 32>>>(m.script, source, out, m.initialise);
  }
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  r.status = int(error);
  if (error != cudaSuccess) return;
  uint64_t seen[kSteps * 32 + 1];
  cudaMemcpy(seen, out, sizeof seen, cudaMemcpyDeviceToHost);
  r.count = uint32_t(seen[kSteps * 32] >> 43);
  r.hash_bytes(seen, sizeof seen);
  if (std::getenv("CONFORMANCE_DUMP")) {
    for (int i = 0; i < m.script.steps; ++i)
      std::printf("  %-32s spelling %d argument %u per lane %u: %016llx (last lane %016llx)\n",
                  kNames[m.script.step[i].operation], m.script.step[i].spelling, m.script.step[i].argument,
                  m.script.step[i].per_lane, static_cast<unsigned long long>(seen[i * 32]),
                  static_cast<unsigned long long>(seen[i * 32 + 31]));
    std::printf("  last word %016llx\n", static_cast<unsigned long long>(seen[kSteps * 32]));
    std::fflush(stdout);
  }
}

std::string describe_case(size_t n) {
  const Misuse m = case_of(n);
  constexpr const char* modes[] = {"one thread", "a warp", "from another CTA"};
  std::string s = std::string(m.what) + ", " + modes[m.script.mode] + ", count " + std::to_string(m.script.count) + ":";
  for (int i = 0; i < m.script.steps; ++i)
    s += std::string(i ? ", " : " ") + kNames[m.script.step[i].operation] + " " +
         std::to_string(m.script.step[i].argument);
  return s;
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
  conformance::Suite suite;
  suite.name = "mbarrier";
  suite.cases = conformance::misuses().size() + conformance::kThreadScripts + conformance::kWarpScripts +
                conformance::kRemoteScripts;
  suite.run = conformance::run_case;
  suite.describe = conformance::describe_case;
  return conformance::conformance_main(suite, argc, argv);
}
