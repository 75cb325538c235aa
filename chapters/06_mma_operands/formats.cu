// Other numbers: the five narrow formats of kind::f8f6f4, and the integers of kind::i8.
#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "chapters/06_mma_operands/kernel.cuh"
#include "chapters/06_mma_operands/parts.h"
#include "common/harness/cuda_check.h"
#include "common/harness/inputs.h"
#include "common/harness/narrow.h"

namespace {

using namespace gen5::harness;
using namespace operands;

constexpr uint32_t kM = 128, kN = 16, kK = 32;  // 32 elements of a byte: 32 bytes along K, as ever

/// In the order of Narrow.
constexpr Element kElements[] = {Element::e4m3, Element::e5m2, Element::e2m3, Element::e3m2, Element::e2m1};

// One MMA of either kind. a and b are rows of 32 bytes; c is what D holds before, if it is read.
template <Kind kKind>
__global__ void bytes(const uint8_t* a, const uint8_t* b, const uint32_t* c, uint32_t* d, uint32_t idesc) {
  __shared__ alignas(128) uint8_t tile_a[kM * kK], tile_b[kN * kK];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t address = begin(&slot, &barrier, 32);
  store_plain(tile_a, a, kM, kK);
  store_plain(tile_b, b, kN, kK);
  uint32_t r[kN];
  for (uint32_t n = 0; n < kN; ++n) r[n] = c[threadIdx.x * kN + n];
  tcgen05_st_32x32b(address + quarter(), r);
  tcgen05_wait_st();
  ready();
  if (threadIdx.x == 0) {
    const uint64_t da = at_address(kPlain<Element::e4m3, kM>, shared_address(tile_a));
    const uint64_t db = at_address(kPlain<Element::e4m3, kN>, shared_address(tile_b));
    if constexpr (kKind == Kind::f8f6f4)
      tcgen05_mma_f8f6f4(address, da, db, idesc, true);
    else
      tcgen05_mma_i8(address, da, db, idesc, true);
    tcgen05_commit(shared_address(&barrier));
  }
  wait(&barrier);
  tcgen05_ld_32x32b(r, address + quarter());
  tcgen05_wait_ld();
  for (uint32_t n = 0; n < kN; ++n) d[threadIdx.x * kN + n] = r[n];
  end(address, 32);
}

template <Kind kKind>
std::vector<uint32_t> run_bytes(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b,
                                const std::vector<uint32_t>& c, uint32_t idesc) {
  DeviceBuffer<uint8_t> da(a), db(b);
  DeviceBuffer<uint32_t> dc(c), dd(kM * kN);
  bytes<kKind><<<1, kThreads>>>(da.get(), db.get(), dc.get(), dd.get(), idesc);
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return dd.download();
}

// ---- 8. Narrow floating point

/// The instruction descriptor for two narrow formats: bits 9:7 and 12:10 name them.
uint32_t narrow_instruction(Narrow a, Narrow b) {
  constexpr uint32_t base =
      instruction_descriptor({.kind = Kind::f8f6f4, .a = Element::e4m3, .b = Element::e4m3, .m = kM, .n = kN});
  return base | gen5::layout::element_code(kElements[size_t(a)]) << 7 |
         gen5::layout::element_code(kElements[size_t(b)]) << 10;
}

/// `rows` of 32 codes, and the 32 bytes that they are in shared memory.
struct NarrowMatrix {
  std::vector<uint8_t> codes, bytes;
  NarrowMatrix(Narrow format, uint32_t rows, uint64_t seed) : codes(rows * kK), bytes(rows * kK) {
    Random random(seed);
    for (uint8_t& code : codes) {
      // ±[1/4, 2): 32 products of such numbers add up exactly, in every format.
      const double x = 0.25 + (random.unit() + 1) / 2 * 1.75;
      code = narrow_of(format, random.bits() & 1 ? x : -x);
    }
    for (size_t i = 0; i < codes.size(); i += 16) {
      const auto packed = container_of(format, std::span<const uint8_t, 16>(&codes[i], 16));
      std::copy(packed.begin(), packed.end(), bytes.begin() + ptrdiff_t(i));
    }
  }
};

void part_narrow(Report& r) {
  Table formats({"format", "bits", "values", "largest", "smallest", "next after 1", "16 elements in 16 bytes"});
  for (const Narrow n : kNarrows) {
    const NarrowShape s = shape_of(n);
    uint32_t values = 0;
    double smallest = 1e9;
    for (uint32_t code = 0; code < 1u << s.bits(); ++code)
      if (const double v = value_of(n, code); std::isfinite(v)) {
        ++values;
        if (v > 0) smallest = std::min(smallest, v);
      }
    const int used = 2 * s.bits();
    formats.row({s.name, std::to_string(s.bits()), std::to_string(values), fmt::format("{:g}", s.largest),
                 fmt::format("2^{:g}", std::log2(smallest)), fmt::format("{:g}", 1 + std::ldexp(1.0, -s.fraction)),
                 used == 16 ? "16 bytes" : fmt::format("{} bytes, {} of padding", used, 16 - used)});
  }
  r.say(
      "kind::f8f6f4 multiplies numbers of 8, 6 and 4 bits, 32 along K, any format of A with any of B. Every element "
      "has one byte of room: sixteen 6-bit codes are packed into 12 bytes, sixteen 4-bit codes into 8, and the rest of "
      "their 16 bytes is padding. (TMA's types 16U6_ALIGN16B and 16U4_ALIGN16B load them so.) In this kind they need "
      "as much room and time as fp8; mxf4 in chapter 08 packs them tightly.");
  r.table(formats);
  r.say("Sixteen e3m2 codes 0 to 15, and sixteen e2m1 codes, in their 16 bytes:");
  std::array<uint8_t, 16> codes;
  for (uint8_t i = 0; i < 16; ++i) codes[i] = i;
  std::string dumps;
  for (const Narrow n : {Narrow::e3m2, Narrow::e2m1}) {
    dumps += fmt::format("    {}  ", shape_of(n).name);
    for (const uint8_t byte : container_of(n, codes)) dumps += fmt::format(" {:02x}", byte);
    dumps += "\n";
  }
  r.picture(dumps);

  Table t({"A \\ B", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1"});
  bool all = true;
  const std::vector<uint32_t> zero(kM * kN);
  for (const Narrow fa : kNarrows) {
    std::vector<std::string> cells{shape_of(fa).name};
    for (const Narrow fb : kNarrows) {
      const NarrowMatrix a(fa, kM, 41 + uint64_t(fa)), b(fb, kN, 51 + uint64_t(fb));
      const auto d = run_bytes<Kind::f8f6f4>(a.bytes, b.bytes, zero, narrow_instruction(fa, fb));
      bool equal = true;
      for (uint32_t m = 0; m < kM; ++m)
        for (uint32_t n = 0; n < kN; ++n) {
          double sum = 0;
          for (uint32_t k = 0; k < kK; ++k)
            sum += value_of(fa, a.codes[m * kK + k]) * value_of(fb, b.codes[n * kK + k]);
          equal &= std::bit_cast<float>(d[m * kN + n]) == sum;
        }
      all &= equal;
      cells.push_back(equal ? "exact" : "WRONG");
    }
    t.row(cells);
  }
  r.table(t);
  r.check("25 pairs of formats: every sum is the exact one", all, "their products and sums fit into f32");
}

// ---- 9. Integers

/// Bit 3 saturates. U8 is 0 and S8 is 1 in bits 9:7 and 12:10.
uint32_t integer_instruction(bool signed_a, bool signed_b, bool saturate) {
  constexpr uint32_t base = instruction_descriptor(
      {.kind = Kind::i8, .a = Element::u8, .b = Element::u8, .d = Accumulator::s32, .m = kM, .n = kN});
  return base | uint32_t(signed_a) << 7 | uint32_t(signed_b) << 10 | uint32_t(saturate) << 3;
}

void part_integers(Report& r) {
  std::vector<uint8_t> a(kM * kK), b(kN * kK);
  Random random(61);
  for (auto* v : {&a, &b})
    for (uint8_t& byte : *v) byte = uint8_t(random.bits());
  std::vector<uint32_t> c(kM * kN);
  for (uint32_t& w : c) w = 2147400000 + random.below(80000);  // not far from 2^31
  r.say(
      "kind::i8 multiplies bytes, signed or not, 32 along K, and adds into 32-bit integers. A sum that leaves their "
      "range wraps around or, with bit 3 of the instruction descriptor, saturates. D starts just below 2^31:");
  Table t({"A", "B", "bit 3", "D[0][0], exact", "D[0][0]", "all equal"});
  bool all = true;
  uint32_t beyond = 0;
  for (const bool sa : {false, true})
    for (const bool sb : {false, true})
      for (const bool saturate : {false, true}) {
        const auto d = run_bytes<Kind::i8>(a, b, c, integer_instruction(sa, sb, saturate));
        bool equal = true;
        int64_t first = 0;
        for (uint32_t m = 0; m < kM; ++m)
          for (uint32_t n = 0; n < kN; ++n) {
            int64_t sum = int32_t(c[m * kN + n]);
            for (uint32_t k = 0; k < kK; ++k) {
              const int64_t x = sa ? int8_t(a[m * kK + k]) : a[m * kK + k];
              const int64_t y = sb ? int8_t(b[n * kK + k]) : b[n * kK + k];
              sum += x * y;
            }
            if (m == 0 && n == 0) first = sum;
            beyond += sum > INT32_MAX;
            const int64_t want = saturate ? std::min<int64_t>(sum, INT32_MAX) : int32_t(uint32_t(sum));
            equal &= int32_t(d[m * kN + n]) == want;
          }
        all &= equal;
        t.row({sa ? "s8" : "u8", sb ? "s8" : "u8", saturate ? "1" : "0", std::to_string(first),
               std::to_string(int32_t(d[0])), equal ? "yes" : "NO"});
      }
  r.table(t);
  r.check("all signs, with and without saturation", all);
  r.check("some sums left the range", beyond > 0, fmt::format("{} of {}", beyond, 8 * kM * kN));
}

}  // namespace

void add_formats(Chapter& chapter) {
  chapter.part("narrow", "Eight, six and four bits", part_narrow);
  chapter.part("integers", "Bytes into 32-bit integers", part_integers);
}
