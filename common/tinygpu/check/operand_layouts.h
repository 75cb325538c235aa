// Operands of tcgen05.mma and wgmma in shared memory: whether an operation reads them as they were written. A matrix
// descriptor with another legal layout breaks no rule of the PTX ISA; what it makes the tensor core read tells. Of
// bytes that a tensor copy has brought, the tensor's coordinates say what each one is. Of all others it is known how
// another operation reads them, and which of them hold something else.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "common/tinygpu/check/books.h"
#include "common/tinygpu/engines/mma/matrix_descriptor.h"

namespace tinygpu::checks {

class OperandLayouts final : public Observer {
 public:
  OperandLayouts() : Observer(operations | synchronisation | shared_accesses) {}
  std::unique_ptr<Observer> another() override { return std::make_unique<OperandLayouts>(); }
  uint32_t interests_in(const LaunchConfig& launch) const override;
  void on_launch(const Launch&) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_sync(const Sync&) override;
  void on_access(const MemoryAccess&) override;

 private:
  /// What a tensor copy has brought.
  struct Fill {
    Origin who;
    uint64_t time = 0;
    std::shared_ptr<const TensorBox> box;
    uint32_t offset = 0;
  };
  /// An operand of an operation.
  struct Reading {
    Origin who;
    uint64_t time = 0;
    const char* operand = "";
    OperandLayout layout;
    /// Addresses mean the same in both.
    bool alike(const OperandLayout& o) const {
      return layout.mn_major == o.mn_major && layout.descriptor.swizzle == o.descriptor.swizzle;
    }
  };
  static constexpr uint32_t kGrain = 16;
  /// 16 bytes of shared memory. Fills and readings by their number and one; 0: none.
  struct Cell {
    uint32_t fill = 0, reading = 0;
    uint16_t row = 0, chunk = 0;  // as which it was read; of MN-major operands: the column along K, the chunk along MN
    bool mbarrier = false;
  };
  /// Of a CTA.
  struct Book {
    std::vector<Cell> cells;
    std::vector<Fill> fills;
    std::vector<Reading> readings;
    std::map<std::pair<const Op*, std::pair<uint64_t, char>>, uint32_t> looked;  // at an instruction's descriptor
    /// Where along K the operation's A begins, in elements of B; −1: not known.
    uint64_t operation = 0;
    int64_t a_begins = -1;
    Cell* cell(uint64_t offset) { return offset / kGrain < cells.size() ? &cells[offset / kGrain] : nullptr; }
  };
  class Look;

  bool first(const Op* op, char operand);
  CtaBooks<Book> books_;
  std::mutex told_mutex_;
  std::set<std::pair<const Op*, char>> told_;  // once for an operand of an instruction
};

}  // namespace tinygpu::checks
