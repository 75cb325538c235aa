// How an MMA spreads over CTAs, lanes and columns: the data-path layouts A to G (PTX ISA 9.7.16.10.5, as CUTLASS names
// them; notes/evidence.md says what each rests on).
#pragma once
#include <array>
#include <cstdint>

#include "common/tinygpu/engines/mma/instruction_descriptor.h"
#include "common/tinygpu/engines/tmem/tensor_memory.h"

namespace tinygpu {

/// Cells that an operand takes in one CTA: four rectangles at most.
class TmemRects {
 public:
  void add(const TmemRect& r) { all_[count_++] = r; }
  const TmemRect* begin() const { return all_.data(); }
  const TmemRect* end() const { return all_.data() + count_; }

 private:
  std::array<TmemRect, 4> all_;
  uint32_t count_ = 0;
};

/// Each CTA computes `rows` rows of D in `parts` parts: part p multiplies by `columns` columns of B. The lanes of A and
/// of sparse metadata in Tensor Memory are D's.
struct DataPath {
  char layout = 'D';
  uint32_t ctas = 1;
  uint32_t rows = 0;  // of D, and of A, in a CTA
  uint32_t parts = 1;
  uint32_t columns = 0;      // of D in a part
  uint32_t group_step = 16;  // lanes from 16 rows to the next 16: 32 where half of each partition is used (C, F)
  uint32_t bank_step = 0;    // lanes from a part to the next, in the same columns (B, E, G); 0: parts lie side by side

  static DataPath of(const InstructionDescriptor& d, const MmaForm& form) {
    DataPath p;
    p.ctas = uint32_t(form.cta_group);
    p.rows = d.m / p.ctas;
    p.parts = p.ctas;
    if (p.ctas == 2) {
      p.layout = d.m == 256 ? 'A' : form.sparse ? 'C' : 'B';
      if (p.layout == 'B') p.bank_step = 64;
    } else if (form.weight_stationary) {
      p.layout = d.m == 128 ? 'D' : d.m == 64 ? 'E' : 'G';
      p.parts = 128 / d.m;
      if (p.parts > 1) p.bank_step = d.m;
    } else {
      p.layout = d.m == 128 ? 'D' : 'F';
    }
    if (p.layout == 'C' || p.layout == 'F') p.group_step = 32;
    p.columns = d.n / p.parts;
    return p;
  }

  bool halves() const { return group_step == 32; }
  /// Copies of A in Tensor Memory, and of metadata: one for each bank.
  uint32_t copies() const { return bank_step ? parts : 1; }
  /// Lane of row 16 `i` of part `p`, relative to the address.
  uint32_t lane(uint32_t p, uint32_t i) const { return p * bank_step + i * group_step; }
  /// First column of part `p`, relative to the address.
  uint32_t column(uint32_t p) const { return bank_step ? 0 : p * columns; }
  /// The CTA whose shared memory holds part `p`'s columns of B, and which of that CTA's is the first.
  uint32_t b_cta(uint32_t p) const { return ctas == 2 ? p : 0; }
  uint32_t b_first(uint32_t p) const { return ctas == 2 ? 0 : p * columns; }
  /// Columns of B in a CTA's shared memory.
  uint32_t b_columns() const { return ctas == 2 ? columns : parts * columns; }
  /// Columns of Tensor Memory that D takes. ptxas -g-tmem-access-check asks for N whatever the layout; only these are
  /// touched.
  uint32_t width() const { return bank_step ? columns : parts * columns; }
  /// Lanes from the first to the last.
  uint32_t height() const { return halves() ? 112 : 128; }

  /// The cells of D in one CTA, or of A or metadata, `columns_` wide.
  TmemRects rects(TmemAddress at, uint32_t columns_) const {
    TmemRects r;
    if (!halves())
      r.add({at.lane, height(), at.column, columns_});
    else
      for (uint32_t p = 0; p < 4; ++p) r.add({at.lane + 32 * p, 16, at.column, columns_});
    return r;
  }
};

}  // namespace tinygpu
