#include "tests/conformance/wgmma/cases.h"

#include <algorithm>
#include <cstring>

#include "tests/conformance/random.h"

namespace conformance::wgmma {
namespace {

uint32_t element_bytes(const std::string& type) {
  if (type == "tf32") return 4;
  return type == "f16" || type == "bf16" ? 2 : 1;
}
bool integer(const std::string& type) { return type == "s8" || type == "u8"; }

/// A pattern of a float format, given as exponent and fraction widths, in the manner of an operand class.
uint32_t pattern(Random& r, int exponent_bits, int fraction_bits, int operand_class) {
  const uint32_t all = (1u << exponent_bits) - 1, sign = uint32_t(r.below(2)) << (exponent_bits + fraction_bits);
  const uint32_t fraction = uint32_t(r.next()) & ((1u << fraction_bits) - 1);
  const uint32_t middle = all / 2;
  auto make = [&](uint32_t exponent) { return sign | exponent << fraction_bits | fraction; };
  switch (operand_class) {
    case 0: return make(uint32_t(r.below(all + 1)));                            // any bits, NaN and infinity too
    case 1: return make(std::min(all - 1, middle + uint32_t(r.below(4)) - 2));  // about 1
    case 2: return make(std::min(all - 1, uint32_t(r.below(all))));             // wide gaps, finite
    case 3: return sign | (r.one_in(3) ? 0 : fraction);                         // subnormals and zeros
    case 4: return sign | middle << fraction_bits | (fraction & 1);             // ±1 and its neighbour: cancellation
    case 5: return make(all - 1 - uint32_t(r.below(2)));                        // overflow
    default: return r.one_in(40) ? make(all) : make(std::min(all - 1, middle + uint32_t(r.below(3))));  // rare specials
  }
}

uint32_t element(Random& r, const std::string& type, int operand_class) {
  if (type == "f16") return pattern(r, 5, 10, operand_class);
  if (type == "bf16") return pattern(r, 8, 7, operand_class);
  if (type == "tf32" || type == "f32") return pattern(r, 8, 23, operand_class);
  if (type == "e4m3") return pattern(r, 4, 3, operand_class);
  if (type == "e5m2") return pattern(r, 5, 2, operand_class);
  if (operand_class == 4) return r.one_in(2) ? 0x80 : 0x7f;
  return uint32_t(r.below(256));
}

/// Places of the elements that A has, of four bits each: two of four, or one of two where they have 32 bits. Without
/// an order they may come backwards and twice. `any`: all codes, also those that have no meaning.
uint32_t metadata(Random& r, const std::string& type, int operand_class, bool any) {
  const uint32_t pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}, ones[] = {0x4, 0xe};
  uint32_t word = 0;
  for (int i = 0; i < 32; i += 4)
    word |= (any                  ? uint32_t(r.below(16))
             : type == "tf32"     ? r.pick(ones)
             : operand_class == 2 ? uint32_t(r.below(16))
                                  : r.pick(pairs))
            << i;
  return word;
}

/// A descriptor whose operand of `rows` rows lies inside the image.
/// `k_bytes`: bytes of a row along K, 32 or, of a sparse instruction's B, 64.
uint64_t descriptor(Random& r, uint32_t rows, bool mn_major, uint32_t bytes, uint32_t k_bytes, std::string& what) {
  const uint64_t code = r.below(4);  // 0 none, 1 128B, 2 64B, 3 32B
  const uint32_t span = code == 0 ? 16 : code == 1 ? 128 : code == 2 ? 64 : 32;
  uint32_t start, leading, stride;
  for (;;) {
    // Half of the operands are packed as a kernel would; the others lie anywhere, rows may overlap.
    const bool packed = r.one_in(2);
    uint32_t extent;
    if (!mn_major) {
      const uint32_t groups = rows / 8;
      stride = packed ? 8 * span : 16 * uint32_t(1 + r.below(groups > 1 ? 30000 / 16 / groups : 64));
      leading = packed ? (code ? 16 : rows * 16) : 16 * uint32_t(1 + r.below(256));
      extent = (groups - 1) * stride + 7 * span + k_bytes + (k_bytes > span ? (k_bytes / span - 1) * leading : 0) + 128;
    } else {
      const uint32_t per = span / bytes, blocks = (rows + per - 1) / per;
      const uint32_t across = packed ? 8 * span : 16 * uint32_t(1 + r.below(blocks > 1 ? 24000 / 16 / blocks : 64));
      const uint32_t deep = packed ? 8 * span * blocks : 16 * uint32_t(1 + r.below(256));
      leading = code ? across : deep;
      stride = code ? deep : across;
      extent = (blocks - 1) * across + (k_bytes / bytes / 8 - 1) * deep + 8 * span + 128;
    }
    if (extent + 128 > kImage) continue;
    start = r.one_in(2) ? uint32_t(r.below((kImage - extent) / 1024 + 1)) * 1024
                        : uint32_t(r.below((kImage - extent) / 16)) * 16;
    if (start + extent > kImage) continue;
    break;
  }
  const uint64_t base = code && r.one_in(4) ? r.below(8) : 0;
  what += " start " + std::to_string(start) + " LBO " + std::to_string(leading) + " SBO " + std::to_string(stride) +
          " swizzle code " + std::to_string(code) + (base ? " base offset " + std::to_string(base) : "");
  return (start >> 4) | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 | base << 49 | code << 62;
}

}  // namespace

std::string Kernel::spelling() const {
  return std::string(sparse ? "sp " : "") + "m64n" + std::to_string(n) + "k" + std::to_string(depth()) + "." + d + "." +
         a + "." + b + (saturate ? ".satfinite" : "") + (selector ? " selector 1" : "") +
         (a_in_registers ? " A in registers" : "") + (transpose_a ? " A M-major" : "") +
         (transpose_b ? " B N-major" : "") + (scale_a < 0 ? " -A" : "") + (scale_b < 0 ? " -B" : "") +
         (any_metadata ? " any metadata" : "");
}

uint32_t Kernel::depth() const { return (sparse ? 64 : 32) / element_bytes(a); }

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = [] {
    std::vector<Kernel> v;
    const std::array<std::array<const char*, 3>, 14> types{{{"f32", "f16", "f16"},
                                                            {"f16", "f16", "f16"},
                                                            {"f32", "bf16", "bf16"},
                                                            {"f32", "tf32", "tf32"},
                                                            {"f32", "e4m3", "e4m3"},
                                                            {"f32", "e5m2", "e5m2"},
                                                            {"f32", "e4m3", "e5m2"},
                                                            {"f32", "e5m2", "e4m3"},
                                                            {"f16", "e4m3", "e4m3"},
                                                            {"f16", "e5m2", "e4m3"},
                                                            {"s32", "s8", "s8"},
                                                            {"s32", "u8", "u8"},
                                                            {"s32", "s8", "u8"},
                                                            {"s32", "u8", "s8"}}};
    Random r(0x77676d6d61);
    auto add = [&](const std::array<const char*, 3>& t, uint32_t n, bool registers) {
      Kernel k;
      k.d = t[0];
      k.a = t[1];
      k.b = t[2];
      k.n = n;
      k.a_in_registers = registers;
      if (integer(k.a)) {
        k.saturate = r.one_in(2);
      } else {
        k.scale_a = r.one_in(3) ? -1 : 1;
        k.scale_b = r.one_in(3) ? -1 : 1;
      }
      if (element_bytes(k.a) == 2) {
        k.transpose_a = !registers && r.one_in(2);
        k.transpose_b = r.one_in(2);
      }
      v.push_back(k);
    };
    for (const auto& t : types)
      for (uint32_t n : {8, 24, 64, 96, 128, 256})
        for (bool registers : {false, true}) add(t, n, registers);
    for (uint32_t n = 8; n <= 256; n += 8) add(types[2], n, r.one_in(2));
    for (const auto& t : types)
      for (uint32_t n : {8, 64, 96, 256})
        for (bool registers : {false, true}) {
          add(t, n, registers);
          v.back().sparse = true;
          v.back().selector = element_bytes(v.back().a) > 1 ? uint32_t(r.below(2)) : 0;
        }
    // Of other types class 2 has any metadata.
    for (uint32_t n : {8, 96})
      for (uint32_t selector : {0, 1}) {
        add(types[3], n, selector);
        v.back().sparse = v.back().any_metadata = true;
        v.back().selector = selector;
      }
    return v;
  }();
  return all;
}

size_t case_count() { return kernels().size() * kCasesPerKernel; }

Inputs inputs_of(size_t index) {
  const Kernel& k = kernels()[index / kCasesPerKernel];
  Random r(0x9001 + index * 77);
  Inputs in;
  const int operand_class = int(index % kCasesPerKernel);
  in.what = "class " + std::to_string(operand_class) + ", A";
  const uint32_t bytes = element_bytes(k.a);
  in.image.resize(kImage);
  for (uint32_t i = 0; i < kImage; i += bytes) {
    // A and B may overlap; with two formats of one width the image alternates between them.
    const uint32_t word = element(r, (i / 4096) % 2 ? k.b : k.a, operand_class);
    std::memcpy(&in.image[i], &word, bytes);
  }
  in.words[0] = k.a_in_registers ? 0 : descriptor(r, 64, k.transpose_a, bytes, 32, in.what);
  in.what += ", B";
  in.words[1] = descriptor(r, k.n, k.transpose_b, bytes, k.sparse ? 64 : 32, in.what);
  in.words[2] = r.one_in(5) ? 0 : 1;
  if (!in.words[2]) in.what += ", scale-d 0";
  for (uint32_t t = 0; t < 128; ++t) {
    for (uint32_t i = 0; i < k.registers(); ++i) {
      uint32_t c = uint32_t(r.next());
      if (k.d == "f32") c = element(r, "f32", operand_class);
      if (k.d == "f16") c = element(r, "f16", operand_class) | element(r, "f16", operand_class) << 16;
      if (k.d == "s32" && r.one_in(3)) c = r.one_in(2) ? 0x7fffff00u : 0x80000010u;
      in.registers.push_back(c);
    }
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t a = 0;
      for (uint32_t b = 0; b < 4; b += bytes) a |= element(r, k.a, operand_class) << (8 * b);
      in.registers.push_back(a);
    }
    if (k.sparse) in.registers.push_back(metadata(r, k.a, operand_class, k.any_metadata));
  }
  return in;
}

std::string describe(size_t index) {
  return kernels()[index / kCasesPerKernel].spelling() + ", " + inputs_of(index).what;
}

std::string kernel_name(size_t kernel) { return "wgmma_" + std::to_string(kernel); }

std::string module_text(size_t first, size_t last) {
  std::string s = ".version 8.6\n.target sm_90a\n.address_size 64\n";
  for (size_t i = first; i < last; ++i) {
    const Kernel& k = kernels()[i];
    const uint32_t n = k.registers();
    s += ".visible .entry " + kernel_name(i) +
         "(.param .u64 image, .param .u64 registers, .param .u64 words, .param .u64 out)\n{\n"
         ".reg .pred %p<3>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .b32 %d<" +
         std::to_string(n) + ">; .reg .b32 %a<4>, %meta;\n.shared .align 1024 .b8 smem[" + std::to_string(kImage) +
         "];\n"
         "ld.param.u64 %rd0, [image]; ld.param.u64 %rd1, [registers]; ld.param.u64 %rd2, [words]; ld.param.u64 %rd3, "
         "[out];\n"
         "mov.u32 %r0, %tid.x; mov.u32 %r1, smem; shl.b32 %r2, %r0, 4;\n"
         "COPY:\n"
         "cvt.u64.u32 %rd4, %r2; add.s64 %rd5, %rd0, %rd4; add.u32 %r3, %r1, %r2;\n"
         "ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd5]; st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};\n"
         "add.u32 %r2, %r2, 2048; setp.lt.u32 %p0, %r2, " +
         std::to_string(kImage) +
         "; @%p0 bra COPY;\n"
         "fence.proxy.async.shared::cta; bar.sync 0;\n"
         "ld.global.u64 %rd6, [%rd2]; ld.global.u64 %rd7, [%rd2+8]; ld.global.u64 %rd8, [%rd2+16];\n"
         "setp.ne.u64 %p1, %rd8, 0;\n"
         "and.b32 %r8, %r1, 262143; shr.u32 %r8, %r8, 4; cvt.u64.u32 %rd9, %r8;\n"
         "add.s64 %rd6, %rd6, %rd9; add.s64 %rd7, %rd7, %rd9;\n"
         "mul.lo.u32 %r9, %r0, " +
         std::to_string(k.inputs() * 4) + "; cvt.u64.u32 %rd10, %r9; add.s64 %rd10, %rd1, %rd10;\n";
    std::string d;
    for (uint32_t j = 0; j < n; ++j) {
      s += "ld.global.u32 %d" + std::to_string(j) + ", [%rd10+" + std::to_string(4 * j) + "];\n";
      d += (j ? ", %d" : "%d") + std::to_string(j);
    }
    for (uint32_t j = 0; j < 4; ++j)
      s += "ld.global.u32 %a" + std::to_string(j) + ", [%rd10+" + std::to_string(4 * (n + j)) + "];\n";
    if (k.sparse) s += "ld.global.u32 %meta, [%rd10+" + std::to_string(4 * (n + 4)) + "];\n";
    s += std::string("wgmma.fence.sync.aligned;\nwgmma.mma_async") + (k.sparse ? ".sp" : "") + ".sync.aligned.m64n" +
         std::to_string(k.n) + "k" + std::to_string(k.depth()) + "." + k.d + "." + k.a + "." + k.b +
         (k.saturate ? ".satfinite" : "") + " {" + d + "}, " + (k.a_in_registers ? "{%a0, %a1, %a2, %a3}" : "%rd6") +
         ", %rd7" + (k.sparse ? ", %meta, " + std::to_string(k.selector) : "") + ", %p1";
    if (!integer(k.a)) s += ", " + std::to_string(k.scale_a) + ", " + std::to_string(k.scale_b);
    if (element_bytes(k.a) == 2) {
      if (!k.a_in_registers) s += k.transpose_a ? ", 1" : ", 0";
      s += k.transpose_b ? ", 1" : ", 0";
    }
    s += ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
         "mul.lo.u32 %r9, %r0, " +
         std::to_string(n * 4) + "; cvt.u64.u32 %rd10, %r9; add.s64 %rd10, %rd3, %rd10;\n";
    for (uint32_t j = 0; j < n; ++j)
      s += "st.global.u32 [%rd10+" + std::to_string(4 * j) + "], %d" + std::to_string(j) + ";\n";
    s += "ret;\n}\n";
  }
  return s;
}

std::array<uint32_t, kHashes> hashes(const std::vector<uint32_t>& words) {
  std::array<uint32_t, kHashes> out{};
  const size_t part = words.size() / kHashes;  // 128 threads: eight threads' words each
  for (size_t p = 0; p < kHashes; ++p) {
    uint32_t h = 2166136261u;
    for (size_t i = p * part; i < (p + 1) * part; ++i) h = (h ^ words[i]) * 16777619u;
    out[p] = h;
  }
  return out;
}

}  // namespace conformance::wgmma
