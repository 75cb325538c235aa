#include "common/tinygpu/check/operand_layouts.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "common/tinygpu/engines/tma/tensor_box.h"

namespace tinygpu::checks {
namespace {

using Place = TensorBox::Place;

/// So often is one descriptor of one instruction looked at in a CTA: a ring comes back to the same addresses.
constexpr uint32_t kLooks = 2;

std::string_view opcode_of(const Origin& who) { return who.function->instruction(*who.op).name(); }

const char* name_of(const TensorMap& m) {
  static constexpr const char* kNames[] = {"none", "32-byte", "64-byte", "128-byte", "96-byte"};
  if (m.swizzle == Swizzle::b128 && m.atomicity)
    return m.atomicity == 3 ? "128-byte with 64-byte atoms" : "128-byte with 32-byte atoms";
  return kNames[int(m.swizzle)];
}

bool same_swizzle(const TensorMap& m, SwizzleMode d) {
  switch (d) {
    case SwizzleMode::none: return m.swizzle == Swizzle::none;
    case SwizzleMode::b32: return m.swizzle == Swizzle::b32;
    case SwizzleMode::b64: return m.swizzle == Swizzle::b64;
    case SwizzleMode::b128: return m.swizzle == Swizzle::b128 && m.atomicity == 0;
    case SwizzleMode::b128_atom32: return m.swizzle == Swizzle::b128 && m.atomicity == 1;
  }
  return false;
}

/// The dimension along which b follows a: 0 where it lies `bytes` behind it along dimension 0, −1 where in none.
int step_between(const Place& a, const Place& b, int64_t bytes) {
  int step = -1;
  if (b.along != a.along) {
    if (b.along != a.along + bytes) return -1;
    step = 0;
  }
  for (int d = 1; d < 5; ++d)
    if (b.at[d] != a.at[d]) {
      if (step >= 0) return -1;
      step = d;
    }
  return step;
}

}  // namespace

/// One operand of one operation, looked at.
class OperandLayouts::Look {
 public:
  Look(OperandLayouts& checks, Book& book, const MemoryAccess& a)
      : checks_(checks),
        book_(book),
        layout_(*a.tile->layout),
        rows_(a.tile->rows),
        operand_(a.tile->operand),
        who_(*a.operation),
        time_(a.time),
        mine_(uint32_t(book.readings.size() + 1)) {
    book.readings.push_back({who_, time_, operand_, layout_});
  }

  void all() {
    if (layout_.mn_major)
      mn_major();
    else
      k_major();
    if (begins_) compare_with_a();
  }

 private:
  struct Source {
    const Fill* fill = nullptr;
    Place place;
    uint32_t address = 0;
  };
  std::optional<Source> source(uint32_t address) {
    Cell* cell = book_.cell(address);
    if (!cell || !cell->fill) return std::nullopt;
    const Fill& fill = book_.fills[cell->fill - 1];
    const auto place = fill.box->place_of(fill.offset, address);
    if (!place) return std::nullopt;
    return Source{&fill, *place, address};
  }

  std::string name_of_chunk(uint32_t row, uint32_t chunk, const OperandLayout& l) const {
    const uint32_t per = 16 / l.element_bytes;
    if (l.mn_major) return fmt::format("rows {} to {} at column {} along K", chunk * per, chunk * per + per - 1, row);
    return fmt::format("bytes {} to {} along K of row {}", 16 * chunk, 16 * chunk + 15, row);
  }
  std::string name_of_source(const Source& s) const {
    return fmt::format("{} at shared offset {:#x}", s.fill->box->name_of(s.place, 16), s.fill->offset);
  }
  std::string fields() const {
    const MatrixDescriptor& d = layout_.descriptor;
    return fmt::format("start {:#x}, LBO {}, SBO {}, swizzle {}, {}-major", d.start, d.leading, d.stride,
                       tinygpu::name_of(d.swizzle), layout_.mn_major ? "MN" : "K");
  }

  void tell(std::string what, std::string help, std::vector<LabelledPlace> others) {
    told_ = true;
    if (!checks_.first(who_.op, *operand_)) return;
    who_.report({.code = "operand-layout",
                 .severity = Severity::warning,
                 .message = fmt::format("{} of {}: {}", operand_, opcode_of(who_), what),
                 .help = std::move(help),
                 .where = who_.where(time_),
                 .label = fmt::format("its descriptor: {}", fields()),
                 .others = std::move(others)});
  }
  LabelledPlace copy_of(const Source& s) const {
    return {s.fill->who.where(s.fill->time),
            fmt::format("this copy wrote them, swizzle {}", name_of(s.fill->box->map))};
  }

  /// Bytes that a copy brought are not where the descriptor takes them to be.
  void tell_source(const std::string& what, const Source& a, const Source& b) {
    const bool swizzle = !same_swizzle(b.fill->box->map, layout_.descriptor.swizzle);
    std::vector<LabelledPlace> others{copy_of(b)};
    if (a.fill->who.op != b.fill->who.op) others.push_back(copy_of(a));
    tell(swizzle ? fmt::format("the tensor map's swizzle is {}, the descriptor's {}, and {}", name_of(b.fill->box->map),
                               tinygpu::name_of(layout_.descriptor.swizzle), what)
                 : what,
         swizzle ? "give the tensor map and the descriptor one swizzle"
                 : "compare the descriptor's start address, LBO and SBO with the box: `gen5 explain --smem-desc 0x… "
                   "--rows N` shows where each row is read",
         std::move(others));
  }

  /// A and B begin at one place, and only the step to the next bytes along K is another, as it is where tiles are plain
  /// and have other numbers of rows: one buffer is both, and its numbers are all alike.
  bool one_buffer(const Reading& other) const {
    const MatrixDescriptor &a = other.layout.descriptor, &b = layout_.descriptor;
    return *other.operand != *operand_ && a.start == b.start && a.stride == b.stride;
  }

  /// 16 bytes are read. No other operation may read them as something else, nor this one twice.
  void read(uint32_t address, uint32_t row, uint32_t chunk) {
    Cell* const cell = book_.cell(address);
    if (!cell) return;
    if (!told_ && cell->mbarrier)
      tell(fmt::format("{} are an mbarrier's (shared offset {:#x})", name_of_chunk(row, chunk, layout_), address),
           "compare the descriptor with where the operand ends", {});
    if (!told_ && cell->reading) {
      const Reading& other = book_.readings[cell->reading - 1];
      if (cell->reading == mine_)
        tell(
            fmt::format("{} and {} are the same bytes (shared offset {:#x})", name_of_chunk(row, chunk, layout_),
                        name_of_chunk(cell->row, cell->chunk, layout_), address),
            "compare LBO and SBO with how the operand was written: in K-major layouts SBO leads from eight rows to the "
            "next eight, and LBO, without swizzle, from 16 bytes along K to the next",
            {});
      else if (other.alike(layout_) && !one_buffer(other) &&
               (cell->row % 8 != row % 8 || (!layout_.mn_major && cell->chunk % 2 != chunk % 2)))
        tell(fmt::format("{} are {} for {} of another operation (shared offset {:#x})",
                         name_of_chunk(row, chunk, layout_), name_of_chunk(cell->row, cell->chunk, other.layout),
                         other.operand, address),
             "compare the start addresses, LBO and SBO of the two: the written layout can be right for only one of "
             "them",
             {{other.who.where(other.time), fmt::format("reads them as {}", other.operand)}});
    }
    cell->reading = mine_;
    cell->row = uint16_t(row);
    cell->chunk = uint16_t(chunk);
  }

  void k_major() {
    const uint32_t chunks = layout_.k_bytes / 16;
    std::optional<Source> head;  // row 0's first bytes
    int along = 0;               // the tensor's dimension that K is
    for (uint32_t row = 0; row < rows_; ++row) {
      std::optional<Source> left;
      for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
        const uint32_t address = layout_.k_major_chunk(row, chunk);
        read(address, row, chunk);
        const auto s = told_ ? std::nullopt : source(address);
        if (s && left && left->fill->box->map.base == s->fill->box->map.base) {
          const int step = step_between(left->place, s->place, 16);
          if (row == 0 && chunk == 1) along = step;
          if (step < 0)
            tell_source(fmt::format("{} are {}, and the 16 bytes before them {}", name_of_chunk(row, chunk, layout_),
                                    name_of_source(*s), name_of_source(*left)),
                        *left, *s);
        }
        if (s && chunk == 0 && row == 0) head = s;
        // Unused rows may lie in another box, at another step of the loop along K.
        if (s && head && chunk == 0 && along == 0 && s->fill->box->map.base == head->fill->box->map.base &&
            s->place.along != head->place.along &&
            (s->fill == head->fill || (s->place.along - head->place.along) % layout_.k_bytes))
          tell_source(fmt::format("row {} begins at {}, row 0 at {}: the rows of an operand begin at one place along K",
                                  row, name_of_source(*s), name_of_source(*head)),
                      *head, *s);
        left = s;
      }
    }
    if (head && along == 0 && !told_) begin(*head, head->place.along / layout_.element_bytes);
  }

  void mn_major() {
    const uint32_t per = 16 / layout_.element_bytes, chunks = rows_ / per,
                   columns = layout_.k_bytes / layout_.element_bytes;
    const uint32_t span = span_of(layout_.descriptor.swizzle) / 16;
    std::vector<std::optional<Source>> head(chunks);  // of column 0
    std::vector<int> along(chunks, -1);               // the tensor's dimension that K is
    for (uint32_t k = 0; k < columns; ++k) {
      std::optional<Source> left;
      for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
        const uint32_t address = layout_.mn_major_chunk(chunk, k);
        read(address, k, chunk);
        const auto s = told_ ? std::nullopt : source(address);
        if (s && left && chunk % span && left->fill->box->map.base == s->fill->box->map.base &&
            step_between(left->place, s->place, 16) != 0)
          tell_source(fmt::format("{} are {}, and the 16 bytes before them {}", name_of_chunk(k, chunk, layout_),
                                  name_of_source(*s), name_of_source(*left)),
                      *left, *s);
        if (s && k == 0) head[chunk] = s;
        const auto& first = head[chunk];
        if (s && k && first && s->fill->box->map.base == first->fill->box->map.base) {
          const int step = step_between(first->place, s->place, 16);
          if (k == 1) along[chunk] = step;
          if (s->fill == first->fill && s->place.along != first->place.along)
            tell_source(
                fmt::format("{} are {}, at column 0 along K {}: what follows along K lies in another row of the box",
                            name_of_chunk(k, chunk, layout_), name_of_source(*s), name_of_source(*first)),
                *first, *s);
        }
        left = s;
      }
    }
    if (!told_ && chunks && head[0] && along[0] > 0) begin(*head[0], head[0]->place.at[along[0]]);
  }

  void begin(const Source& s, int64_t k) {
    begins_ = s;
    k_ = k;
  }

  /// What is multiplied is of one place along K.
  void compare_with_a() {
    if (*operand_ == 'A') {
      book_.operation = who_.operation;
      book_.a_begins = k_;
      return;
    }
    if (book_.operation != who_.operation || book_.a_begins < 0) return;
    // Sparse, A has one of two elements of B.
    const int64_t elements = layout_.k_bytes / layout_.element_bytes, a = book_.a_begins * (layout_.k_bytes / 32);
    if ((a - k_) % elements == 0) return;
    tell(
        fmt::format("it begins at element {} of its tensor along K, and A at {}: they are no multiple of {} apart", k_,
                    a, elements),
        "compare the start addresses of the two descriptors with the boxes: one instruction's step along K is 32 bytes",
        {copy_of(*begins_)});
  }

  OperandLayouts& checks_;
  Book& book_;
  const OperandLayout& layout_;
  const uint32_t rows_;
  const char* const operand_;
  const Origin& who_;
  const uint64_t time_;
  const uint32_t mine_;
  bool told_ = false;
  std::optional<Source> begins_;
  int64_t k_ = 0;
};

uint32_t OperandLayouts::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::async_proxy) ? interests : 0;
}

void OperandLayouts::on_launch(const Launch& launch) {
  books_.clear(launch);
  told_.clear();
}

void OperandLayouts::on_cta(const Cta& cta, bool starts, uint64_t) {
  if (!starts) books_.close(cta);
}

bool OperandLayouts::first(const Op* op, char operand) {
  std::lock_guard lock(told_mutex_);
  return told_.emplace(op, operand).second;
}

void OperandLayouts::on_sync(const Sync& s) {
  if (s.kind != Sync::Kind::init && s.kind != Sync::Kind::inval) return;
  Book& book = books_.of(*s.cta);
  if (book.cells.empty()) book.cells.resize((s.cta->shared.size() + kGrain - 1) / kGrain);
  if (Cell* cell = book.cell(s.offset)) cell->mbarrier = s.kind == Sync::Kind::init;
}

void OperandLayouts::on_access(const MemoryAccess& a) {
  if (a.space != ptx::Space::shared) return;
  const bool operand = a.kind == AccessKind::read && a.tile && a.tile->layout;
  if (a.kind == AccessKind::read && !operand) return;
  Book& book = books_.of(*a.cta);
  if (book.cells.empty()) book.cells.resize((a.cta->shared.size() + kGrain - 1) / kGrain);
  if (operand) {
    uint32_t& looks = book.looked[{a.operation->op, {a.tile->layout->descriptor.raw, *a.tile->operand}}];
    if (looks == kLooks) return;
    ++looks;
    return Look(*this, book, a).all();
  }
  // Written: it is no operand any more.
  uint32_t fill = 0;
  if (a.tile && a.tile->box) {
    book.fills.push_back({*a.operation, a.time, a.tile->box, a.tile->box_offset});
    fill = uint32_t(book.fills.size());
  }
  const auto written = [&](uint64_t address, uint64_t bytes) {
    for (uint64_t at = address / kGrain; at < (address + bytes + kGrain - 1) / kGrain && at < book.cells.size(); ++at) {
      book.cells[at].fill = fill;
      book.cells[at].reading = 0;
    }
  };
  if (a.lanes && a.lanes->dense) return written(a.lanes->low, a.lanes->high - a.lanes->low);
  a.each([&](uint64_t address, uint64_t bytes, int) { written(address, bytes); });
}

}  // namespace tinygpu::checks
