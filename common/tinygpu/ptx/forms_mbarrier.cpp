// mbarrier (PTX ISA 9.7.13.15). A scope needs an order beside it and the other way round; in .shared::cluster an arrive
// returns nothing.
#include "common/tinygpu/ptx/forms.h"

namespace tinygpu::ptx::forms {

using enum Opcode;

// A table reads by its columns.
// clang-format off
#define RELAXED "[relaxed&cta|cluster] [cta|cluster&relaxed] "
#define RELEASE "[release&cta|cluster] [cta|cluster&release] "
#define ACQUIRE "[acquire&cta|cluster] [cta|cluster&acquire] "

#define ARRIVE_ROWS(OPCODE)                                                                                                       \
  {OPCODE, RELEASE "[$shared] b64", "state=u64_, [mbarrier:by], count:u32(1..4294967295)?", {8, 0}, kSm90},                       \
  {OPCODE, RELEASE "shared::cluster b64", "_=sink, [mbarrier:shared], count:u32(1..4294967295)?", {8, 0}, kSm90},                 \
  {OPCODE, "expect_tx " RELEASE "[$shared] b64", "state=u64_, [mbarrier:by], tx_count:u32", {8, 0}, kSm90},                       \
  {OPCODE, "expect_tx " RELEASE "shared::cluster b64", "_=sink, [mbarrier:shared], tx_count:u32", {8, 0}, kSm90},                 \
  {OPCODE, "relaxed cta|cluster [$shared] b64", "state=u64_, [mbarrier:by], count:u32(1..4294967295)?", {8, 6}, kSm90},           \
  {OPCODE, "relaxed cta|cluster shared::cluster b64", "_=sink, [mbarrier:shared], count:u32(1..4294967295)?", {8, 6}, kSm90},     \
  {OPCODE, "expect_tx relaxed cta|cluster [$shared] b64", "state=u64_, [mbarrier:by], tx_count:u32", {8, 6}, kSm90},              \
  {OPCODE, "expect_tx relaxed cta|cluster shared::cluster b64", "_=sink, [mbarrier:shared], tx_count:u32", {8, 6}, kSm90},        \
  {OPCODE, "noComplete [release&cta] [cta&release] [$shared] b64", "state=u64_, [mbarrier:by], count:u32(1..4294967295)", {7, 0}}

#define WAIT_ROWS(OPCODE, TIME, SINCE, TARGETS)                                                                                \
  {OPCODE, ACQUIRE "[$shared] b64", "done=pred, [mbarrier:by], state:u64" TIME, SINCE, TARGETS},                               \
  {OPCODE, "relaxed cta|cluster [$shared] b64", "done=pred, [mbarrier:by], state:u64" TIME, Version{8, 6}, kSm90},             \
  {OPCODE, "parity " ACQUIRE "[$shared] b64", "done=pred, [mbarrier:by], parity:u32(0|1)" TIME, SINCE, TARGETS},               \
  {OPCODE, "parity relaxed cta|cluster [$shared] b64", "done=pred, [mbarrier:by], parity:u32(0|1)" TIME, Version{8, 6}, kSm90}

// Waits of PTX 9.3, which name a phase and may take what it reports.
#define SEMANTICS "[acquire|relaxed&cta|cluster] [cta|cluster&acquire|relaxed] [$shared] b64"
#define REPORTS "done=pred|?reported=pred_, report=b8, "
#define PHASE_ROWS(OPCODE, TIME)                                                                                                      \
  {OPCODE, "phase_type::primary " SEMANTICS, "done=pred|?reported=pred_, [mbarrier:by], state:u64" TIME, {9, 3}, kSm90},              \
  {OPCODE, "phase_type::primary " SEMANTICS, REPORTS "[mbarrier:by], state:u64" TIME, {9, 3}, kSm90},                                 \
  {OPCODE, "parity phase_type::primary " SEMANTICS, "done=pred|?reported=pred_, [mbarrier:by], parity:u32(0|1)" TIME, {9, 3}, kSm90}, \
  {OPCODE, "parity phase_type::primary " SEMANTICS, REPORTS "[mbarrier:by], parity:u32(0|1)" TIME, {9, 3}, kSm90},                    \
  {OPCODE, "parity phase_type::conditional " SEMANTICS, "done=pred, [mbarrier:by], parity:u32(0|1)" TIME, {9, 3}, kSm90}

namespace {

constexpr Form kMbarrierForms[] = {
    {mbarrier_init, "[$shared] b64", "[mbarrier:by], count:u32", {7, 0}},
    {mbarrier_init, "layout::v0|layout::v1 [$shared] b64", "[mbarrier:by], count:u32", {9, 3}, kSm90},
    {mbarrier_check_layout, "layout::v0|layout::v1 [$shared] b64", "p=pred, [mbarrier:by]", {9, 3}, kSm90},
    {mbarrier_inval, "[$shared] b64", "[mbarrier:by]", {7, 0}},
    {mbarrier_expect_tx, RELAXED "[$all_shared] b64", "[mbarrier:by], tx_count:u32", {8, 0}, kSm90},
    {mbarrier_complete_tx, RELAXED "[$all_shared] b64", "[mbarrier:by], tx_count:u32", {8, 0}, kSm90},
    ARRIVE_ROWS(mbarrier_arrive),
    ARRIVE_ROWS(mbarrier_arrive_drop),
    WAIT_ROWS(mbarrier_test_wait, "", (Version{7, 1}), {}),
    WAIT_ROWS(mbarrier_try_wait, ", time_limit:u32?", (Version{7, 8}), kSm90),
    PHASE_ROWS(mbarrier_test_wait, ""),
    PHASE_ROWS(mbarrier_try_wait, ", time_limit:u32?"),
    {mbarrier_pending_count, "b64", "count=u32, state:u64", {7, 0}},
    {mbarrier_pending_count, "layout::v0 b64", "count=u32, state:u64", {9, 3}, kSm90},
    {cp_async_mbarrier_arrive, "[noinc] [$shared] b64", "[mbarrier:by]", {7, 0}},
};
// clang-format on

}  // namespace

std::span<const Form> mbarrier_forms() { return kMbarrierForms; }

}  // namespace tinygpu::ptx::forms
