#include "tests/conformance/warp_matrices/cases.h"

#include <cstdio>
#include <sstream>
#include <string_view>

#include "tests/support/ptx_type.h"

namespace conformance::warp_matrices {
namespace {

using tinygpu::test::bits_of;
using warp::Case;
using warp::Fill;
using warp::fill_of;
using warp::list;
using warp::number;

Fill accumulator(const std::string& type) { return type == "s32" ? Fill::bits : fill_of(type); }

/// `n` registers of 64 bits, from pairs of inputs.
void take_wide(std::ostringstream& t, int n) {
  for (int i = 0; i < n; ++i) t << "  mov.b64 %fd" << i << ", {%a" << 2 * i << ",%a" << 2 * i + 1 << "};\n";
}
void give_wide(std::ostringstream& t, int first, int n) {
  for (int i = 0; i < n; ++i) t << "  mov.b64 {%d" << 2 * i << ",%d" << 2 * i + 1 << "}, %fd" << first + i << ";\n";
}

// ---- mma.sp.sync

struct Sparse {
  int k;
  const char *d, *a, *b;
  int selectors;
  int classes;
  const char* suffix;
};

/// `undefined`: metadata are any bits.
void add_sparse(std::vector<Case>& out, const Sparse& s, bool ordered, bool undefined = false) {
  const std::string d = s.d, a = s.a, b = s.b;
  const int na = 16 * s.k / 2 * bits_of(a) / 1024, nb = 8 * s.k * bits_of(b) / 1024, nd = 128 * bits_of(d) / 1024;
  for (int selector = 0; selector < (ordered && !undefined ? 1 : s.selectors); ++selector)
    for (int cls = 0; cls < (ordered || undefined ? 2 : s.classes); ++cls) {
      Case c;
      const std::string spelling = std::string("mma.sp") + (ordered ? "::ordered_metadata" : "") +
                                   ".sync.aligned.m16n8k" + number(s.k) + ".row.col" + s.suffix + "." + d + "." + a +
                                   "." + b + "." + d;
      // Places of any order, and the same twice, are metadata too without ordered_metadata.
      const Fill metadata = undefined                  ? Fill::sparse_any
                            : a == "tf32"              ? Fill::sparse_f32
                            : !ordered && cls % 3 == 2 ? Fill::sparse_any
                                                       : Fill::sparse;
      c.name =
          spelling + (undefined ? " any metadata" : "") + " selector " + number(selector) + " class " + number(cls);
      c.group = (undefined ? "mma_sp_any_metadata_" : "mma_sp_") +
                (d == "s32"        ? std::string(bits_of(a) == 8 ? "int8" : "int4")
                 : bits_of(a) == 8 ? std::string("fp8")
                                   : d + "_" + a) +
                "_k" + number(s.k);
      c.operand_class = cls;
      c.inputs.assign(size_t(na), fill_of(a));
      c.inputs.insert(c.inputs.end(), size_t(nb), fill_of(b));
      c.inputs.insert(c.inputs.end(), size_t(nd), accumulator(d));
      c.inputs.push_back(metadata);
      c.outputs = nd;
      c.text = "  " + spelling + " " + list("%d", 0, nd) + ", " + list("%a", 0, na) + ", " + list("%a", na, nb) + ", " +
               list("%a", na + nb, nd) + ", %a" + number(na + nb + nd) + ", " + number(selector) + ";\n";
      out.push_back(std::move(c));
    }
}

std::vector<Sparse> sparse_shapes() {
  std::vector<Sparse> all;
  const int n = warp::kOperandClasses;
  for (const char* a : {"f16", "bf16"}) {
    all.push_back({16, "f32", a, a, 4, n, ""});
    all.push_back({32, "f32", a, a, 2, n, ""});
  }
  all.push_back({16, "f16", "f16", "f16", 4, n, ""});
  all.push_back({32, "f16", "f16", "f16", 2, n, ""});
  all.push_back({8, "f32", "tf32", "tf32", 4, n, ""});
  all.push_back({16, "f32", "tf32", "tf32", 2, n, ""});
  for (const char* a : {"e4m3", "e5m2"})
    for (const char* b : {"e4m3", "e5m2"}) all.push_back({64, "f32", a, b, 1, n, ""});
  for (const char* suffix : {"", ".satfinite"}) {
    for (const char* a : {"s8", "u8"})
      for (const char* b : {"s8", "u8"}) {
        all.push_back({32, "s32", a, b, 2, 3, suffix});
        all.push_back({64, "s32", a, b, 1, 3, suffix});
      }
    for (const char* a : {"s4", "u4"})
      for (const char* b : {"s4", "u4"}) {
        all.push_back({64, "s32", a, b, 2, 3, suffix});
        all.push_back({128, "s32", a, b, 1, 3, suffix});
      }
  }
  return all;
}

void sparse_cases(std::vector<Case>& out) {
  for (const bool ordered : {false, true})
    for (const Sparse& s : sparse_shapes()) add_sparse(out, s, ordered);
}

/// Codes that the PTX ISA gives no meaning: of ordered metadata those that name one place twice or two backwards, of
/// tf32 all but two.
void undefined_metadata_cases(std::vector<Case>& out) {
  for (const bool ordered : {false, true})
    for (const Sparse& s : sparse_shapes())
      if (ordered || s.a == std::string_view("tf32")) add_sparse(out, s, ordered, true);
}

// ---- wmma

struct Wmma {
  std::string shape, d, a, c, suffix;
  int na, nb;
};

int accumulators(const std::string& shape, const std::string& type) {
  const int elements = shape == "m8n8k4" || shape == "m8n8k32" || shape == "m8n8k128" ? 64 : 256;
  return type == "f64" ? 2 : elements * bits_of(type) / 1024;
}

void add_wmma_mma(std::vector<Case>& out, const Wmma& w, const std::string& layout, int classes) {
  const int nc = accumulators(w.shape, w.c), nd = accumulators(w.shape, w.d);
  const bool wide = w.a == "f64", bit = w.a == "b1";
  std::string spelling = std::string("wmma.mma") + (bit ? w.suffix : "") + ".sync.aligned." + layout + "." + w.shape;
  if (wide) spelling += w.suffix;
  spelling += "." + w.d + (w.a == "f16" ? "" : "." + w.a + "." + w.a) + "." + w.c;
  if (!wide && !bit) spelling += w.suffix;
  for (int cls = 0; cls < classes; ++cls) {
    Case c;
    c.name = spelling + " class " + number(cls);
    c.group = "wmma_mma_" + w.a;
    c.operand_class = cls;
    std::ostringstream t;
    if (wide) {
      take_wide(t, 4);
      t << "  " << spelling << " {%fd4,%fd5}, {%fd0}, {%fd1}, {%fd2,%fd3};\n";
      give_wide(t, 4, 2);
      c.inputs.assign(8, Fill::f64);
      c.outputs = 4;
    } else {
      t << "  " << spelling << " " << list("%d", 0, nd) << ", " << list("%a", 0, w.na) << ", " << list("%a", w.na, w.nb)
        << ", " << list("%a", w.na + w.nb, nc) << ";\n";
      c.inputs.assign(size_t(w.na + w.nb), fill_of(w.a));
      c.inputs.insert(c.inputs.end(), size_t(nc), accumulator(w.c));
      c.outputs = nd;
    }
    c.text = t.str();
    out.push_back(std::move(c));
  }
}

void wmma_mma_cases(std::vector<Case>& out) {
  const int n = warp::kOperandClasses;
  for (const char* shape : {"m16n16k16", "m8n32k16", "m32n8k16"})
    for (const char* d : {"f32", "f16"})
      for (const char* c : {"f32", "f16"}) add_wmma_mma(out, {shape, d, "f16", c, "", 8, 8}, "row.col", n);
  for (const char* layout : {"row.row", "col.row", "col.col"})
    add_wmma_mma(out, {"m16n16k16", "f32", "f16", "f32", "", 8, 8}, layout, 2);
  const struct {
    const char* shape;
    int a, b;
  } shares[] = {{"m16n16k16", 1, 1}, {"m8n32k16", 0, 2}, {"m32n8k16", 2, 0}};
  for (const auto& s : shares) {
    // Halves of what the square shape has, where one side is 8.
    const int a = s.a == 0 ? 2 : 4 * s.a, b = s.b == 0 ? 2 : 4 * s.b;
    add_wmma_mma(out, {s.shape, "f32", "bf16", "f32", "", a, b}, "row.col", n);
    for (const char* type : {"s8", "u8"})
      for (const char* satfinite : {"", ".satfinite"})
        add_wmma_mma(out, {s.shape, "s32", type, "s32", satfinite, a / 2, b / 2}, "row.col", 3);
  }
  add_wmma_mma(out, {"m16n16k8", "f32", "tf32", "f32", "", 4, 4}, "row.col", n);
  for (const char* type : {"s4", "u4"})
    for (const char* satfinite : {"", ".satfinite"})
      add_wmma_mma(out, {"m8n8k32", "s32", type, "s32", satfinite, 1, 1}, "row.col", 2);
  for (const char* op : {".xor.popc", ".and.popc"})
    add_wmma_mma(out, {"m8n8k128", "s32", "b1", "s32", op, 1, 1}, "row.col", 2);
  for (const char* rounding : {"", ".rn", ".rz", ".rm", ".rp"})
    add_wmma_mma(out, {"m8n8k4", "f64", "f64", "f64", rounding, 1, 1}, "row.col", 7);
}

/// Where a CTA's words of the inputs (as matrix), or of the results, begin: %rd1; in shared memory %r1 and %rd2.
std::string memory_text(int words, const std::string& space, bool load) {
  std::ostringstream t;
  t << "  ld.param.u64 %rd1, [" << (load ? "pin" : "pout") << "];\n  mul.wide.u32 %rd0, %block, " << 128 * words
    << ";\n  add.s64 %rd1, %rd1, %rd0;\n";
  if (space == "global") return t.str();
  t << "  mov.u32 %r1, smem;\n  mul.lo.u32 %r2, %t, " << 4 * words << ";\n  add.u32 %r2, %r1, %r2;\n";
  for (int i = 0; i < words; ++i)
    t << "  st.shared.b32 [%r2+" << 4 * i << "], " << (load ? "%a" + number(i) : "-1") << ";\n";
  t << "  bar.warp.sync 0xffffffff;\n  cvt.u64.u32 %rd1, %r1;\n";
  if (space == "generic") t << "  cvta.shared.u64 %rd1, %rd1;\n";
  return t.str();
}

struct Matrix {
  std::string what, shape, type;  // "a", "m16n16k16", "f16"
  int registers;
};

std::vector<Matrix> matrices() {
  std::vector<Matrix> all;
  const struct {
    const char* shape;
    int a, b;  // registers of bf16
  } shapes[] = {{"m16n16k16", 4, 4}, {"m8n32k16", 2, 8}, {"m32n8k16", 8, 2}};
  for (const auto& s : shapes) {
    for (const char* m : {"a", "b"}) {
      const int n = *m == 'a' ? s.a : s.b;
      all.push_back({m, s.shape, "f16", 8});
      all.push_back({m, s.shape, "bf16", n});
      all.push_back({m, s.shape, "s8", n / 2});
      all.push_back({m, s.shape, "u8", n / 2});
    }
    for (const char* type : {"f16", "f32", "s32"}) all.push_back({"c", s.shape, type, accumulators(s.shape, type)});
  }
  for (const char* m : {"a", "b"}) {
    all.push_back({m, "m16n16k8", "tf32", 4});
    all.push_back({m, "m8n8k4", "f64", 1});
    all.push_back({m, "m8n8k32", "s4", 1});
    all.push_back({m, "m8n8k32", "u4", 1});
    all.push_back({m, "m8n8k128", "b1", 1});
  }
  all.push_back({"c", "m16n16k8", "f32", 8});
  all.push_back({"c", "m8n8k4", "f64", 2});
  all.push_back({"c", "m8n8k32", "s32", 2});
  all.push_back({"c", "m8n8k128", "s32", 2});
  return all;
}

/// A stride that leaves gaps where there is room: of rows of `layout` "row", else of columns; 16 bytes' multiples.
int gap(const Matrix& m, const std::string& layout) {
  int rows = 0, columns = 0, k = 0;
  std::sscanf(m.shape.c_str(), "m%dn%dk%d", &rows, &columns, &k);
  const int length = layout == "row" ? (m.what == "a" ? k : columns) : (m.what == "b" ? k : rows);
  return length == 32 || bits_of(m.type) == 8 ? 32 : 24;
}

void wmma_memory_cases(std::vector<Case>& out) {
  constexpr int kWords = 24;  // of a thread: 3 KB for the warp's matrix
  for (const Matrix& m : matrices())
    for (const char* layout : {"row", "col"}) {
      const bool packed = bits_of(m.type) < 8;  // of these A has rows and B columns
      if (packed && m.what != "c" && (*layout == 'r') != (m.what == "a")) continue;
      for (const char* space : {"global", "shared", "generic"})
        for (const char* how : {"", "literal", "register"}) {
          if (packed && *how) continue;
          const bool wide = m.type == "f64";
          const std::string registers = wide ? list("%fd", 0, m.registers) : list("%d", 0, m.registers);
          const std::string in_space = *space == 'g' && space[1] == 'e' ? "" : "." + std::string(space);
          const std::string longer = number(gap(m, layout));
          const std::string stride = !*how ? "" : *how == 'l' ? ", " + longer : ", %r3";
          const std::string set_stride = *how == 'r' ? "  mov.b32 %r3, " + longer + ";\n" : "";
          Case c;
          std::ostringstream t;
          c.group = m.what == "c" ? "wmma_load_c" : "wmma_load_ab";
          const std::string spelling =
              "wmma.load." + m.what + ".sync.aligned." + layout + "." + m.shape + in_space + "." + m.type;
          c.name = spelling + " " + space + " " + how;
          c.inputs.assign(kWords, Fill::bits);
          c.outputs = wide ? 2 * m.registers : m.registers;
          t << memory_text(kWords, space, true) << set_stride << "  " << spelling << " " << registers << ", [%rd1]"
            << stride << ";\n";
          if (wide) give_wide(t, 0, m.registers);
          c.text = t.str();
          out.push_back(c);
          if (m.what != "c") continue;
          Case s;
          std::ostringstream u;
          const std::string store =
              "wmma.store.d.sync.aligned." + std::string(layout) + "." + m.shape + in_space + "." + m.type;
          s.group = "wmma_store";
          s.name = store + " " + space + " " + how;
          s.inputs.assign(size_t(wide ? 2 * m.registers : m.registers), wide ? Fill::f64 : Fill::bits);
          s.outputs = kWords;
          if (wide) take_wide(u, m.registers);
          u << memory_text(kWords, space, false) << set_stride << "  " << store << " [%rd1], "
            << (wide ? registers : list("%a", 0, m.registers)) << stride << ";\n  bar.warp.sync 0xffffffff;\n";
          for (int i = 0; i < kWords; ++i)
            u << "  ld.volatile." << (*space == 'g' && space[1] == 'l' ? "global" : "shared") << ".b32 %d" << i << ", ["
              << (*space == 'g' && space[1] == 'l' ? "%mine" : "%r2") << "+" << 4 * i << "];\n";
          s.text = u.str();
          out.push_back(s);
        }
    }
}

// ---- f64 with a rounding mode

void f64_cases(std::vector<Case>& out) {
  const struct {
    int m, k, a, b, d;
  } shapes[] = {{8, 4, 1, 1, 2}, {16, 4, 2, 1, 4}, {16, 8, 4, 2, 4}, {16, 16, 8, 4, 4}};
  for (const auto& s : shapes)
    for (const char* rounding : {".rn", ".rz", ".rm", ".rp"})
      for (int cls = 0; cls < 7; ++cls) {
        Case c;
        std::ostringstream t;
        const std::string spelling =
            "mma.sync.aligned.m" + number(s.m) + "n8k" + number(s.k) + ".row.col" + rounding + ".f64.f64.f64.f64";
        c.name = spelling + " class " + number(cls);
        c.group = "mma_f64_rounding";
        c.operand_class = cls;
        const int n = s.a + s.b + s.d;
        take_wide(t, n);
        t << "  " << spelling << " " << list("%fd", n, s.d) << ", " << list("%fd", 0, s.a) << ", "
          << list("%fd", s.a, s.b) << ", " << list("%fd", s.a + s.b, s.d) << ";\n";
        give_wide(t, n, s.d);
        c.inputs.assign(size_t(2 * n), Fill::f64);
        c.outputs = 2 * s.d;
        c.text = t.str();
        out.push_back(std::move(c));
      }
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> c;
    sparse_cases(c);
    wmma_mma_cases(c);
    wmma_memory_cases(c);
    f64_cases(c);
    undefined_metadata_cases(c);
    return c;
  }();
  return cases;
}

}  // namespace conformance::warp_matrices
