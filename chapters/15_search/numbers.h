// What the tiny machine knows of a B200: numbers of probes/machines/b200.json, each behind its name there. A test
// compares them. `gen5 machine b200` says where each comes from; many are estimates. In cycles of an SM, or bytes a
// cycle.
#pragma once
#include <cstdint>

namespace tiny {

using Cycles = double;

// TMA: a load.
constexpr Cycles kLoadIssue = 110;    // tma.issue.load
constexpr Cycles kLoadLatency = 470;  // tma.latency
constexpr Cycles kFarther = 385;      // tma.dram.128
constexpr double kLoadBytes = 119;    // mem.sm.bytes_per_cycle
constexpr double kGpcBytes = 1398;    // mem.gpc.bytes_per_cycle
constexpr double kGpcs = 8;           // chip.gpcs
// TMA: a store.
constexpr Cycles kStoreIssue = 14;    // tma.issue.store
constexpr Cycles kStoreLatency = 51;  // tma.store.latency
constexpr double kStoreBytes = 32;    // tma.store.bytes_per_cycle
constexpr double kWriteBytes = 5950;  // mem.l2.write_bytes_per_cycle
// mbarriers.
constexpr Cycles kExpect = 27;     // mbarrier.arrive.release
constexpr Cycles kArrive = 8;      // mbarrier.arrive
constexpr Cycles kWaitPasses = 7;  // mbarrier.try_wait.ready
constexpr Cycles kWake = 27;       // mbarrier.wake
// The tensor core: columns of D a cycle, operand bytes a cycle, and from the last MMA to the arrival.
constexpr double kMmaColumns = 2;     // tcgen05.mma.columns_per_cycle
constexpr double kMmaBytes = 128;     // tcgen05.mma.smem_bytes_per_cycle
constexpr Cycles kMmaLatency = 136;   // tcgen05.mma.fixed.ss.cg1.m128
constexpr Cycles kPairLatency = 170;  // tcgen05.mma.fixed.ss.cg2.m256
// The epilogue.
constexpr Cycles kReadColumn = 2.125;  // tcgen05.ld.per_register
constexpr Cycles kReadLatency = 30;    // tcgen05.ld.latency
constexpr double kSharedBytes = 128;   // mem.shared.bytes_per_cycle
constexpr Cycles kFence = 33;          // fence.cta
// A launch: to the first CTA, its first access to memory (the second of them times the SMs), and the end.
constexpr Cycles kLaunch = 1560;      // launch.latency
constexpr Cycles kFirstCta = 300;     // launch.cta
constexpr Cycles kParameters = 73;    // launch.parameters
constexpr Cycles kTranslate = 480;    // launch.translation
constexpr Cycles kTranslateSm = 2.3;  // launch.translation.sm
constexpr Cycles kMapFetch = 300;     // tma.descriptor_fetch
constexpr Cycles kAllocate = 253;     // tcgen05.alloc
constexpr Cycles kNextCta = 312;      // launch.cta_refill
constexpr Cycles kEnd = 950;          // launch.end

// What there is: SMs, and bytes of shared memory that a CTA can have, that an SM has, and that each CTA costs besides.
constexpr uint32_t kSms = 148;              // device.sms
constexpr uint32_t kSharedOfCta = 232448;   // device.shared_per_block_optin
constexpr uint32_t kSharedOfSm = 233472;    // device.shared_per_sm
constexpr uint32_t kSharedReserved = 1024;  // device.reserved_shared_per_block

}  // namespace tiny
