#include "tests/conformance/wgmma_programs/program.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "tests/conformance/wgmma_programs/machine.h"

namespace conformance::wgmma_programs {
namespace {

using gen5::test::Random;
using What = Op::What;

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(uint32_t(0x776d + seed * 7919)) { program_.seed = seed; }

  Program make() {
    const uint32_t groups = 1 + random_.below(2);
    for (uint32_t w = 0; w < groups; ++w) {
      wg_ = {};
      books_ = {};
      slots_.clear();
      // Each warpgroup has slots of its own.
      for (uint32_t s = w; s < kSlots; s += groups) slots_.push_back(s);
      const uint32_t accumulators = 2 + random_.below(2);
      for (uint32_t i = 0; i < accumulators; ++i) {
        const Kind kind = some_new_kind();
        uint32_t n = 8 * (1 + random_.below(random_.chance(4) ? 12 : 6));
        // Integers have no odd multiples of 8 above 24.
        if (kind == Kind::s8 && n > 32) n = n / 16 * 16;
        wg_.accumulators.push_back({kind, n});
      }
      for (uint32_t s : slots_) push(fill(s));
      for (uint32_t a = 0; a < kFragments; ++a) push(load(a));
      for (uint32_t i = 0; i < accumulators; ++i) push(mma(i, false));
      for (uint32_t i = 0, n = 14 + random_.below(20); i < n; ++i) random_.chance(8) ? loop() : step();
      if (books_.open()) push({What::commit});
      push({What::wait});
      for (uint32_t i = 0; i < accumulators; ++i) push(on_accumulator(What::store, i));
      program_.warpgroups.push_back(wg_);
    }
    return program_;
  }

 private:
  Kind some_new_kind() {
    if (program_.seed < kFirstWithFp8 || random_.chance(3)) return Kind(random_.below(kKindsBeforeFp8));
    return Kind(kKindsBeforeFp8 + random_.below(kKinds - kKindsBeforeFp8));
  }
  void push(const Op& op) {
    apply(books_, op);
    wg_.ops.push_back(op);
  }
  static Op on_accumulator(What what, uint32_t i) {
    Op op{what};
    op.acc = i;
    return op;
  }
  /// A block of operands, by the kind of the whole.
  uint32_t block(Kind kind) {
    const uint32_t index = uint32_t(program_.data.size() / kSlotBytes), bytes = info(kind).element_bytes;
    const uint32_t flavours[] = {0, 0, 4, 5, 2}, flavour = flavours[random_.below(5)];
    program_.data.resize(program_.data.size() + kSlotBytes);
    uint8_t* to = &program_.data[size_t(index) * kSlotBytes];
    for (uint32_t i = 0; i < kSlotBytes; i += bytes) {
      // With two formats of one width, rows of a block take turns.
      const auto type = i / 64 % 2 ? info(kind).b_type : info(kind).a_type;
      const uint32_t v = kind == Kind::s8 ? random_() : gen5::test::pattern(random_, type, flavour, i / bytes);
      for (uint32_t b = 0; b < bytes; ++b) to[i + b] = uint8_t(v >> (8 * b));
    }
    return index;
  }
  Kind some_kind() { return wg_.accumulators[random_.below(uint32_t(wg_.accumulators.size()))].kind; }
  Op fill(uint32_t slot) {
    Op op{What::fill};
    op.tile.slot = slot;
    op.block = block(some_kind());
    return op;
  }
  Op load(uint32_t a) {
    Op op{What::load_a};
    op.a = a;
    op.block = block(some_kind());
    return op;
  }
  Tile tile(Kind kind, uint32_t rows) {
    const KindInfo& k = info(kind);
    Tile t;
    t.slot = slots_[random_.below(uint32_t(slots_.size()))];
    Placement& p = t.place;
    p.element_bytes = k.element_bytes;
    const int swizzles[] = {0, 2, 4, 6};
    p.swizzle = swizzles[random_.below(4)];
    if (rows > 64 && p.swizzle == 2) p.swizzle = 4;  // eight rows of 128 bytes for each 8 would leave the slot
    p.mn_major = k.transposes && random_.chance(3);
    p.base = t.slot * kSlotBytes;
    const uint32_t width = p.swizzle == 0 ? 16 : p.swizzle == 6 ? 32 : p.swizzle == 4 ? 64 : 128;
    if (!p.mn_major) {
      p.leading = 128;
      p.stride = p.swizzle ? 8 * width : 256;
      if (p.swizzle) p.slice = random_.below(width / 32);
    } else if (p.swizzle) {
      p.stride = 8 * width;
      p.leading = 16 * width;
    } else {
      const bool k_near = random_.chance(2);
      p.leading = k_near ? 128 : rows / 8 * 128;
      p.stride = k_near ? 256 : 128;
    }
    return t;
  }
  Op mma(uint32_t acc, bool accumulate) {
    Op op{What::mma};
    op.acc = acc;
    op.kind = wg_.accumulators[acc].kind;
    op.accumulate = accumulate;
    op.a_in_registers = random_.chance(2);
    op.a = random_.below(kFragments);
    if (!op.a_in_registers) op.tile = tile(op.kind, 64);
    op.b = tile(op.kind, wg_.accumulators[acc].n);
    if (op.kind != Kind::s8) op.negate_a = random_.chance(4), op.negate_b = random_.chance(4);
    return op;
  }
  Op candidate() {
    const uint32_t acc = random_.below(uint32_t(wg_.accumulators.size())), a = random_.below(kFragments);
    switch (random_.below(18)) {
      case 0: return fill(slots_[random_.below(uint32_t(slots_.size()))]);
      case 1: return load(a);
      case 2: {
        Op op{What::flip_a};
        op.a = a;
        return op;
      }
      case 3: {
        Op op = on_accumulator(What::convert_a, acc);
        op.a = a;
        op.count = 16 * random_.below(std::max(1u, wg_.accumulators[acc].n / 16));
        return op;
      }
      case 4: return on_accumulator(What::flip_acc, acc);
      case 5:
      case 6: return on_accumulator(What::store, acc);
      case 7: return {What::call};
      case 8: return {What::diverge};
      case 9:
      case 10: {
        Op op{What::wait};
        op.count = random_.below(4);
        return op;
      }
      case 11:
      case 12: return {What::commit};
      default: return mma(acc, !random_.chance(6));
    }
  }
  bool fits(const InFlight& books, const Op& op) const {
    // Columns of an accumulator are 16 of f32.
    if (op.what == What::convert_a) {
      const auto& acc = wg_.accumulators[op.acc];
      if (acc.kind == Kind::s8 || halves(acc.kind) || acc.n < 16) return false;
    }
    if (op.what == What::commit && !books.open()) return false;
    if (op.what == What::wait && books.groups() <= op.count) return false;
    InFlight after = books;
    return apply(after, op);
  }
  Op legal(const InFlight& books) {
    for (;;)
      if (const Op op = candidate(); fits(books, op)) return op;
  }
  void step() { push(legal(books_)); }
  /// A body that is legal behind itself: what its end leaves in flight, its beginning leaves alone.
  void loop() {
    Op op{What::loop};
    op.count = 2 + random_.below(3);
    for (int attempt = 0; attempt < 20; ++attempt) {
      InFlight books = books_;
      op.body.clear();
      for (uint32_t i = 0, n = 4 + random_.below(6); i < n; ++i) {
        op.body.push_back(legal(books));
        apply(books, op.body.back());
      }
      if (books.open()) {
        op.body.push_back({What::commit});
        books.commit();
      }
      bool again = true;
      for (const Op& o : op.body) again = again && apply(books, o);
      if (again) break;
      if (attempt == 19) op.body.push_back({What::wait});
    }
    for (uint32_t i = 0; i < op.count; ++i)
      for (const Op& o : op.body) apply(books_, o);
    wg_.ops.push_back(op);
  }

  Random random_;
  Program program_;
  Warpgroup wg_;
  InFlight books_;
  std::vector<uint32_t> slots_;
};

uint32_t stored(const Warpgroup& wg, const std::vector<Op>& ops) {
  uint32_t words = 0;
  for (const Op& op : ops) {
    if (op.what == What::store) words += 128 * wg.accumulators[op.acc].registers();
    if (op.what == What::loop) words += op.count * stored(wg, op.body);
  }
  return words;
}

}  // namespace

const KindInfo& info(Kind k) {
  using enum gen5::test::Type;
  static const KindInfo all[] = {
      {"f32", "f16", "f16", 16, 2, true, f16, f16},      {"f16", "f16", "f16", 16, 2, true, f16, f16},
      {"f32", "bf16", "bf16", 16, 2, true, bf16, bf16},  {"f32", "tf32", "tf32", 8, 4, false, tf32, tf32},
      {"s32", "s8", "s8", 32, 1, false, f16, f16},       {"f32", "e4m3", "e4m3", 32, 1, false, e4m3, e4m3},
      {"f32", "e5m2", "e5m2", 32, 1, false, e5m2, e5m2}, {"f32", "e4m3", "e5m2", 32, 1, false, e4m3, e5m2},
      {"f32", "e5m2", "e4m3", 32, 1, false, e5m2, e4m3}, {"f16", "e4m3", "e4m3", 32, 1, false, e4m3, e4m3},
      {"f16", "e5m2", "e5m2", 32, 1, false, e5m2, e5m2}, {"f16", "e4m3", "e5m2", 32, 1, false, e4m3, e5m2},
      {"f16", "e5m2", "e4m3", 32, 1, false, e5m2, e4m3}};
  static_assert(std::size(all) == kKinds);
  return all[int(k)];
}

bool halves(Kind k) { return std::string_view(info(k).d) == "f16"; }

bool apply(InFlight& books, const Op& op) {
  switch (op.what) {
    case What::fill: return books.slot_free(op.tile.slot);
    case What::load_a:
    case What::flip_a: return books.fragment_free(op.a);
    case What::convert_a: return books.fragment_free(op.a) && books.accumulator_free(op.acc);
    case What::flip_acc:
    case What::store: return books.accumulator_free(op.acc);
    case What::mma:
      books.issued();
      books.uses_accumulator(op.acc);
      if (op.a_in_registers)
        books.reads_fragment(op.a);
      else
        books.reads_slot(op.tile.slot);
      books.reads_slot(op.b.slot);
      return true;
    case What::commit: books.commit(); return true;
    case What::wait: books.wait(op.count); return true;
    default: return true;
  }
}

uint32_t Program::result_words(size_t w) const { return stored(warpgroups[w], warpgroups[w].ops) + 128; }

Program make_program(uint64_t seed) { return Maker(seed).make(); }

uint64_t hash(const std::vector<uint32_t>& words) {
  uint64_t h = 0xcbf29ce484222325;
  for (uint32_t w : words)
    for (int b = 0; b < 32; b += 8) h = (h ^ (w >> b & 255)) * 0x100000001b3;
  return h;
}

}  // namespace conformance::wgmma_programs
