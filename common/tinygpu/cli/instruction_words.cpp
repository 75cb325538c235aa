#include "common/tinygpu/cli/instruction_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "common/tinygpu/base/wrap.h"

namespace tinygpu::cli {
namespace {

using ptx::Opcode;

constexpr InstructionWords kWords[] = {
    // ---- mbarrier
    {Opcode::mbarrier_init,
     "Makes an mbarrier of 8 bytes of shared memory. Each of its phases ends when `count` arrivals have come and all "
     "expected bytes have landed.",
     "One thread, once for each mbarrier.",
     "It waits for nothing. Other threads may use the mbarrier behind a barrier; a copy of TMA or another CTA may "
     "signal it behind fence.mbarrier_init and a barrier.",
     "mbarrier_init", "01_mbarrier", "mbarrier.init.shared::cta.b64 [smem], 1"},
    {Opcode::mbarrier_inval, "Ends the mbarrier, so that its 8 bytes may hold something else.",
     "One thread, when no thread and no operation uses the mbarrier any more.", "It waits for nothing.",
     "mbarrier_inval", "01_mbarrier", "mbarrier.inval.shared::cta.b64 [smem]"},
    {Opcode::mbarrier_arrive,
     "Counts one arrival, or `count` of them, in the present phase, and returns the phase's state. With .expect_tx it "
     "first adds to the bytes that the phase waits for.",
     "Each thread that arrives; every active lane of a warp counts.",
     "It waits for nothing, and releases: what the thread did before is visible to threads that see the phase end.",
     "mbarrier_arrive, mbarrier_arrive_expect_tx", "01_mbarrier", "mbarrier.arrive.shared::cta.b64 %rd1, [smem]"},
    {Opcode::mbarrier_arrive_drop, "Arrives, and takes the thread out of the count of all later phases.",
     "Each thread that leaves.", "It waits for nothing, and releases as mbarrier.arrive does.", "mbarrier_arrive_drop",
     "01_mbarrier", "mbarrier.arrive_drop.shared::cta.b64 %rd1, [smem]"},
    {Opcode::mbarrier_expect_tx, "Adds to the bytes that the present phase waits for; no arrival.",
     "One thread for each copy, before the phase's last arrival.", "It waits for nothing.", "mbarrier_expect_tx",
     "01_mbarrier", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [smem], 1024"},
    {Opcode::mbarrier_complete_tx, "Takes bytes off those that the phase waits for, as a copy does when it lands.",
     "One thread.", "It waits for nothing.", "mbarrier_complete_tx", "01_mbarrier",
     "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [smem], 1024"},
    {Opcode::mbarrier_test_wait,
     "Asks whether a phase has ended: the one of a state, or, with .parity, the last one of this parity.",
     "Each thread that needs to know.",
     "It does not wait. If it answers true it acquires: what those who arrived did before is visible.",
     "mbarrier_test_wait, mbarrier_test_wait_parity", "01_mbarrier",
     "mbarrier.test_wait.parity.shared::cta.b64 %p1, [smem], 0"},
    {Opcode::mbarrier_try_wait,
     "Asks the same as mbarrier.test_wait, and may suspend the thread until the phase ends or a time limit is over.",
     "Each thread that waits, in a loop: it may return false early.",
     "It waits for the phase's arrivals and bytes, but may give up. If it answers true it acquires.",
     "mbarrier_try_wait_parity, mbarrier_wait_parity (the loop)", "01_mbarrier",
     "mbarrier.try_wait.parity.shared::cta.b64 %p1, [smem], 0"},
    {Opcode::mbarrier_pending_count, "Reads from a state how many arrivals were missing then.",
     "Any thread that has the state.", "It waits for nothing.", "mbarrier_pending_count", "01_mbarrier",
     "mbarrier.pending_count.b64 %r1, %rd1"},
    // ---- Copies
    {Opcode::cp_async_bulk,
     "TMA copies bytes between global and shared memory, or to another CTA's shared memory. Addresses and size are "
     "multiples of 16.",
     "One thread; each thread that executes it starts a copy of its own.",
     "The thread does not wait. A copy into shared memory is complete when its bytes are counted on the mbarrier that "
     "it names; one out of shared memory belongs to the thread's bulk group (cp.async.bulk.wait_group). What threads "
     "have written needs fence.proxy.async before it.",
     "bulk_load, bulk_store, bulk_copy_to_cluster", "02_bulk_tensor",
     "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [smem], [%rd1], 1024, [smem]"},
    {Opcode::cp_async_bulk_tensor,
     "TMA copies a box of a tensor that a tensor map describes. Parts of the box outside the tensor are zero in shared "
     "memory, and are not written in global memory.",
     "One thread; each thread that executes it starts a copy of its own.",
     "The thread does not wait. A load is complete when the whole box's bytes are counted on its mbarrier; a store "
     "belongs to the thread's bulk group. What threads have written needs fence.proxy.async before it.",
     "tensor_load_2d, tensor_store_2d, tensor_load_2d_multicast", "02_bulk_tensor",
     "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1, %r2}], [smem]"},
    {Opcode::cp_async_bulk_prefetch, "Asks for bytes of global memory to be brought into L2.", "One thread.",
     "The thread does not wait, and nothing tells when the bytes are there.", "", "02_bulk_tensor",
     "cp.async.bulk.prefetch.L2.global [%rd1], 1024"},
    {Opcode::cp_async_bulk_prefetch_tensor, "Asks for a box of a tensor to be brought into L2.", "One thread.",
     "The thread does not wait, and nothing tells when the box is there.", "", "02_bulk_tensor",
     "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r1, %r2}]"},
    {Opcode::cp_reduce_async_bulk,
     "TMA adds bytes of shared memory, as numbers, to what lies at the destination; also min, max, and, or, xor.",
     "One thread.", "As cp.async.bulk: a reduction into global memory belongs to the thread's bulk group.", "",
     "02_bulk_tensor", "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [smem], 1024"},
    {Opcode::cp_reduce_async_bulk_tensor,
     "TMA adds a box in shared memory to a tensor in global memory; also min, max, and, or, xor.", "One thread.",
     "The thread does not wait; the reduction belongs to its bulk group.", "tensor_reduce_add_2d", "02_bulk_tensor",
     "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {%r1, %r2}], [smem]"},
    {Opcode::cp_async_bulk_commit_group, "Makes a group of the thread's bulk operations since the last commit_group.",
     "The thread that has issued the operations.", "It waits for nothing.", "bulk_commit_group", "02_bulk_tensor",
     "cp.async.bulk.commit_group"},
    {Opcode::cp_async_bulk_wait_group,
     "Waits until at most N of the thread's bulk groups are not complete. With .read: until their sources have been "
     "read, so that shared memory may be written again.",
     "The thread that has issued the operations.", "It waits for its own groups, for no other thread's.",
     "bulk_wait_group, bulk_wait_group_read", "02_bulk_tensor", "cp.async.bulk.wait_group.read 0"},
    // ---- Fences, clusters, launches
    {Opcode::fence_proxy,
     "Orders accesses of two proxies: .async between threads' own accesses and those of TMA and the tensor core; "
     ".tensormap between writes of a tensor map and its use.",
     "Each thread whose accesses are to be seen, behind them and before it tells the thread that issues the copy or "
     "MMA.",
     "It waits for the thread's own accesses.", "fence_proxy_async, fence_proxy_async_shared", "02_bulk_tensor",
     "fence.proxy.async.shared::cta"},
    {Opcode::fence_mbarrier_init, "Publishes mbarrier.init to the other CTAs of the cluster and to the async proxy.",
     "The thread that has initialised, before the barrier behind which others use the mbarriers.",
     "It waits for nothing that takes long.", "fence_mbarrier_init", "02_bulk_tensor",
     "fence.mbarrier_init.release.cluster"},
    {Opcode::barrier_cluster_arrive, "Arrives at the barrier of all threads of the cluster.",
     "Every thread of the cluster that has not exited.",
     "It does not wait: work may stand between it and barrier.cluster.wait. It releases, but for .relaxed.",
     "barrier_cluster_arrive", "11_cta_pair", "barrier.cluster.arrive.release.aligned"},
    {Opcode::barrier_cluster_wait, "Waits until all threads of the cluster have arrived.",
     "Every thread that has arrived.", "It waits for the slowest thread of the cluster, and acquires.",
     "barrier_cluster_wait", "11_cta_pair", "barrier.cluster.wait.acquire.aligned"},
    {Opcode::elect_sync,
     "Chooses one lane of the warp, the same one each time, in a way in which the compiler sees that it is one.",
     "All lanes of its mask together.", "It waits for those lanes.", "elect_sync", "start_here",
     "elect.sync %r1|%p1, 0xffffffff"},
    {Opcode::mapa, "Turns an address in shared memory into that of the same place in another CTA of the cluster.",
     "Any thread.", "It waits for nothing.", "mapa", "11_cta_pair", "mapa.shared::cluster.u32 %r1, smem, %r2"},
    {Opcode::st_async, "Stores into another CTA's shared memory, and counts the bytes on an mbarrier there.",
     "Each thread that stores.", "The thread does not wait; who reads waits for the mbarrier.", "st_async",
     "11_cta_pair", "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3]"},
    {Opcode::griddepcontrol,
     "launch_dependents lets the next grid of the stream start before this one ends; wait stands still until the grid "
     "before has ended and its writes are visible.",
     "All CTAs of the first grid (launch_dependents: one thread of each is enough); each thread of the second that "
     "reads what the first wrote (wait).",
     "launch_dependents waits for nothing; wait for the whole grid before.",
     "griddepcontrol_launch_dependents, griddepcontrol_wait", "12_launch_control", "griddepcontrol.wait"},
    {Opcode::clusterlaunchcontrol_try_cancel,
     "Asks for a cluster that has not been started yet, to do its work here instead.", "One thread of the cluster.",
     "The thread does not wait: 16 bytes of response land in shared memory and are counted on an mbarrier.",
     "clc_try_cancel", "12_launch_control",
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [smem], [smem]"},
    {Opcode::clusterlaunchcontrol_query_cancel, "Reads from the response whether there was such a cluster, and which.",
     "Each thread that needs to know.", "It waits for nothing; the response must have landed.", "clc_query",
     "12_launch_control", "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %rq1"},
    {Opcode::setmaxnreg, "Gives registers of the warp back, or takes more.",
     "All warps of a warpgroup, each the same instruction.",
     "With .inc it waits until enough registers have been given back.", "setmaxnreg_dec, setmaxnreg_inc", "13_gemm",
     "setmaxnreg.dec.sync.aligned.u32 40"},
    // ---- Tensor Memory
    {Opcode::tcgen05_alloc,
     "Allocates columns of Tensor Memory, a power of two from 32 to 512, and writes the address of the first one into "
     "shared memory.",
     "One whole warp; with .cta_group::2 one warp in each CTA of the pair.",
     "It waits until so many columns are free. Other warps read the address behind a barrier.", "tcgen05_alloc",
     "03_tmem_alloc", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 128"},
    {Opcode::tcgen05_dealloc, "Gives columns of Tensor Memory back.",
     "One whole warp, before the CTA ends, when no operation uses the columns any more.", "It waits for nothing.",
     "tcgen05_dealloc", "03_tmem_alloc", "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128"},
    {Opcode::tcgen05_relinquish_alloc_permit,
     "Says that this CTA allocates no more, so that another CTA on the SM need not wait for it.", "One whole warp.",
     "It waits for nothing.", "tcgen05_relinquish_alloc_permit", "03_tmem_alloc",
     "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned"},
    {Opcode::tcgen05_ld,
     "Loads cells of Tensor Memory into registers. A warp reaches only the 32 lanes of its number modulo 4.",
     "One whole warp.", "It is asynchronous: the registers are there behind tcgen05.wait::ld.",
     "tcgen05_ld_32x32b, tcgen05_ld_32_floats …", "04_tmem_ld_st",
     "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2]"},
    {Opcode::tcgen05_st, "Stores registers into cells of Tensor Memory, in the same 32 lanes as tcgen05.ld.",
     "One whole warp.", "It is asynchronous: it is complete behind tcgen05.wait::st.", "tcgen05_st_32x32b …",
     "04_tmem_ld_st", "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r2], {%r1}"},
    {Opcode::tcgen05_wait, "Waits for the thread's own tcgen05.ld (::ld) or tcgen05.st (::st).", "One whole warp.",
     "It waits for what this warp has issued before; MMAs are no part of it.", "tcgen05_wait_ld, tcgen05_wait_st",
     "04_tmem_ld_st", "tcgen05.wait::ld.sync.aligned"},
    {Opcode::tcgen05_cp,
     "Copies from shared memory, by a matrix descriptor, into Tensor Memory: scale factors above all.", "One thread.",
     "The thread does not wait. MMAs that the thread issues behind it execute after it; for others tcgen05.commit "
     "tells when it is complete.",
     "tcgen05_cp", "07_tmem_cp_shift", "tcgen05.cp.cta_group::1.128x256b [%r1], %rd1"},
    {Opcode::tcgen05_shift, "Moves the rows of a matrix in Tensor Memory down by one.", "One thread.",
     "The thread does not wait; tcgen05.commit tells when it is complete.", "tcgen05_shift_down", "07_tmem_cp_shift",
     "tcgen05.shift.cta_group::1.down [%r1]"},
    // ---- Matrices
    {Opcode::tcgen05_mma,
     "Multiplies A (shared or Tensor Memory, M × K) with B (shared memory, K × N) and adds to D in Tensor Memory, or "
     "writes D where enable-input-d is false. The instruction descriptor has shape and types, the matrix descriptors "
     "have the layouts.",
     "One thread of the CTA, or of one CTA of a pair (.cta_group::2).",
     "The thread does not wait. MMAs of one shape and kind on one accumulator execute in order. tcgen05.commit tells "
     "when they are complete. A and B must have landed, and what threads wrote needs fence.proxy.async.",
     "tcgen05_mma_f16, tcgen05_mma_f8f6f4, tcgen05_mma_mxf4 …", "05_mma",
     "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1"},
    {Opcode::tcgen05_mma_sp,
     "tcgen05.mma with a sparse A: half of its elements are stored, and metadata in Tensor Memory says which.",
     "One thread.", "As tcgen05.mma.", "tcgen05_mma_sp_f16 …", "09_mma_sparse",
     "tcgen05.mma.sp.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r3], %r2, %p1"},
    {Opcode::tcgen05_mma_ws,
     "Weight-stationary MMA: B stays in a collector buffer while several A come; M is 32, 64 or 128.", "One thread.",
     "As tcgen05.mma.", "tcgen05_mma_ws_f16 …", "10_mma_ws",
     "tcgen05.mma.ws.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1"},
    {Opcode::tcgen05_commit,
     "Lets an mbarrier count one arrival when all asynchronous tcgen05 operations that the thread has issued are "
     "complete (MMAs, copies, shifts; not loads and stores of Tensor Memory).",
     "The thread that has issued them.",
     "The thread does not wait. Who waits for the mbarrier needs tcgen05.fence::after_thread_sync behind the wait.",
     "tcgen05_commit, tcgen05_commit_multicast, tcgen05_commit_pair", "05_mma",
     "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1]"},
    {Opcode::tcgen05_fence,
     "Orders tcgen05 operations with a synchronisation of threads: ::before_thread_sync those ahead of it, "
     "::after_thread_sync those behind it.",
     "Each thread on its side of the barrier or mbarrier.", "It waits for nothing that takes long.",
     "tcgen05_fence_before_thread_sync, tcgen05_fence_after_thread_sync", "04_tmem_ld_st",
     "tcgen05.fence::after_thread_sync"},
    {Opcode::wgmma_mma_async,
     "Hopper's MMA: four warps multiply A (registers or shared memory, M = 64) with B (shared memory) and add to D in "
     "registers.",
     "All four warps of a warpgroup together.",
     "It is asynchronous: D may be touched behind wgmma.commit_group and wgmma.wait_group. Registers that threads have "
     "written need wgmma.fence before it.",
     "wgmma_m64k16", "13_gemm", ""},
    {Opcode::wgmma_fence, "Orders accesses of registers by threads before wgmma.mma_async.",
     "All four warps of a warpgroup.", "It waits for the registers.", "wgmma_fence", "13_gemm",
     "wgmma.fence.sync.aligned"},
    {Opcode::wgmma_commit_group, "Makes a group of the wgmma.mma_async since the last commit_group.",
     "All four warps of a warpgroup.", "It waits for nothing.", "wgmma_commit_group", "13_gemm",
     "wgmma.commit_group.sync.aligned"},
    {Opcode::wgmma_wait_group, "Waits until at most N of the warp's wgmma groups are not complete.",
     "All four warps of a warpgroup.", "It waits for the warpgroup's own MMAs.", "wgmma_wait_group", "13_gemm",
     "wgmma.wait_group.sync.aligned 0"},
};

}  // namespace

const InstructionWords* words_of(ptx::Opcode opcode) {
  const auto found = std::ranges::find(kWords, opcode, &InstructionWords::opcode);
  return found == std::end(kWords) ? nullptr : &*found;
}

void print_words(const InstructionWords& w) {
  const auto field = [](const char* name, std::string_view text) {
    constexpr size_t kIndent = 15;
    if (!text.empty()) fmt::print("  {:<{}}{}\n", name, kIndent - 2, wrapped(text, kIndent, std::string(kIndent, ' ')));
  };
  fmt::print("{}\n\n", ptx::name_of(w.opcode));
  field("does", w.does);
  field("executed by", w.executed);
  field("waits", w.waits);
  field("in CUDA", w.wrapper);
  field("chapter", w.chapter);
  if (!w.example.empty() && w.example != ptx::name_of(w.opcode))
    fmt::print("  example      gen5 explain '{}'\n", w.example);
  fmt::print("\n`gen5 isa {}` lists its forms\n", ptx::name_of(w.opcode));
}

}  // namespace tinygpu::cli
