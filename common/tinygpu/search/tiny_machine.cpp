#include "common/tinygpu/search/tiny_machine.h"

namespace tinygpu::search {

Numbers::Numbers(const MachineSpec& s) : sms(s.sms) {
  const auto n = [&](const char* key) { return s.number(key); };
  tma_latency = n("tma.latency") + n("tma.tensor.latency") + n("tma.far");
  tma_issue_load = n("tma.issue.load");
  tma_issue_first = n("tma.issue.first");
  tma_issue_store = n("tma.issue.store");
  tma_store_latency = n("tma.store.latency");
  tma_commit = n("tma.commit");
  tma_multicast = n("tma.multicast.latency");
  tma_outside = n("tma.multicast.outside");
  tma_bytes = n("tma.bytes_per_cycle");
  tma_rows = n("tma.rows_per_cycle");
  tma_store_bytes = n("tma.store.bytes_per_cycle");
  tma_reduce_bytes = n("tma.reduce.bytes_per_cycle");
  sm_bytes = n("mem.sm.bytes_per_cycle");
  shared_bytes = n("mem.shared.bytes_per_cycle");
  sm_store_bytes = n("mem.sm.store_bytes_per_cycle");
  dram_added = n("tma.dram.128");
  wait_ready = n("mbarrier.try_wait.ready");
  wake = n("mbarrier.wake");
  arrive = n("mbarrier.arrive");
  remote = n("mbarrier.remote_hop");
  expect = n("mbarrier.try_wait.answer") + n("mbarrier.arrive.release");
  fence = n("fence.cta");
  handover = n("fence.stored") + n("fence.gpu") + 2 * n("mem.l2.latency");
  l2_latency = n("mem.l2.latency");
  barrier = n("barrier.cta.fixed");
  barrier_warp = n("barrier.cta.per_warp");
  cluster_barrier = n("barrier.cluster.relaxed");
  launch = n("launch.latency");
  launch_cta = n("launch.cta");
  launch_refill = n("launch.cta_refill");
  launch_end = n("launch.end");
  first_access =
      n("launch.parameters") + n("launch.translation") + sms * (n("launch.parameters.sm") + n("launch.translation.sm"));
  map_fetch = n("tma.descriptor_fetch");
  claim = n("launch.control.latency");
  l2_bytes = n("mem.l2.bytes_per_cycle");
  l2_tile_bytes = n("mem.l2.tile_bytes_per_cycle");
  l2_read_least = n("mem.l2.read_least");
  l2_outside_bytes = n("tma.outside_bytes_per_cycle");
  l2_atomic_sector = n("mem.atomic.sector") / (n("mem.l2.slices") / 2);  // a unit for two slices
  l2_write_bytes = n("mem.l2.write_bytes_per_cycle");
  l2_write_least = n("mem.l2.write_least");
  fill_bytes = s.copy_bytes_per_second / (s.clock_ghz * 1e9);
  dram_bytes = n("mem.dram.bytes_per_cycle");
  dram_least = n("mem.dram.least");
  l2_lines = n("mem.l2.bytes");
  l2_keeps = l2_lines / n("mem.l2.read_copies");
  special = s.costs[size_t(CostClass::sfu)].issue;
  alu = s.costs[size_t(CostClass::alu)].issue;
  convert = s.costs[size_t(CostClass::cvt)].issue;
  const auto latency = [&](CostClass c) { return s.costs[size_t(c)].latency; };
  row = 2 * latency(CostClass::warp_sync) + 4 * latency(CostClass::alu) + 2 * latency(CostClass::fma) +
        latency(CostClass::sfu);
  if (s.has_tmem) {
    columns = n("tcgen05.mma.columns_per_cycle");
    operand_bytes = n("tcgen05.mma.smem_bytes_per_cycle");
    const Cycles observed = n("tcgen05.mma.observed");
    mma_m64 = n("tcgen05.mma.fixed.ss.cg1.m64") - observed;
    mma_m128 = n("tcgen05.mma.fixed.ss.cg1.m128") - observed;
    mma_pair = n("tcgen05.mma.fixed.ss.cg2.m256") - observed;
    pair_interval = n("tcgen05.mma.interval_fixed.ss.cg2.m256");
    mma_queue = n("tcgen05.mma.queue");
    alloc = n("tcgen05.alloc") + n("tcgen05.relinquish");
    load_fixed = n("tcgen05.ld.fixed");
    load_register = n("tcgen05.ld.per_register");
    load_latency = n("tcgen05.ld.latency");
    store_fixed = n("tcgen05.st.fixed");
    store_register = n("tcgen05.st.per_register");
    store_latency = n("tcgen05.st.latency") + n("tcgen05.wait.st");
    copy_bytes = n("tcgen05.cp.bytes_per_cycle");
    mma_tmem = n("tcgen05.mma.fixed.ts.cg1.m128") - observed;
  } else {
    columns = n("wgmma.columns_per_cycle");
    operand_bytes = n("wgmma.smem_bytes_per_cycle");
    wgmma_wait = n("wgmma.wait.ss");
    wgmma_batch = n("wgmma.batch");
    beside = n("wgmma.beside");
  }
}

TinyMachine::~TinyMachine() {
  for (std::coroutine_handle<> r : roles_) r.destroy();
}

Cycles TinyMachine::run() {
  while (!events_.empty()) {
    std::pop_heap(events_.begin(), events_.end());
    const Event e = events_.back();
    events_.pop_back();
    now_ = e.time;
    if (e.role) {
      e.role.resume();
      continue;
    }
    Barrier& b = *e.barrier;
    if (--b.pending) continue;
    b.pending = b.count;
    ++b.phases;
    for (size_t i = 0; i < b.waiting.size();) {
      if (b.wanted[i] > b.phases) {
        ++i;
        continue;
      }
      at(now_ + n_.wake, b.waiting[i]);
      b.waiting[i] = b.waiting.back();
      b.wanted[i] = b.wanted.back();
      b.waiting.pop_back();
      b.wanted.pop_back();
    }
  }
  return passed();
}

TinyMachine::State TinyMachine::state() const {
  State s;
  for (const Unit* u : {&tma_, &ingress_, &l2_, &outside_, &dram_, &tensor_, &tensor_memory_, &shared_, &store_,
                        &l2_write_, &special_, &threads_})
    s.times.push_back(std::max(0.0, u->free - now_));
  std::vector<Event> events = events_;
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return b < a; });
  for (const Event& e : events) {
    s.times.push_back(e.time - now_);
    s.marks.push_back(e.role ? reinterpret_cast<uintptr_t>(e.role.address()) : reinterpret_cast<uintptr_t>(e.barrier));
  }
  return s;
}

std::vector<Cycles> TinyMachine::sums() const {
  return {passed(), issue_, tma_.busy, ingress_.busy, l2_.busy, outside_.busy, dram_.busy, tensor_.busy};
}

void TinyMachine::add(const std::vector<Cycles>& more) {
  Cycles* const to[] = {&skipped_, &issue_,        &tma_.busy,  &ingress_.busy,
                        &l2_.busy, &outside_.busy, &dram_.busy, &tensor_.busy};
  for (size_t i = 0; i < std::size(to); ++i) *to[i] += more[i];
}

void TinyMachine::Phase::await_suspend(std::coroutine_handle<> h) {
  since = m.now_ + m.n_.wait_ready;
  if (b.phases >= phases) {
    m.at(since, h);
    return;
  }
  b.waiting.push_back(h);
  b.wanted.push_back(phases);
}

TinyMachine::Until TinyMachine::begin_cta(Cycles launched, bool cluster) {
  return {*this, launched + n_.alloc + (cluster ? n_.cluster_barrier : n_.barrier + 6 * n_.barrier_warp)};
}

TinyMachine::Until TinyMachine::load_tile(const Load& load, const Shares& shares, Barrier& full) {
  const Cycles issue = n_.expect + n_.tma_issue_first + load.requests * n_.tma_issue_load;
  issue_ += issue;
  const Cycles asked = tma_.serve(now_, load.asked);
  const Cycles pieces = load.pieces / n_.tma_rows + load.filled * n_.tma_outside;
  const Cycles taken = ingress_.serve(now_, std::max(pieces, load.bytes / std::min(n_.sm_bytes, n_.tma_bytes)));
  const Cycles l2 = l2_.serve(now_, shares.l2), dram = dram_.serve(now_, shares.dram),
               outside = outside_.serve(now_, shares.outside);
  const Cycles latency =
      n_.tma_latency + (shares.from_dram ? n_.dram_added : 0) + (load.multicast ? n_.tma_multicast : 0);
  at(std::max({asked, taken, l2, dram, outside}) + latency, full);
  return {*this, now_ + issue};
}

TinyMachine::Until TinyMachine::mma_tile(double instructions, Cycles interval, Cycles batch) {
  const Cycles end = tensor_.serve(now_, instructions * interval + batch);
  return {*this, std::max(now_ + instructions, end - n_.mma_queue * interval)};
}

TinyMachine::Until TinyMachine::load_accumulator(double registers) {
  return {*this, tensor_memory_.serve(now_, n_.load_fixed + registers * n_.load_register) + n_.load_latency};
}

TinyMachine::Until TinyMachine::store_accumulator(double registers) {
  return {*this, tensor_memory_.serve(now_, n_.store_fixed + registers * n_.store_register) + n_.store_latency};
}

Cycles TinyMachine::beside(Cycles from, Cycles takes) const {
  const Cycles slow = std::max(0.0, tensor_.free - from);
  return takes * n_.beside <= slow ? takes * n_.beside : slow + takes - slow / n_.beside;
}

TinyMachine::Until TinyMachine::work(Cycles instructions, double exponentials) {
  const auto serve = [&](Unit& unit, Cycles takes) {
    return unit.serve(now_, beside(std::max(now_, unit.free), takes));
  };
  const Cycles special = exponentials * n_.special;
  const Cycles made = exponentials > 0 ? serve(special_, special) : now_;
  return {*this, std::max(made, serve(threads_, instructions + special / 2))};
}

TinyMachine::Until TinyMachine::stage_tile(double bytes, double instructions) {
  return {*this, std::max(now_ + instructions, shared_.serve(now_, bytes / n_.shared_bytes)) + n_.fence};
}

TinyMachine::Until TinyMachine::store_tile(double bytes, double piece, bool reduces, Cycles share) {
  const Cycles l2 = l2_write_.serve(now_, share);
  if (piece > 0) {  // a sector of 32 bytes is the least
    const double sectors = std::max(bytes, bytes / piece * 32);
    // What TMA asks for goes the same way out of the SM, behind the stores.
    return {*this, tma_.serve(now_, std::max(store_.serve(now_, sectors / n_.sm_store_bytes), l2) - now_)};
  }
  store_.serve(now_, bytes / (reduces ? n_.tma_reduce_bytes : n_.tma_store_bytes));
  return {*this, now_ + n_.tma_issue_store + n_.tma_commit};
}

TinyMachine::Until TinyMachine::gather(double bytes, Cycles share) {
  return {*this, std::max(ingress_.serve(now_, bytes / n_.sm_bytes), l2_.serve(now_, share)) + n_.l2_latency};
}

TinyMachine::Until TinyMachine::wait_stored(double left) {
  const Cycles behind = std::max(store_.free, l2_write_.free) - left / n_.tma_store_bytes;
  return {*this, std::max(now_, behind + n_.tma_store_latency)};
}

}  // namespace tinygpu::search
