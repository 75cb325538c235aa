// Linear bulk copies and bulk groups: cp.async.bulk, cp.reduce.async.bulk, cp.async.bulk.prefetch.L2,
// cp.async.bulk.commit_group, cp.async.bulk.wait_group (PTX ISA 9.7.9.25.4, .27.2).
#include "common/tinygpu/isa/bulk_operands.h"
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

namespace {

// Op::list: destination, source, the mbarrier if there is one, the slots of .ignore_oob's two operands. Op::b: bytes.
// Op::c: multicast mask or byte mask.
constexpr uint32_t kDestination = 0, kSource = kAddressWords, kMbarrier = 2 * kAddressWords,
                   kIgnored = 3 * kAddressWords;

uint32_t checked_bytes(Warp& w, const Op& op, int lane) {
  const uint32_t bytes = w.at<uint32_t>(op.b)[lane];
  if (bytes % 16)
    w.report(Severity::error, "bulk-size",
             fmt::format("a bulk copy of {} bytes, which is not a multiple of 16: hardware copies and counts {}", bytes,
                         bytes & ~15u),
             "round the size up to a multiple of 16 bytes, on both sides and in expect_tx", lane);
  return bytes & ~15u;
}

uint64_t global_address(Warp& w, const uint32_t* words, int lane) {
  const uint64_t address = address_at(w, words, lane);
  if (address % 16)
    w.fault(FaultKind::misaligned_address, "bulk-misaligned",
            fmt::format("a bulk copy at global address {:#x}, which is not a multiple of 16", address),
            "bulk copies move whole 16-byte pieces: align the pointer", lane);
  return address;
}

/// The bytes at either end that .ignore_oob lets lie outside of memory.
BulkEngine::Ignored ignored(Warp& w, const Op& op, int lane) {
  if (op.list_size <= kIgnored) return {};
  const BulkEngine::Ignored given{w.at<uint32_t>(op.list[kIgnored])[lane], w.at<uint32_t>(op.list[kIgnored + 1])[lane]};
  if (std::max(given.left, given.right) > 15)
    w.report(Severity::error, "bulk-size",
             fmt::format("a bulk copy that ignores {} bytes at its beginning and {} at its end, which PTX leaves "
                         "undefined above 15",
                         given.left, given.right),
             "ignore 0 to 15 bytes at either end, as many as the size is rounded up by", lane);
  return {given.left & 15, given.right & 15};
}

void exec_load(Warp& w, const Op& op) {
  BulkEngine& engine = BulkEngine::of(w);
  for_lanes(w.exec(), [&](int lane) {
    const uint32_t bytes = checked_bytes(w, op, lane);
    const uint32_t to = shared_address_at(w, op.list + kDestination, lane, "a bulk copy's destination");
    const uint32_t mbarrier = shared_address_at(w, op.list + kMbarrier, lane, "a bulk copy's mbarrier");
    const uint64_t from = global_address(w, op.list + kSource, lane);
    const uint32_t mask = bulk(op).multicast ? w.at<uint16_t>(op.c)[lane] : 0;
    charge_issue(w, op, w.timing().tma.issue_bulk);
    engine.bulk_load(w, lane, from, bytes, ignored(w, op, lane), landings_of(w, op, lane, to, mbarrier, mask),
                     bulk(op).multicast);
  });
}

void exec_to_cluster(Warp& w, const Op& op) {
  BulkEngine& engine = BulkEngine::of(w);
  for_lanes(w.exec(), [&](int lane) {
    const uint32_t bytes = checked_bytes(w, op, lane);
    const uint32_t to = shared_address_at(w, op.list + kDestination, lane, "a bulk copy's destination");
    const uint32_t mbarrier = shared_address_at(w, op.list + kMbarrier, lane, "a bulk copy's mbarrier");
    const uint32_t from = own_offset(w, shared_address_at(w, op.list + kSource, lane, "a bulk copy's source"), lane,
                                     "a bulk copy's source");
    const auto landing = landings_of(w, op, lane, to, mbarrier, 0);
    charge_issue(w, op, bulk(op).reduces ? w.timing().tma.issue_bulk_reduce : w.timing().tma.issue_bulk);
    engine.bulk_to_cluster(w, lane, from, bytes, landing[0], bulk(op).reduction(), bulk(op).type);
  });
}

void exec_store(Warp& w, const Op& op) {
  BulkEngine& engine = BulkEngine::of(w);
  const bool reduces = bulk(op).reduces;
  const auto same = [&](int a, int b) {
    for (const uint32_t* address : {op.list + kDestination, op.list + kSource})
      if (address_at(w, address, a) != address_at(w, address, b)) return false;
    return w.at<uint32_t>(op.b)[a] == w.at<uint32_t>(op.b)[b] &&
           (op.c == kNoSlot || w.at<uint16_t>(op.c)[a] == w.at<uint16_t>(op.c)[b]);
  };
  for_stores(w.exec(), reduces, same, [&](uint32_t lanes) {
    const int lane = __builtin_ctz(lanes);
    const uint32_t bytes = checked_bytes(w, op, lane);
    const uint64_t to = global_address(w, op.list + kDestination, lane);
    const uint32_t from = own_offset(w, shared_address_at(w, op.list + kSource, lane, "a bulk copy's source"), lane,
                                     "a bulk copy's source");
    const uint32_t byte_mask = op.c == kNoSlot ? 0xffff : w.at<uint16_t>(op.c)[lane];
    charge_issue(w, op, reduces ? w.timing().tma.issue_bulk_reduce : w.timing().tma.issue_bulk_store);
    engine.bulk_store(w, lanes, to, from, bytes, byte_mask, bulk(op).reduction(), bulk(op).type);
  });
}

void exec_prefetch(Warp& w, const Op& op) {
  for_lanes(w.exec(), [&](int lane) {
    const uint32_t bytes = checked_bytes(w, op, lane);
    const uint64_t from = global_address(w, op.list, lane);
    if (bytes) locate(w, ptx::Space::global, from, bytes, 16, AccessKind::read, lane, "a bulk prefetch");
    // Of a range larger than L2 the end stays in L2.
    const uint64_t kept = std::min<uint64_t>(bytes, w.spec().l2_bytes);
    prefetch_lines(w, lane, [&](MemoryRequests& memory) { memory.add_lines(from + (bytes - kept), kept); });
    charge_issue(w, op, w.timing().tma.issue_bulk_prefetch);
  });
}

void exec_commit(Warp& w, const Op& op) {
  charge_issue(w, op, w.timing().tma.commit);
  BulkGroups& groups = BulkGroups::of(w);
  for_lanes(w.exec(), [&](int lane) { groups.commit(lane); });
  tell(w, Sync::Kind::commit_group);
}

struct WaitDetails {
  bool read;  // .read: sources only
};

void exec_wait(Warp& w, const Op& op) {
  BulkGroups& groups = BulkGroups::of(w);
  bool done = true;
  for_lanes(w.exec(), [&](int lane) { done &= groups.done(lane, uint32_t(op.imm), op.get<WaitDetails>().read); });
  if (!done) return w.block({BlockReason::Kind::async_group, kBulkWait, nullptr, 0, 0, 0}, true);
  charge_issue(w, op, w.timing().tma.wait);
  tell(w, Sync::Kind::wait_group, uint64_t(op.imm));
}

// ---- decoding

void decode_copy(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  const bool store = i.has("bulk_group");
  OperandList list = store ? addresses(d, {&d.operand("dst"), &d.operand("src")})
                           : addresses(d, {&d.operand("dst"), &d.operand("src"), &d.operand("mbarrier")});
  op.b = d.src(d.operand("size"), ptx::Type::u32);
  // The cache policy is a hint without effect here.
  if (const ptx::Operand* mask = d.find("mask")) {
    op.edit<BulkDetails>().multicast = true;
    op.c = d.src(*mask, ptx::Type::u16);
  }
  for (const char* end : {"ignore_left", "ignore_right"})
    if (const ptx::Operand* bytes = d.find(end)) list.push_back(d.src(*bytes, ptx::Type::u32));
  if (const ptx::Operand* mask = d.find("byte_mask")) op.c = d.src(*mask, ptx::Type::u16);
  d.set_list(op, list);
  // cp.async.bulk.DESTINATION.SOURCE: the order of the two spaces tells the direction.
  const bool from_global = !store && i.has("global");
  finish(d, op, store ? exec_store : from_global ? exec_load : exec_to_cluster, CostClass::async_issue);
}

void decode_reduce(Decoder& d, Op& op) {
  decode_copy(d, op);
  set_reduction(op, reduce_operation(*d.inst), reduce_type(d.inst->type()));
}

void decode_prefetch(Decoder& d, Op& op) {
  d.set_list(op, addresses(d, {&d.operand("src")}));
  op.b = d.src(d.operand("size"), ptx::Type::u32);
  finish(d, op, exec_prefetch, CostClass::async_issue);
}

void decode_commit(Decoder& d, Op& op) { finish(d, op, exec_commit, CostClass::async_issue); }

void decode_wait(Decoder& d, Op& op) {
  op.imm = d.operand(0).bits;
  op.set(WaitDetails{d.inst->has("read")});
  finish(d, op, exec_wait, CostClass::async_issue);
}

constexpr Entry kBulkCopyTable[] = {
    {Opcode::cp_async_bulk, decode_copy},
    {Opcode::cp_reduce_async_bulk, decode_reduce},
    {Opcode::cp_async_bulk_prefetch, decode_prefetch},
    {Opcode::cp_async_bulk_commit_group, decode_commit},
    {Opcode::cp_async_bulk_wait_group, decode_wait},
};

}  // namespace

Table bulk_copy_table() { return {kBulkCopyTable}; }

}  // namespace tinygpu::isa
