// mma.sync (PTX ISA 9.7.14.5): a warp's matrix multiply-accumulate on registers; mma_pieces.h computes it.
#include "common/tinygpu/engines/mma/mma_statistics.h"
#include "common/tinygpu/engines/mma/mma_toggle.h"
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
  if (details.bits <= 32 && MmaToggle::wants(w.cta())) {
    for (uint32_t i = 0; i < l.a; ++i) MmaToggle::operand(w.cta(), r.at<uint32_t>(r.a[i]));
    for (uint32_t i = 0; i < l.b; ++i) MmaToggle::operand(w.cta(), r.at<uint32_t>(r.b[i]));
    // Columns that follow each other lie in two registers; of f16 results, rows.
    for (uint32_t i = 0; i + 1 < l.d; i += 2)
      MmaToggle::results(
          w.cta(), 2, [&](uint32_t c) -> const uint32_t* { return r.result<uint32_t>(i + c); }, 32, 32);
  }
  put_results(w, op.list, l.d, details.bits == 64, r);
}

void decode_mma(Decoder& d, Op& op) {
  // kind::f8f6f4 changes nothing of what sm_100 has (ptxas makes the same code of e4m3 and e5m2 with it as without).
  if (d.inst->has("block_scale")) d.not_modelled();
  MmaDetails details{};
  decode_piece(d, op, details);
  op.set(details);
  op.fn = mma;
}

constexpr Entry kMmaSyncTable[] = {{Opcode::mma_sync, decode_mma}};

}  // namespace

Table mma_sync_table() { return {kMmaSyncTable}; }

}  // namespace tinygpu::isa
