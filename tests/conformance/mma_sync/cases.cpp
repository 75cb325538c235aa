#include "tests/conformance/mma_sync/cases.h"

#include <sstream>

#include "tests/support/ptx_type.h"

namespace conformance::warp {
namespace {

using tinygpu::test::bits_of;

// ---- mma.sync

struct Shape {
  int m, k;
};

void add_mma(std::vector<Case>& out, Shape s, const std::string& d, const std::string& a, const std::string& b,
             const std::string& c, int classes, const std::string& prefix = {}, const std::string& suffix = {},
             const std::string& layout = "row.col") {
  const bool volta = s.m == 8 && s.k == 4 && a == "f16";
  const bool wide = a == "f64";
  const int word = wide ? 64 : 32;
  const auto results = [&](const std::string& t) {
    return volta ? (t == "f16" ? 4 : 8) : s.m * 8 * bits_of(t) / 32 / word;
  };
  const int na = volta ? 2 : s.m * s.k * bits_of(a) / 32 / word, nb = volta ? 2 : 8 * s.k * bits_of(b) / 32 / word;
  const int nc = results(c), nd = results(d);
  const std::string spelling = "mma.sync.aligned.m" + number(s.m) + "n8k" + number(s.k) + "." + layout + prefix + "." +
                               d + "." + a + "." + b + "." + c + suffix;
  for (int cls = 0; cls < classes; ++cls) {
    Case x;
    x.name = spelling + " class " + number(cls);
    x.group = "mma";
    x.operand_class = cls;
    std::ostringstream t;
    if (wide) {
      const int total = na + nb + nc;
      for (int i = 0; i < total; ++i) t << "  mov.b64 %fd" << i << ", {%a" << 2 * i << ",%a" << 2 * i + 1 << "};\n";
      t << "  " << spelling << " " << list("%fd", total, nd) << ", " << list("%fd", 0, na) << ", "
        << list("%fd", na, nb) << ", " << list("%fd", na + nb, nc) << ";\n";
      for (int i = 0; i < nd; ++i)
        t << "  mov.b64 {%d" << 2 * i << ",%d" << 2 * i + 1 << "}, %fd" << total + i << ";\n";
      x.inputs.assign(size_t(2 * total), Fill::f64);
      x.outputs = 2 * nd;
    } else {
      t << "  " << spelling << " " << list("%d", 0, nd) << ", " << list("%a", 0, na) << ", " << list("%a", na, nb)
        << ", " << list("%a", na + nb, nc) << ";\n";
      x.inputs.insert(x.inputs.end(), size_t(na), fill_of(a));
      x.inputs.insert(x.inputs.end(), size_t(nb), fill_of(b));
      x.inputs.insert(x.inputs.end(), size_t(nc), c == "s32" ? Fill::bits : fill_of(c));
      x.outputs = nd;
    }
    x.text = t.str();
    out.push_back(std::move(x));
  }
}

void mma_cases(std::vector<Case>& out) {
  const int n = kOperandClasses;
  for (int k : {8, 16}) {
    add_mma(out, {16, k}, "f32", "f16", "f16", "f32", n);
    add_mma(out, {16, k}, "f16", "f16", "f16", "f16", n);
    add_mma(out, {16, k}, "f32", "bf16", "bf16", "f32", n);
  }
  for (int k : {4, 8}) add_mma(out, {16, k}, "f32", "tf32", "tf32", "f32", n);
  for (int k : {16, 32})
    for (const char* d : {"f32", "f16"})
      for (const char* a : {"e4m3", "e5m2"})
        for (const char* b : {"e4m3", "e5m2"}) add_mma(out, {16, k}, d, a, b, d, n);
  for (Shape s : {Shape{8, 16}, Shape{16, 16}, Shape{16, 32}})
    for (const char* a : {"s8", "u8"})
      for (const char* b : {"s8", "u8"})
        for (const char* satfinite : {"", ".satfinite"}) add_mma(out, s, "s32", a, b, "s32", 3, satfinite);
  for (Shape s : {Shape{8, 32}, Shape{16, 32}, Shape{16, 64}})
    for (const char* a : {"s4", "u4"})
      for (const char* b : {"s4", "u4"})
        for (const char* satfinite : {"", ".satfinite"}) add_mma(out, s, "s32", a, b, "s32", 2, satfinite);
  for (Shape s : {Shape{8, 128}, Shape{16, 128}, Shape{16, 256}})
    for (const char* op : {".xor.popc", ".and.popc"}) add_mma(out, s, "s32", "b1", "b1", "s32", 1, {}, op);
  for (Shape s : {Shape{8, 4}, Shape{16, 4}, Shape{16, 8}, Shape{16, 16}})
    add_mma(out, s, "f64", "f64", "f64", "f64", 7);
  for (const char* layout : {"row.col", "col.row", "row.row", "col.col"})
    for (const char* d : {"f16", "f32"})
      for (const char* c : {"f16", "f32"})
        if (std::string(d) == "f32" || std::string(c) == "f16")
          add_mma(out, {8, 4}, d, "f16", "f16", c, 8, {}, {}, layout);
}

// ---- ldmatrix, stmatrix, movmatrix

/// %r1: smem; %r2: the thread's 64 bytes, filled with %a1 … %a16; %r3, %rd1: the address of the row that %a0 names.
const char* kMatrixFill = R"(  mov.u32 %r1, smem;
  shl.b32 %r2, %t, 6;
  add.u32 %r2, %r1, %r2;
  st.shared.v4.b32 [%r2], {%a1,%a2,%a3,%a4};
  st.shared.v4.b32 [%r2+16], {%a5,%a6,%a7,%a8};
  st.shared.v4.b32 [%r2+32], {%a9,%a10,%a11,%a12};
  st.shared.v4.b32 [%r2+48], {%a13,%a14,%a15,%a16};
  add.u32 %r3, %r1, %a0;
  cvt.u64.u32 %rd1, %r3;
  cvta.shared.u64 %rd1, %rd1;
  bar.warp.sync 0xffffffff;
)";

void matrix_cases(std::vector<Case>& out) {
  std::vector<Fill> inputs(17, Fill::bits);
  inputs[0] = Fill::row;
  for (int seed = 0; seed < 2; ++seed)
    for (int n : {1, 2, 4})
      for (const char* trans : {"", ".trans"})
        for (const char* space : {"", ".shared", ".shared::cta"}) {
          const std::string address = *space ? "[%r3]" : "[%rd1]";
          const std::string form = ".sync.aligned.m8n8.x" + number(n) + trans + space + ".b16 ";
          Case load;
          load.name = "ldmatrix" + form + number(seed);
          load.group = "matrix";
          load.inputs = inputs;
          load.outputs = n;
          load.text = std::string(kMatrixFill) + "  ldmatrix" + form + list("%d", 0, n) + ", " + address + ";\n";
          out.push_back(load);
          Case store;
          store.name = "stmatrix" + form + number(seed);
          store.group = "matrix";
          store.inputs = inputs;
          store.outputs = 16;
          store.text = std::string(kMatrixFill) + "  stmatrix" + form + address + ", " + list("%a", 1, n) + ";\n" + R"(
  bar.warp.sync 0xffffffff;
  ld.shared.v4.b32 {%d0,%d1,%d2,%d3}, [%r2];
  ld.shared.v4.b32 {%d4,%d5,%d6,%d7}, [%r2+16];
  ld.shared.v4.b32 {%d8,%d9,%d10,%d11}, [%r2+32];
  ld.shared.v4.b32 {%d12,%d13,%d14,%d15}, [%r2+48];
)";
          out.push_back(store);
        }
  for (int seed = 0; seed < 2; ++seed)
    out.push_back({"movmatrix.sync.aligned.m8n8.trans.b16 " + number(seed),
                   "matrix",
                   "  movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;\n",
                   {Fill::bits},
                   1});
}

// ---- Shuffles, votes, match, redux, elect, barriers

constexpr const char* kFlag = "  selp.b32 %d1, 1, 0, %p0;\n";

void warp_cases(std::vector<Case>& out) {
  for (const char* mode : {"up", "down", "bfly", "idx"})
    for (int whole = 0; whole < 2; ++whole) {
      // Clamp and segment mask as __shfl_*_sync makes them for widths 32 to 1, or any bits.
      const std::string c = whole ? std::string(
                                        "  and.b32 %r1, %a2, 7;\n  min.u32 %r1, %r1, 5;\n  mov.u32 %r2, 1;\n"
                                        "  shl.b32 %r2, %r2, %r1;\n  sub.u32 %r3, 32, %r2;\n  shl.b32 %r3, %r3, 8;\n") +
                                        (std::string(mode) == "up" ? "" : "  or.b32 %r3, %r3, 31;\n")
                                  : "  mov.b32 %r3, %a2;\n";
      out.push_back({std::string("shfl.sync.") + mode + (whole ? " by width" : " any clamp"),
                     "shuffle",
                     c + "  shfl.sync." + mode + ".b32 %d0|%p0, %a0, %a1, %r3, 0xffffffff;\n" + kFlag,
                     {Fill::bits, Fill::bits, Fill::bits},
                     2});
    }
  // Halves of the warp by their own masks, in one instruction.
  out.push_back({"shfl.sync with two masks",
                 "shuffle",
                 R"(  setp.lt.u32 %p1, %t, 16;
  selp.b32 %r1, 0xffff, 0xffff0000, %p1;
  and.b32 %r2, %a1, 15;
  shfl.sync.bfly.b32 %d0|%p0, %a0, %r2, 0x1f, %r1;
)" + std::string(kFlag),
                 {Fill::bits, Fill::bits},
                 2});

  const char* truth = "  and.b32 %r1, %a0, 7;\n  and.b32 %r2, %a1, 1;\n  setp.ne.u32 %p1, %r1, 0;\n";
  for (const char* mode : {"all", "any", "uni"})
    for (const char* negate : {"", "!"})
      out.push_back({std::string("vote.sync.") + mode + " " + negate,
                     "vote",
                     std::string(truth) + "  vote.sync." + mode + ".pred %p0, " + negate + "%p1, 0xffffffff;\n" +
                         "  selp.b32 %d0, 1, 0, %p0;\n",
                     {Fill::bits, Fill::bits},
                     1});
  out.push_back({"vote.sync.ballot",
                 "vote",
                 std::string(truth) + "  vote.sync.ballot.b32 %d0, %p1, 0xffffffff;\n",
                 {Fill::bits, Fill::bits},
                 1});
  out.push_back({"match.any.sync.b32", "vote", "  match.any.sync.b32 %d0, %a0, 0xffffffff;\n", {Fill::small}, 1});
  out.push_back({"match.any.sync.b64",
                 "vote",
                 "  mov.b64 %rd1, {%a0,%a1};\n  match.any.sync.b64 %d0, %rd1, 0xffffffff;\n",
                 {Fill::small, Fill::small},
                 1});
  out.push_back({"match.all.sync.b32",
                 "vote",
                 "  and.b32 %r1, %a0, 8;\n  match.all.sync.b32 %d0|%p0, %r1, 0xffffffff;\n" + std::string(kFlag),
                 {Fill::small},
                 2});
  out.push_back({"match.all.sync.b64 differing",
                 "vote",
                 "  mov.b64 %rd1, {%a0,%a1};\n  match.all.sync.b64 %d0|%p0, %rd1, 0xffffffff;\n" + std::string(kFlag),
                 {Fill::small, Fill::small},
                 2});
  for (const char* op :
       {"add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"})
    out.push_back({std::string("redux.sync.") + op,
                   "redux",
                   std::string("  redux.sync.") + op + " %d0, %a0, 0xffffffff;\n",
                   {Fill::bits},
                   1});
  // A random subset of the warp (the same in all its lanes) elects; the others report ~0.
  out.push_back({"elect.sync in a subset",
                 "vote",
                 R"(  shfl.sync.idx.b32 %r1, %a0, 0, 0x1f, 0xffffffff;
  mov.b32 %d0, -1;
  mov.b32 %d1, -1;
  shr.u32 %r2, %r1, %t;
  and.b32 %r2, %r2, 1;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra OUT;
  elect.sync %d0|%p0, %r1;
  selp.b32 %d1, 1, 0, %p0;
OUT:
)",
                 {Fill::bits},
                 2});
  for (const char* op : {"add.u32", "max.s32", "xor.b32"})
    out.push_back({std::string("redux.sync.") + op + " in a subset",
                   "redux",
                   R"(  shfl.sync.idx.b32 %r1, %a1, 0, 0x1f, 0xffffffff;
  mov.b32 %d0, -1;
  shr.u32 %r2, %r1, %t;
  and.b32 %r2, %r2, 1;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra OUT;
  redux.sync.)" + std::string(op) +
                       R"( %d0, %a0, %r1;
OUT:
)",
                   {Fill::bits, Fill::bits},
                   1});
  for (int threads : {32, 96, 80}) {
    const std::string count = threads % 32 ? "" : " " + number(threads) + ",";
    const std::string pred = "  and.b32 %r1, %a0, 15;\n  setp.ne.u32 %p1, %r1, 0;\n";
    out.push_back({"bar.red.popc over " + number(threads),
                   "barrier",
                   pred + "  bar.red.popc.u32 %d0, 1," + count + " %p1;\n",
                   {Fill::bits},
                   1,
                   0,
                   threads});
    for (const char* op : {"and", "or"})
      out.push_back({"bar.red." + std::string(op) + " over " + number(threads),
                     "barrier",
                     pred + "  bar.red." + op + ".pred %p0, 2," + count + " !%p1;\n  selp.b32 %d0, 1, 0, %p0;\n",
                     {Fill::bits},
                     1,
                     0,
                     threads});
    out.push_back({"barrier.red.popc over " + number(threads),
                   "barrier",
                   pred + "  barrier.red.popc.u32 %d0, 3," + count + " !%p1;\n",
                   {Fill::bits},
                   1,
                   0,
                   threads});
  }
}

// ---- Atomics

/// One operation on a location of the thread's own: memory in the first words of the inputs, operands behind; results:
/// the old value, then what memory holds. `words`: 32-bit words of the location.
void add_atomic(std::vector<Case>& out, const std::string& op, const std::string& type, int words, Fill fill,
                int operands, int classes, const std::string& vector = {}) {
  for (const char* space : {"global", "shared"}) {
    const bool shared = *space == 's';
    if (shared && (!vector.empty())) continue;  // vectors reach global memory only
    for (int cls = 0; cls < classes; ++cls) {
      Case c;
      c.name = std::string("atom.") + space + "." + op + vector + "." + type + " class " + number(cls);
      c.group = "atomic";
      c.operand_class = cls;
      c.inputs.assign(size_t(words * (1 + operands)), fill);
      c.outputs = 2 * words;
      std::ostringstream t;
      // The location: the thread's place in the results (global), or its 16 bytes of shared memory.
      if (shared)
        t << "  mov.u32 %r1, smem;\n  shl.b32 %r2, %t, 4;\n  add.u32 %r1, %r1, %r2;\n  cvt.u64.u32 %rd1, %r1;\n";
      else
        t << "  mov.b64 %rd1, %mine;\n";
      const auto move = [&](const char* what, int first, const char* reg) {
        for (int i = 0; i < words; ++i)
          t << "  " << what << "." << space << ".b32 "
            << (what[0] == 's' ? "[%rd1+" : reg + number(first + i) + ", [%rd1+") << 4 * i << "]"
            << (what[0] == 's' ? ", " + (reg + number(first + i)) : "") << ";\n";
      };
      move("st", 0, "%a");
      const std::string head = std::string("atom.") + space + "." + op;
      if (!vector.empty()) {
        // .v2, .v4 of 32-bit elements; .v2, .v4, .v8 of 16-bit ones in %h registers.
        const int n = vector[2] - '0';
        const bool half = type == "f16" || type == "bf16";
        std::string mnemonic = "atom.global" + vector + "." + type + "." + op;
        if (half || type == "f16x2" || type == "bf16x2")
          mnemonic = "atom.global." + op + ".noftz" + vector + "." + type;
        if (type == "f32") mnemonic = "atom.global." + op + vector + ".f32";
        if (half) {
          for (int i = 0; i < words; ++i)
            t << "  mov.b32 {%h" << 2 * i << ",%h" << 2 * i + 1 << "}, %a" << words + i << ";\n";
          t << "  " << mnemonic << " " << list("%h", 16, n) << ", [%rd1], " << list("%h", 0, n) << ";\n";
          for (int i = 0; i < words; ++i)
            t << "  mov.b32 %d" << i << ", {%h" << 16 + 2 * i << ",%h" << 17 + 2 * i << "};\n";
        } else {
          t << "  " << mnemonic << " " << list("%d", 0, n) << ", [%rd1], " << list("%a", words, n) << ";\n";
        }
      } else if (words == 1 && (type == "f16" || type == "bf16" || type == "b16")) {
        t << "  mov.b32 {%h0,%h1}, %a1;\n";
        if (operands == 2) t << "  mov.b32 {%h2,%h3}, %a2;\n";
        t << "  " << head << (type == "b16" ? "" : ".noftz") << "." << type << " %h4, [%rd1], %h0"
          << (operands == 2 ? ", %h2" : "") << ";\n  cvt.u32.u16 %d0, %h4;\n";
      } else if (words == 1) {
        t << "  " << head << (type == "f16x2" || type == "bf16x2" ? ".noftz" : "") << "." << type << " %d0, [%rd1], %a1"
          << (operands == 2 ? ", %a2" : "") << ";\n";
      } else if (words == 2) {
        t << "  mov.b64 %rd2, {%a2,%a3};\n";
        if (operands == 2) t << "  mov.b64 %rd3, {%a4,%a5};\n";
        t << "  " << head << "." << type << " %rd4, [%rd1], %rd2" << (operands == 2 ? ", %rd3" : "") << ";\n"
          << "  mov.b64 {%d0,%d1}, %rd4;\n";
      } else {
        t << "  mov.b64 %rd2, {%a4,%a5};\n  mov.b64 %rd3, {%a6,%a7};\n  mov.b128 %q0, {%rd2,%rd3};\n";
        if (operands == 2)
          t << "  mov.b64 %rd2, {%a8,%a9};\n  mov.b64 %rd3, {%a10,%a11};\n  mov.b128 %q1, {%rd2,%rd3};\n";
        t << "  " << head << "." << type << " %q2, [%rd1], %q0" << (operands == 2 ? ", %q1" : "") << ";\n"
          << "  mov.b128 {%rd2,%rd3}, %q2;\n  mov.b64 {%d0,%d1}, %rd2;\n  mov.b64 {%d2,%d3}, %rd3;\n";
      }
      move("ld.volatile", words, "%d");
      c.text = t.str();
      out.push_back(std::move(c));
    }
  }
}

void atomic_cases(std::vector<Case>& out) {
  for (const char* op : {"add", "min", "max"})
    for (const char* type : {"u32", "s32"}) add_atomic(out, op, type, 1, Fill::bits, 1, 1);
  for (const char* op : {"inc", "dec"}) {
    add_atomic(out, op, "u32", 1, Fill::bits, 1, 1);
    add_atomic(out, op, "u32", 1, Fill::small, 1, 1);
  }
  for (const char* op : {"and", "or", "xor", "exch"})
    for (int words : {1, 2}) add_atomic(out, op, words == 1 ? "b32" : "b64", words, Fill::bits, 1, 1);
  for (const char* type : {"u64"}) add_atomic(out, "add", type, 2, Fill::bits, 1, 1);
  for (const char* op : {"min", "max"})
    for (const char* type : {"u64", "s64"}) add_atomic(out, op, type, 2, Fill::bits, 1, 1);
  add_atomic(out, "exch", "b128", 4, Fill::bits, 1, 1);
  add_atomic(out, "cas", "b16", 1, Fill::small, 2, 1);
  add_atomic(out, "cas", "b32", 1, Fill::small, 2, 1);
  add_atomic(out, "cas", "b64", 2, Fill::small, 2, 1);
  add_atomic(out, "cas", "b128", 4, Fill::small, 2, 1);
  add_atomic(out, "add", "f32", 1, Fill::f32, 1, 8);
  add_atomic(out, "add", "f64", 2, Fill::f64, 1, 7);
  add_atomic(out, "add", "f16", 1, Fill::f16x2, 1, 7);
  add_atomic(out, "add", "bf16", 1, Fill::bf16x2, 1, 7);
  add_atomic(out, "add", "f16x2", 1, Fill::f16x2, 1, 7);
  add_atomic(out, "add", "bf16x2", 1, Fill::bf16x2, 1, 7);
  for (const char* vector : {".v2", ".v4"}) {
    const int n = vector[2] - '0';
    add_atomic(out, "add", "f32", n, Fill::f32, 1, 7, vector);
    for (const char* op : {"add", "min", "max"}) {
      add_atomic(out, op, "f16x2", n, Fill::f16x2, 1, 3, vector);
      add_atomic(out, op, "bf16x2", n, Fill::bf16x2, 1, 3, vector);
      add_atomic(out, op, "f16", n / 2, Fill::f16x2, 1, 7, vector);
      add_atomic(out, op, "bf16", n / 2, Fill::bf16x2, 1, 7, vector);
    }
  }
}

// ---- cp.async

void copy_cases(std::vector<Case>& out) {
  struct Form {
    const char* level;
    int size;
  };
  for (Form f : {Form{"ca", 4}, Form{"ca", 8}, Form{"ca", 16}, Form{"cg", 16}})
    for (int how = 0; how < 3; ++how) {  // whole, src-size, ignore-src
      std::ostringstream t;
      t << "  mov.u32 %r1, smem;\n  shl.b32 %r2, %t, 4;\n  add.u32 %r1, %r1, %r2;\n  mov.b32 %r3, -1;\n"
        << "  st.shared.v4.b32 [%r1], {%r3,%r3,%r3,%r3};\n  st.global.v4.b32 [%mine], {%a1,%a2,%a3,%a4};\n  "
           "membar.sys;\n";
      t << "  rem.u32 %r4, %a0, " << f.size + 1 << ";\n  setp.lt.u32 %p0, %r4, 2;\n";
      t << "  cp.async." << f.level << ".shared.global [%r1], [%mine], " << f.size
        << (how == 1   ? ", %r4"
            : how == 2 ? ", %p0"
                       : "")
        << ";\n  cp.async.commit_group;\n  cp.async.wait_group 0;\n  ld.shared.v4.b32 {%d0,%d1,%d2,%d3}, [%r1];\n";
      out.push_back({std::string("cp.async.") + f.level + " " + number(f.size) +
                         (how == 1   ? " src-size"
                          : how == 2 ? " ignore-src"
                                     : ""),
                     "copy",
                     t.str(),
                     {Fill::bits, Fill::bits, Fill::bits, Fill::bits, Fill::bits},
                     4});
    }
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> c;
    mma_cases(c);
    matrix_cases(c);
    warp_cases(c);
    atomic_cases(c);
    copy_cases(c);
    return c;
  }();
  return cases;
}

}  // namespace conformance::warp
