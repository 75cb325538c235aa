// tcgen05.mma, .mma.sp, .mma.ws, .mma.ws.sp (PTX ISA 9.7.16.10): each executing thread issues one.
// engines/mma/tensor_mma.h executes it.
//   [d], a-desc | [a], b-desc {, [metadata]}, idesc {, disable-output-lane vector}, enable-input-d {, scale-input-d}
//   [d], a-desc | [a], b-desc {, [metadata]}, idesc, [scale-A], [scale-B], enable-input-d        (.block_scale)
//   [d], a-desc | [a], b-desc {, [metadata]}, idesc, enable-input-d {, zero-column-mask}         (.ws)
#include "common/tinygpu/engines/mma/tensor_mma.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/tcgen05.h"

namespace tinygpu::isa {
namespace {

struct Tcgen05Details {
  MmaKind kind;
  MmaRequest::Collector collector;
  uint8_t buffer;  // of the collector
  uint8_t cta_group;
  uint8_t scales;  // factors a row
  uint8_t scale;   // scale-input-d
  bool sparse, weight_stationary, a_in_tmem, shift_a, masked;
  uint32_t d_offset, a_offset, metadata_offset, scale_a_offset, scale_b_offset;  // of the addresses
};

/// Places in Op::list. Operands that an instruction lacks have kNoSlot.
enum Slot : uint32_t { kEnable, kMetadata, kScaleA, kScaleB, kZeroColumns, kMask };

void mma(Warp& w, const Op& op) {
  MmaRequest r;
  const Tcgen05Details& details = op.get<Tcgen05Details>();
  r.kind = details.kind;
  r.cta_group = details.cta_group;
  r.sparse = details.sparse;
  r.weight_stationary = details.weight_stationary;
  r.a_in_tmem = details.a_in_tmem;
  r.shift_a = details.shift_a;
  r.masked = details.masked;
  r.scales = details.scales;
  r.scale = details.scale;
  r.collector = details.collector;
  r.buffer = details.buffer;
  for_lanes(w.exec(), [&](int lane) {
    const auto word = [&](uint32_t slot) { return w.at<uint32_t>(slot)[lane]; };
    r.d = word(op.a) + details.d_offset;
    r.a = r.a_in_tmem ? word(op.b) + details.a_offset : w.at<uint64_t>(op.b)[lane];
    r.b = w.at<uint64_t>(op.c)[lane];
    r.idesc = word(op.d);
    r.accumulate = w.pred(op.list[kEnable]) >> lane & 1;
    if (r.sparse) r.metadata = word(op.list[kMetadata]) + details.metadata_offset;
    if (r.scales) {
      r.scale_a = word(op.list[kScaleA]) + details.scale_a_offset;
      r.scale_b = word(op.list[kScaleB]) + details.scale_b_offset;
    }
    if (op.list[kZeroColumns] != kNoSlot) r.zero_columns = w.at<uint64_t>(op.list[kZeroColumns])[lane];
    if (r.masked)
      for (uint32_t i = 0; i < 4 * r.cta_group; ++i) r.disable_lane[i] = word(op.list[kMask + i]);
    issue_mma(w.cta(), w.partition(), origin_of(w, lane), r, w.time());
    const uint64_t room = TensorCore::of(w.cta(), r.cta_group).room_at(w.time(), w.timing().mma.value().queue);
    if (room > w.time()) w.charge(room - w.time());
  });
}

/// Scale factors a row: .scale_vec::NX says N, .blockN how many elements share one. Without either it is .block32.
uint8_t scales_of(const ptx::Instruction& in, MmaKind kind) {
  if (!info(kind).block_scaled()) return 0;
  if (in.has("scale_vec::4X") || in.has("block16")) return 4;
  return kind == MmaKind::mxf8f6f4 ? 1 : 2;
}

MmaRequest::Collector collector_of(std::string_view usage) {
  using Collector = MmaRequest::Collector;
  return usage == "fill"      ? Collector::fill
         : usage == "use"     ? Collector::use
         : usage == "lastuse" ? Collector::lastuse
                              : Collector::discard;
}

void decode_mma(Decoder& d, Op& op, bool sparse, bool weight_stationary) {
  const ptx::Instruction& in = *d.inst;
  const auto kind = mma_kind_from(in.after("kind::"));
  if (!kind) d.not_modelled();
  finish(d, op, mma, CostClass::async_issue);
  Tcgen05Details details{};
  details.kind = *kind;
  details.cta_group = cta_group_of(d);
  details.sparse = sparse;
  details.weight_stationary = weight_stationary;
  details.scales = scales_of(in, *kind);
  details.shift_a = in.has("ashift");
  details.collector = collector_of(in.after("collector::a::"));
  for (uint8_t b = 0; b < 4 && weight_stationary; ++b)
    if (const std::string_view usage = in.after("collector::b" + std::to_string(b) + "::"); !usage.empty()) {
      details.collector = collector_of(usage);
      details.buffer = uint8_t(1 + b);
    }
  if (weight_stationary && !details.buffer) details.buffer = 1;  // .collector::b0::discard

  const auto address = [&](std::string_view name, uint32_t& offset) {
    const AddressOperand at = d.address(d.operand(name));
    offset = uint32_t(at.offset);
    return at.base;
  };
  std::vector<uint32_t> list(kMask, kNoSlot);
  op.a = address("d", details.d_offset);
  details.a_in_tmem = d.operand("a").kind == ptx::Operand::Kind::address;
  op.b = details.a_in_tmem ? address("a", details.a_offset) : d.src(d.operand("a"), ptx::Type::b64);
  op.c = d.src(d.operand("b"), ptx::Type::b64);
  if (sparse) list[kMetadata] = address("metadata", details.metadata_offset);
  op.d = d.src(d.operand("idesc"), ptx::Type::b32);
  if (details.scales) {
    list[kScaleA] = address("scale_a", details.scale_a_offset);
    list[kScaleB] = address("scale_b", details.scale_b_offset);
  }
  if (const ptx::Operand* mask = d.find("disable_output_lane")) {
    for (const ptx::Operand& e : mask->elems) list.push_back(d.src(e, ptx::Type::b32));
    details.masked = true;
  }
  list[kEnable] = d.pred(d.operand("enable_input_d"));
  if (const ptx::Operand* mask = d.find("zero_column_mask")) list[kZeroColumns] = d.src(*mask, ptx::Type::b64);
  if (const ptx::Operand* scale = d.find("scale_input_d")) details.scale = uint8_t(scale->bits & 15);
  // No document says how an integer accumulator is scaled: the assembler accepts it, the manual describes floats only.
  if (details.scale && *kind == MmaKind::i8)
    d.not_modelled("scale-input-d with kind::i8: the assembler takes it, and the manual has it for f16 and tf32 alone");
  d.set_list(op, list);
  op.set(details);
}

template <bool sparse, bool weight_stationary>
void decode(Decoder& d, Op& op) {
  decode_mma(d, op, sparse, weight_stationary);
}

constexpr Entry kTcgen05MmaTable[] = {
    {Opcode::tcgen05_mma, decode<false, false>},
    {Opcode::tcgen05_mma_sp, decode<true, false>},
    {Opcode::tcgen05_mma_ws, decode<false, true>},
    {Opcode::tcgen05_mma_ws_sp, decode<true, true>},
};

}  // namespace

Table tcgen05_mma_table() { return {kTcgen05MmaTable}; }

}  // namespace tinygpu::isa
