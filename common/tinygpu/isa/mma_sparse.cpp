// mma.sp.sync (PTX ISA 9.7.14.6): A holds half of a row's elements, metadata says which.
//   mma.sp{::ordered_metadata}.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 d, a, b, c, metadata, selector
// The registers are the dense instruction's, with half of A; a sum takes the stored elements as a dense one takes all.
#include <span>

#include "common/tinygpu/engines/mma/mma_statistics.h"
#include "common/tinygpu/engines/mma/register_metadata.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/mma_pieces.h"
#include "common/tinygpu/numerics/fused_sum.h"

namespace tinygpu::isa {

namespace {

enum class Sum : uint8_t { f32, f16, fp8, integer };

/// Op: list = D, A, B, C; op.a: metadata.
struct SparseDetails : MmaDetails {
  Sum sum;
  uint8_t selector;
};
static_assert(sizeof(SparseDetails) <= Op::kDetails);

/// One sum of A's elements and the elements of B that they meet.
uint32_t sum_of(const SparseDetails& k, std::span<const uint32_t> a, std::span<const uint32_t> b, uint32_t c) {
  switch (k.sum) {
    case Sum::f32: return numerics::fused_sum(numerics::kSumF32, k.a, k.b, a, b, {true, c, 0});
    case Sum::f16: return numerics::fused_sum(numerics::kSumF16, k.a, k.b, a, b, {true, c, 0});
    case Sum::fp8: return fp8_sum(false, k.a, k.b, a, b, c);
    case Sum::integer: break;
  }
  int64_t sum = int32_t(c);
  for (size_t i = 0; i < a.size(); ++i)
    sum += integer_element(a[i], k.bits, k.a_signed) * integer_element(b[i], k.bits, k.b_signed);
  return integer_result(sum, k.saturate);
}

void mma_sparse(Warp& w, const Op& op) {
  if (!w.converged(w.live())) return;
  const SparseDetails& k = op.get<SparseDetails>();
  const PieceLayout& l = k.layout;
  MmaStatistics::count(w.cta(), MatrixFamily::mma_sync, l.m, kPieceN, l.k);
  MmaRegisters r;
  take_registers(w, op.list, l, r);
  const uint32_t there = l.k / 2u;
  uint32_t a[kPieceM][kMostK], b[kPieceN][kMostK];
  gather_a<uint32_t>(r, l, k.bits, a);
  gather_b<uint32_t>(r, l, k.bits, b);
  uint8_t place[kPieceM][kMostSparse];
  const bool halves = k.bits == 32;
  if (halves)
    sparse_halves(w.at<uint32_t>(op.a), k.selector, l.k, place);
  else
    sparse_places(w.at<uint32_t>(op.a), k.selector, k.bits, l.k, place);
  const auto one = [&](uint32_t row, uint32_t column, uint32_t c) {
    const auto half = [&](uint32_t h) { return b[column][h / 2] >> (16 * (h % 2)) & 0xffff; };
    uint32_t met[kMostSparse];
    for (uint32_t i = 0; i < there; ++i)
      met[i] = halves ? half(place[row][2 * i]) | half(place[row][2 * i + 1]) << 16 : b[column][place[row][i]];
    return sum_of(k, {a[row], there}, {met, there}, c);
  };
  if (k.sum == Sum::f16)
    each_result_pair(r, l, one);
  else
    each_result<uint32_t>(r, l, one);
  if (k.sum != Sum::integer) MmaStatistics::count_scalar(w.cta(), kPieceM * kPieceN);
  put_results(w, op.list, l.d, false, r);
}

void decode_mma_sparse(Decoder& d, Op& op) {
  SparseDetails k{};
  decode_piece(d, op, k);
  const std::string_view result = matrix_types(*d.inst)[0];
  k.sum = result == "s32" ? Sum::integer : result == "f16" ? Sum::f16 : k.bits == 8 ? Sum::fp8 : Sum::f32;
  op.a = d.src(d.operand("metadata"), ptx::Type::b32);
  k.selector = uint8_t(d.operand("selector").bits);
  op.set(k);
  op.fn = mma_sparse;
}

constexpr Entry kMmaSparseTable[] = {{Opcode::mma_sp_sync, decode_mma_sparse}};

}  // namespace

Table mma_sparse_table() { return {kMmaSparseTable}; }

}  // namespace tinygpu::isa
