// mma.sync (PTX ISA 9.7.14.5): a warp's matrix multiply-accumulate on registers; mma_pieces.h computes it.
#include "common/tinygpu/engines/mma/mma_statistics.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/mma_pieces.h"
#include "common/tinygpu/machine/memory/skipped_copies.h"

namespace tinygpu::isa {

namespace {

/// All lanes of the warp together. Volta's shape: four matrices at once. Op: list = D registers, A, B, C.
void mma(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  const MmaDetails& details = op.get<MmaDetails>();
  const PieceLayout& l = details.layout;
  MmaStatistics::count(w.cta(), MatrixFamily::mma_sync, l.m, kPieceN, l.k, l.m == 8 && details.bits == 16 ? 4 : 1);
  if (w.gpu().options.timing_only) return warn_if_steering(w, "a result of mma.sync");
  MmaRegisters r;
  take_registers(w, op.list, l, r);
  MmaStatistics::count_scalar(w.cta(), details.piece(details, r));
  put_results(w, op.list, l.d, details.bits == 64, r);
}

void decode_mma(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  op.cost = CostClass::mma_sync;
  op.fn = mma;
  MmaDetails details{};
  const auto types = matrix_types(i);
  // kind::f8f6f4 changes nothing of what sm_100 has (ptxas makes the same code of e4m3 and e5m2 with it as without).
  if (!piece_shape(i, details.layout) || types.size() != 4 || i.has("block_scale")) d.not_modelled();
  if (!choose_piece(i, types, details)) d.not_modelled();
  const bool wide = details.bits == 64;
  std::vector<uint32_t> slots;
  PieceLayout& l = details.layout;
  l.d = add_registers(d, d.operand(0), true, wide, slots);
  l.a = add_registers(d, d.operand(1), false, wide, slots);
  l.b = add_registers(d, d.operand(2), false, wide, slots);
  l.c = add_registers(d, d.operand(3), false, wide, slots);
  d.set_list(op, slots);
  op.set(details);
}

constexpr Entry kMmaSyncTable[] = {{Opcode::mma_sync, decode_mma}};

}  // namespace

Table mma_sync_table() { return {std::begin(kMmaSyncTable), std::end(kMmaSyncTable)}; }

}  // namespace tinygpu::isa
