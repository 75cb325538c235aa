// mbarrier (PTX ISA 9.7.13.15). A scope needs an order beside it and the other way round; in .shared::cluster an arrive
// returns nothing.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

#define RELAXED "[relaxed&cta|cluster] [cta|cluster&relaxed] "
#define ARRIVES "[release|relaxed&cta|cluster] [cta|cluster&release|relaxed] "
#define WAITS "[acquire|relaxed&cta|cluster] [cta|cluster&acquire|relaxed] "

#define ARRIVE_ROWS(OPCODE)                                                                                           \
  {OPCODE, ARRIVES "[$shared] b64", "state=b64_, [mbarrier:by], count:u32?", {8, 0}, kSm90},                          \
      {OPCODE, ARRIVES "shared::cluster b64", "_=sink, [mbarrier:shared], count:u32?", {8, 0}, kSm90},                \
      {OPCODE, "expect_tx " ARRIVES "[$shared] b64", "state=b64_, [mbarrier:by], tx_count:u32", {8, 0}, kSm90},       \
      {OPCODE, "expect_tx " ARRIVES "shared::cluster b64", "_=sink, [mbarrier:shared], tx_count:u32", {8, 0}, kSm90}, \
  {                                                                                                                   \
    OPCODE, "noComplete [release&cta] [cta&release] [$shared] b64", "state=b64_, [mbarrier:by], count:u32", { 7, 0 }  \
  }

namespace {

constexpr Form kForms[] = {
    {"mbarrier.init", "[$shared] b64", "[mbarrier:by], count:u32", {7, 0}},
    {"mbarrier.inval", "[$shared] b64", "[mbarrier:by]", {7, 0}},
    {"mbarrier.expect_tx", RELAXED "[$all_shared] b64", "[mbarrier:by], tx_count:u32", {8, 0}, kSm90},
    {"mbarrier.complete_tx", RELAXED "[$all_shared] b64", "[mbarrier:by], tx_count:u32", {8, 0}, kSm90},
    ARRIVE_ROWS("mbarrier.arrive"),
    ARRIVE_ROWS("mbarrier.arrive_drop"),
    {"mbarrier.test_wait", WAITS "[$shared] b64", "done=pred, [mbarrier:by], state:b64", {7, 0}},
    {"mbarrier.test_wait", "parity " WAITS "[$shared] b64", "done=pred, [mbarrier:by], parity:u32(0|1)", {7, 1}},
    {"mbarrier.try_wait", WAITS "[$shared] b64", "done=pred, [mbarrier:by], state:b64, time_limit:u32?", {7, 8}, kSm90},
    {"mbarrier.try_wait",
     "parity " WAITS "[$shared] b64",
     "done=pred, [mbarrier:by], parity:u32(0|1), time_limit:u32?",
     {7, 8},
     kSm90},
    {"mbarrier.pending_count", "b64", "count=b32, state:b64", {7, 0}},
    {"cp.async.mbarrier.arrive", "[noinc] [$shared] b64", "[mbarrier:by]", {7, 0}},
};

}  // namespace

std::span<const Form> mbarrier_forms() { return kForms; }

}  // namespace tinygpu::ptx::forms
