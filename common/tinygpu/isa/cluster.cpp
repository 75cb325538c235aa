// mapa and getctarank (PTX ISA 9.7.9.22, .23). A shared::cluster address is rank << 24 | offset, and a generic address
// of the shared window holds the same 32 bits, so both instructions work on bits 31:24 of the low word.
#include "common/tinygpu/isa/lanewise.h"

namespace tinygpu::isa {

namespace {

constexpr auto mapa = []<class T>(T a, uint32_t rank) { return T((a & ~T(0xff000000)) | T(rank & 0xff) << 24); };
uint64_t mapa_generic(uint64_t a, uint32_t rank) { return mapa(a, rank) | kSharedWindow; }
constexpr auto getctarank = []<class T>(T a) { return uint32_t(a) >> 24; };

void decode_rank(Decoder& d, Op& op) {
  // A shared variable's name stands for its shared address; the generic 64-bit form makes it generic.
  const bool generic = d.inst->has("u64") && !d.inst->has("shared::cluster");
  if (d.inst->opcode == Opcode::mapa && generic && d.operand("address").kind == ptx::Operand::Kind::symbol)
    return decode_lanewise(d, op, lanewise<mapa_generic>, CostClass::alu);
  decode_form(d, op);
  op.cost = CostClass::alu;
}

constexpr Entry kClusterTable[] = {{Opcode::mapa, decode_rank}, {Opcode::getctarank, decode_rank}};
constexpr LanewiseForm kClusterForms[] = {
    {Opcode::mapa, "", by_width<mapa>, CostClass::alu},
    {Opcode::getctarank, "", by_width<getctarank>, CostClass::alu},
};

}  // namespace

Table cluster_table() { return {kClusterTable, kClusterForms}; }

}  // namespace tinygpu::isa
