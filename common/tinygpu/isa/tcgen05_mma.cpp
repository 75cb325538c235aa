// tcgen05.mma (PTX ISA 9.7.16.10): each executing thread issues one. engines/mma/tensor_mma.h says what it does.
//   [d], a-desc | [a], b-desc, idesc {, disable-output-lane vector}, enable-input-d {, scale-input-d}
#include "common/tinygpu/engines/mma/tensor_mma.h"
#include "common/tinygpu/isa/families.h"

TINYGPU_ISA_BEGIN
namespace {

struct Details {
  MmaKind kind;
  MmaRequest::Collector collector;
  uint8_t cta_group;
  uint8_t scale;  // scale-input-d
  bool a_in_tmem, shift_a, masked;
  uint32_t d_offset, a_offset;  // of the addresses [d] and [a]
};

void mma(Warp& w, const Op& op) {
  MmaRequest r;
  const Details& details = op.get<Details>();
  r.kind = details.kind;
  r.cta_group = details.cta_group;
  r.a_in_tmem = details.a_in_tmem;
  r.shift_a = details.shift_a;
  r.masked = details.masked;
  r.scale = details.scale;
  r.collector = details.collector;
  for_lanes(w.exec(), [&](int lane) {
    r.d = w.at<uint32_t>(op.a)[lane] + details.d_offset;
    r.a = r.a_in_tmem ? w.at<uint32_t>(op.b)[lane] + details.a_offset : w.at<uint64_t>(op.b)[lane];
    r.b = w.at<uint64_t>(op.c)[lane];
    r.idesc = w.at<uint32_t>(op.d)[lane];
    r.accumulate = w.pred(op.list[0]) >> lane & 1;
    if (r.masked)
      for (uint32_t i = 0; i < 4 * r.cta_group; ++i) r.disable_lane[i] = w.at<uint32_t>(op.list[1 + i])[lane];
    issue_mma(w.cta(), w.domain(), origin_of(w, lane), r, w.time());
  });
}

/// enable-input-d: a predicate, or the literal 0 or 1.
uint32_t enable_slot(Decoder& d, const ptx::Operand& o) {
  if (o.kind != ptx::Operand::Kind::integer) return d.pred(o);
  return d.constant((o.bits != 0) != o.negated ? 0xffffffffu : 0, 4);
}

void decode(Decoder& d, Op& op) {
  const ptx::Instruction& in = *d.inst;
  const auto kind = mma_kind_from(in.after("kind::"));
  if (!kind || (*kind != MmaKind::f16 && *kind != MmaKind::tf32)) d.not_modelled();
  op.fn = mma;
  op.cost = CostClass::async_issue;
  Details details{};
  details.kind = *kind;
  details.cta_group = in.has("cta_group::2") ? 2 : 1;

  const AddressOperand at = d.address(d.operand(0));
  op.a = at.base;
  details.d_offset = uint32_t(at.offset);
  if (d.operand(1).kind == ptx::Operand::Kind::address) {
    const AddressOperand a = d.address(d.operand(1));
    details.a_in_tmem = true;
    details.a_offset = uint32_t(a.offset);
    op.b = a.base;
  } else {
    op.b = d.src(d.operand(1), ptx::Type::b64);
  }
  op.c = d.src(d.operand(2), ptx::Type::b64);
  op.d = d.src(d.operand(3), ptx::Type::b32);

  std::vector<uint32_t> list(1);
  size_t i = 4;
  if (d.operand(i).kind == ptx::Operand::Kind::vector) {
    for (const ptx::Operand& e : d.operand(i).elems) list.push_back(d.src(e, ptx::Type::b32));
    details.masked = true;
    ++i;
  }
  list[0] = enable_slot(d, d.operand(i++));
  d.set_list(op, list);
  if (d.has(i)) details.scale = uint8_t(d.operand(i).bits & 15);
  details.shift_a = in.has("ashift");

  using Collector = MmaRequest::Collector;
  const std::string_view hint = in.after("collector::a::");
  details.collector = hint == "fill"      ? Collector::fill
                      : hint == "use"     ? Collector::use
                      : hint == "lastuse" ? Collector::lastuse
                                          : Collector::discard;
  op.set(details);
}

void decode_other(Decoder& d, Op&) { d.not_modelled(); }

constexpr Entry entries[] = {
    {"tcgen05.mma", decode},
    {"tcgen05.mma.sp", decode_other},
    {"tcgen05.mma.ws", decode_other},
    {"tcgen05.mma.ws.sp", decode_other},
};

}  // namespace

Table tcgen05_mma_table() { return {std::begin(entries), std::end(entries)}; }

TINYGPU_ISA_END
