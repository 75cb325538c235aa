#include "tests/conformance/video/cases.h"

#include <string>

#include "tests/conformance/random.h"

namespace conformance::video {
namespace {

using warp::Case;
using warp::Fill;
using warp::number;

/// Two sources and c of random bits, or (class 1) of bytes at the ends of their range.
void add(std::vector<Case>& out, const std::string& group, const std::string& instruction) {
  for (int cls = 0; cls < 2; ++cls) {
    Case c;
    c.name = instruction + " class " + number(cls);
    c.group = group;
    c.operand_class = cls;
    c.inputs.assign(3, cls ? Fill::bytes : Fill::bits);
    c.outputs = 1;
    c.text = "  " + instruction + ";\n";
    out.push_back(std::move(c));
  }
}

const char* const kTypes[] = {"u32.u32.u32", "s32.s32.s32", "u32.s32.s32", "s32.u32.u32",
                              "u32.u32.s32", "s32.s32.u32", "u32.s32.u32", "s32.u32.s32"};
const char* const kPairs[] = {"u32.u32", "s32.s32", "u32.s32", "s32.u32"};
const char* const kParts[] = {"", "", ".b0", ".b1", ".b2", ".b3", ".h0", ".h1"};
const char* const kRelations[] = {"eq", "ne", "lt", "le", "gt", "ge"};

std::string part(Random& r) { return r.pick(kParts); }

/// All ways to write a scalar instruction: alone, with a second operation, into a part of c.
void add_scalar(std::vector<Case>& out, Random& r, const std::string& op, const std::string& sat) {
  const auto sources = [&] { return "%a0" + part(r) + ", %a1" + part(r); };
  add(out, "scalar", op + sat + " %d0, " + sources());
  for (const char* second : {".add", ".min", ".max"})
    add(out, "scalar", op + sat + second + " %d0, " + sources() + ", %a2");
  for (int i = 0; i < 2; ++i)
    add(out, "scalar", op + sat + " %d0" + kParts[2 + r.below(6)] + ", " + sources() + ", %a2");
}

void scalar_cases(std::vector<Case>& out, Random& r) {
  for (const char* op : {"vadd.", "vsub.", "vabsdiff.", "vmin.", "vmax."})
    for (const char* types : kTypes)
      for (const char* sat : {"", ".sat"}) add_scalar(out, r, op + std::string(types), sat);
  for (const char* op : {"vshl.", "vshr."})
    for (const char* types : {"u32.u32.u32", "s32.s32.u32", "u32.s32.u32", "s32.u32.u32"})
      for (const char* mode : {".clamp", ".wrap"})
        for (const char* sat : {"", ".sat"}) {
          const std::string spelling = op + std::string(types) + sat + mode;
          // Small distances as well: %r1.
          add(out, "shift", spelling + " %d0, %a0" + part(r) + ", %a1" + part(r));
          add(out, "shift", "and.b32 %r1, %a1, 63;\n  " + spelling + " %d0, %a0" + part(r) + ", %r1");
          add(out, "shift", "and.b32 %r1, %a1, 31;\n  " + spelling + ".add %d0, %a0, %r1, %a2");
          add(out, "shift", "and.b32 %r1, %a1, 15;\n  " + spelling + ".max %d0, %a0" + part(r) + ", %r1, %a2");
          add(out, "shift",
              "and.b32 %r1, %a1, 15;\n  " + spelling + " %d0" + kParts[2 + r.below(6)] + ", %a0, %r1, %a2");
        }
  for (const char* types : kTypes)
    for (const char* sat : {"", ".sat"})
      for (const char* scale : {"", ".shr7", ".shr15"}) {
        const std::string head = "vmad." + std::string(types);
        for (const char* signs : {"   ", "-  ", " - ", "-- ", "  -"}) {
          const auto sign = [&](int i) { return signs[i] == '-' ? "-" : ""; };
          add(out, "vmad",
              head + sat + scale + " %d0, " + sign(0) + "%a0" + part(r) + ", " + sign(1) + "%a1" + part(r) + ", " +
                  sign(2) + "%a2");
        }
        add(out, "vmad", head + ".po" + sat + scale + " %d0, %a0" + part(r) + ", %a1" + part(r) + ", %a2");
      }
  for (const char* types : kPairs)
    for (const char* relation : kRelations) add_scalar(out, r, "vset." + std::string(types) + "." + relation, "");
}

/// A random selector of the lanes of both sources.
std::string lanes(Random& r, int n) {
  if (r.one_in(3)) return "";
  std::string s = n == 2 ? ".h" : ".b";
  for (int i = 0; i < n; ++i) s += char('0' + r.below(uint64_t(2 * n)));
  return s;
}
std::string mask(Random& r, int n) {
  if (r.one_in(2)) return "";
  const uint64_t bits = 1 + r.below((1u << n) - 1);
  std::string s = n == 2 ? ".h" : ".b";
  for (int i = n - 1; i >= 0; --i)
    if (bits >> i & 1) s += char('0' + i);
  return s;
}

void lane_cases(std::vector<Case>& out, Random& r) {
  for (int n : {2, 4}) {
    const std::string group = n == 2 ? "halves" : "bytes";
    const auto all = [&](const std::string& spelling) {
      add(out, group, spelling + " %d0, %a0, %a1, %a2");
      add(out, group, spelling + " %d0" + mask(r, n) + ", %a0" + lanes(r, n) + ", %a1" + lanes(r, n) + ", %a2");
    };
    for (const char* op : {"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"})
      for (const char* types : kTypes)
        for (const char* how : {"", ".sat", ".add"}) all(op + number(n) + "." + types + how);
    for (const char* types : kPairs)
      for (const char* relation : kRelations)
        for (const char* how : {"", ".add"}) all("vset" + number(n) + "." + types + "." + relation + how);
  }
}

// ---- isspacep

void space_cases(std::vector<Case>& out) {
  for (const char* space : {"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param"}) {
    Case c;
    c.name = std::string("isspacep.") + space;
    c.group = "isspacep";
    c.inputs = {Fill::bits};
    c.outputs = 5;
    // Generic addresses of the results, of shared and local memory, of a parameter and of a constant.
    c.text =
        "  .local .align 8 .b8 stack[16];\n"
        "  mov.b64 %rd1, %mine;\n"
        "  mov.u64 %rd2, smem;\n  cvta.shared.u64 %rd2, %rd2;\n"
        "  mov.u64 %rd3, stack;\n  cvta.local.u64 %rd3, %rd3;\n"
        "  mov.u64 %rd4, pin;\n  cvta.param.u64 %rd4, %rd4;\n"
        "  mov.b64 %rd5, 0;\n";
    for (int i = 0; i < 5; ++i)
      c.text += "  isspacep." + std::string(space) + " %p1, %rd" + number(i + 1) + ";\n  selp.b32 %d" + number(i) +
                ", 1, 0, %p1;\n";
    out.push_back(std::move(c));
  }
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> c;
    Random r(0x766964656f);
    scalar_cases(c, r);
    lane_cases(c, r);
    space_cases(c);
    return c;
  }();
  return cases;
}

}  // namespace conformance::video
