// mapa and getctarank (PTX ISA 9.7.9.22, .23). A shared::cluster address is rank << 24 | offset, and a generic address
// of the shared window holds the same 32 bits, so both instructions work on bits 31:24 of the low word.
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

namespace {

template <class T>
void exec_mapa(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  const uint32_t* rank = w.at<uint32_t>(op.b);
  const T window = T(op.imm);
  each_lane<T>(w, op.dst, [&](int i) { return T((a[i] & ~T(0xff000000)) | T(rank[i] & 0xff) << 24) | window; });
}

template <class T>
void exec_getctarank(Warp& w, const Op& op) {
  const T* a = w.at<T>(op.a);
  each_lane<uint32_t>(w, op.dst, [&](int i) { return uint32_t(a[i]) >> 24; });
}

void decode_mapa(Decoder& d, Op& op) {
  const bool wide = d.inst->has("u64");
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), wide ? ptx::Type::u64 : ptx::Type::u32);
  op.b = d.src(d.operand(2), ptx::Type::u32);
  // A shared variable's name stands for its shared address; the generic 64-bit form makes it generic.
  if (wide && !d.inst->has("shared::cluster") && d.operand(1).kind == ptx::Operand::Kind::symbol)
    op.imm = int64_t(kSharedWindow);
  op.fn = wide ? exec_mapa<uint64_t> : exec_mapa<uint32_t>;
}

void decode_getctarank(Decoder& d, Op& op) {
  const bool wide = d.inst->has("u64");
  op.dst = d.dst(d.operand(0));
  op.a = d.src(d.operand(1), wide ? ptx::Type::u64 : ptx::Type::u32);
  op.fn = wide ? exec_getctarank<uint64_t> : exec_getctarank<uint32_t>;
}

constexpr Entry kClusterTable[] = {
    {Opcode::mapa, decode_mapa},
    {Opcode::getctarank, decode_getctarank},
};

}  // namespace

Table cluster_table() { return {std::begin(kClusterTable), std::end(kClusterTable)}; }

}  // namespace tinygpu::isa
