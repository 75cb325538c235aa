// Where static and dynamic shared memory lie. Expected are the addresses in the SASS, and the sizes of .nv.shared, that
// ptxas 13.0.88 makes of the same PTX (-arch=sm_90a and sm_100a, whole programs; read with nvdisasm and readelf).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

using ::testing::ElementsAre;

/// Instructions that write the addresses of `names` to the kernel's buffer, from word `at` on.
std::string addresses(const std::vector<std::string>& names, size_t at = 0) {
  std::string out = "ld.global.u64 %out, [result];\n";
  for (const std::string& name : names)
    out += "mov.u32 %a, " + name + "; st.global.u32 [%out + " + std::to_string(4 * at++) + "], %a;\n";
  return out;
}
/// `declarations` of the kernel's, then `body`.
std::string entry(const std::string& declarations, const std::string& body) {
  return ".visible .entry k(.param .u64 p) { .reg .b64 %out; .reg .b32 %a;\n" + declarations +
         "ld.param.u64 %out, [p]; st.global.u64 [result], %out;\n" + body + "ret; }\n";
}
std::string function(const std::string& name, const std::string& declarations, const std::string& body) {
  return ".func " + name + "() { .reg .b64 %out; .reg .b32 %a;\n" + declarations + body + "ret; }\n";
}

struct Layout {
  std::vector<uint32_t> at;  // in the order of addresses()
  uint32_t bytes;            // with the 0x400 that CUDA keeps
};
Layout run(const std::string& ptx, size_t count) {
  RunPtx run(".global .u64 result;\n" + ptx);
  const uint64_t out = run.upload(std::vector<uint32_t>(count, 0));
  run.launch("k", {1}, {1}, out);
  return {run.download<uint32_t>(out, count), kSharedBase + run.program->find("k")->static_shared};
}

TEST(SharedLayout, AKernelsVariablesInOrderOfDeclarationThenItsModules) {
  // Named in another order than declared. `fu` is named nowhere: it only takes room, at the end; `mu` of the module
  // none.
  const Layout l =
      run(".shared .align 4 .b8 ma[28];\n.shared .align 1 .b8 mb[3];\n.shared .align 16 .b8 mc[64];\n"
          ".shared .align 4 .b8 mu[1000];\n" +
              entry(".shared .align 4 .b8 fa[12];\n.shared .align 32 .b8 fb[40];\n.shared .align 4 .b8 fu[500];\n"
                    ".shared .align 1 .b8 fc[1];\n.shared .align 8 .b8 fd[8];\n",
                    addresses({"fd", "fc", "fb", "fa", "mc", "mb", "ma"})),
          7);
  EXPECT_THAT(l.at, ElementsAre(0x450, 0x448, 0x420, 0x400, 0x480, 0x474, 0x458));
  EXPECT_EQ(l.bytes, 0x6b4u);
}

TEST(SharedLayout, NamesDoNotDecide) {
  const Layout l =
      run(".shared .align 8 .b8 zz[100];\n.shared .align 64 .b8 gh[100];\n.shared .align 64 .b8 pp[20];\n"
          ".shared .align 4 .b8 cc[100];\n" +
              entry(".shared .align 8 .b8 aa[8];\n.shared .align 16 .b8 bq[64];\n.shared .align 16 .b8 mm[64];\n"
                    ".shared .align 1 .b8 xk[64];\n.shared .align 4 .b8 ef[20];\n",
                    addresses({"zz", "pp", "mm", "cc", "bq", "ef", "xk", "gh"})),
          8);
  EXPECT_THAT(l.at, ElementsAre(0x4d8, 0x5c0, 0x440, 0x5d4, 0x400, 0x4c0, 0x480, 0x540));
  EXPECT_EQ(l.bytes, 0x640u);
}

TEST(SharedLayout, ScopesInsideAKernel) {
  const Layout l =
      run(entry(".shared .align 4 .b8 k1[12];\n", "{ .shared .align 4 .b8 k2[8];\n" + addresses({"k2", "k1"}) +
                                                      "{ .shared .align 4 .b8 k2[20];\n" + addresses({"k2"}, 2) +
                                                      "} }\n.shared .align 4 .b8 k3[4];\n" + addresses({"k3"}, 3)),
          4);
  EXPECT_THAT(l.at, ElementsAre(0x40c, 0x400, 0x414, 0x428));
  EXPECT_EQ(l.bytes, 0x42cu);
}

constexpr const char* kModule =
    ".shared .align 4 .b8 m1[8];\n.shared .align 4 .b8 m2[8];\n.shared .align 4 .b8 m3[8];\n"
    ".shared .align 4 .b8 m4[8];\n.shared .align 4 .b8 m5[8];\n";
std::string three(const std::string& name) {
  const char n = name[0];
  std::string out;
  for (const char* which : {"1", "2", "u"}) out += std::string(".shared .align 4 .b8 ") + n + which + "[8];\n";
  return out;
}

// Functions' variables come last, in the order in which functions are defined, and no two overlap.
TEST(SharedLayout, FunctionsThatAKernelCalls) {
  const auto program = [](const std::string& calls_of_k, const std::string& calls_of_f) {
    return kModule + function("g", three("g"), addresses({"g2", "m3", "g1"}, 8)) +
           function("f", three("f"), addresses({"f2", "m1", "f1", "m5"}, 4) + calls_of_f) +
           entry(three("k"), addresses({"k2", "m5", "k1", "m2"}) + calls_of_k);
  };
  for (const auto& [k, f] : {std::pair("call.uni f;\n", "call.uni g;\n"), {"call.uni g;\ncall.uni f;\n", ""}}) {
    const Layout l = run(program(k, f), 11);
    EXPECT_THAT(l.at, ElementsAre(0x408, 0x428, 0x400, 0x418, 0x448, 0x410, 0x440, 0x428, 0x438, 0x420, 0x430)) << k;
    EXPECT_EQ(l.bytes, 0x468u);
  }
  // What is not called takes nothing.
  const Layout l = run(program("call.uni f;\n", ""), 8);
  EXPECT_THAT(l.at, ElementsAre(0x408, 0x420, 0x400, 0x418, 0x430, 0x410, 0x428, 0x420));
  EXPECT_EQ(l.bytes, 0x448u);
}

TEST(SharedLayout, TheSameFunctionInTwoKernels) {
  RunPtx run(".global .u64 result;\n" + function("f", ".shared .align 4 .b8 f1[8];\n", addresses({"f1"}, 1)) +
             entry(".shared .align 4 .b8 k1[40];\n", addresses({"k1"}) + "call.uni f;\n") +
             ".visible .entry small(.param .u64 p) { .reg .b64 %out;\n"
             "ld.param.u64 %out, [p]; st.global.u64 [result], %out; call.uni f; ret; }\n");
  const uint64_t out = run.upload(std::vector<uint32_t>(2, 0));
  run.launch("k", {1}, {1}, out);
  EXPECT_THAT(run.download<uint32_t>(out, 2), ElementsAre(0x400, 0x428));
  run.launch("small", {1}, {1}, out);
  EXPECT_EQ(run.download<uint32_t>(out, 2)[1], 0x400u);
}

TEST(SharedLayout, FunctionsThatAreCalledByPointers) {
  const Layout l = run(".shared .align 4 .b8 m1[5];\n.shared .align 4 .b8 m2[8];\n" +
                           function("f", ".shared .align 4 .b8 f1[8];\n", addresses({"f1", "m1"}, 1)) +
                           function("g", ".shared .align 4 .b8 g1[8];\n", addresses({"g1", "m2"}, 3)) +
                           ".global .u64 table[2] = {f, g};\n" +
                           entry(".shared .align 4 .b8 k1[12];\n.reg .b64 %f;\n",
                                 addresses({"k1"}) + "P: .callprototype _ ();\n"
                                                     "ld.global.u64 %f, [table]; call %f, (), P;\n"
                                                     "ld.global.u64 %f, [table + 8]; call %f, (), P;\n"),
                       5);
  EXPECT_THAT(l.at, ElementsAre(0x400, 0x41c, 0x40c, 0x424, 0x414));
  EXPECT_EQ(l.bytes, 0x42cu);
}

TEST(SharedLayout, DynamicMemoryBeginsBehindWhatIsNamed) {
  const auto dynamic = [](int align) { return ".extern .shared .align " + std::to_string(align) + " .b8 dyn[];\n"; };
  const std::string m1 = ".shared .align 4 .b8 m1[5];\n", k1 = ".shared .align 1 .b8 k1[9];\n";
  struct Case {
    std::string module, kernel;
    uint32_t at, bytes;
  };
  for (const Case& c : {Case{dynamic(1) + m1, k1 + ".shared .align 1 .b8 un[3];\n", 0x420, 0x420},
                        Case{dynamic(128) + m1, k1 + ".shared .align 1 .b8 un[3];\n", 0x480, 0x480},
                        Case{dynamic(1024) + m1, k1 + ".shared .align 1 .b8 un[3];\n", 0x800, 0x800},
                        Case{dynamic(16) + m1, k1 + ".shared .align 1 .b8 un[100];\n", 0x420, 0x480},
                        // A second one that is not named rounds the size.
                        Case{dynamic(16) + ".extern .shared .align 256 .b8 other[];\n" + m1, k1, 0x420, 0x500}}) {
    const Layout l = run(c.module + entry(c.kernel, addresses({"dyn", "m1", "k1"})), 3);
    EXPECT_THAT(l.at, ElementsAre(c.at, 0x40c, 0x400)) << c.module << c.kernel;
    EXPECT_EQ(l.bytes, c.bytes) << c.module << c.kernel;
  }
  const Layout none = run(dynamic(16) + entry("", addresses({"dyn"})), 1);
  EXPECT_THAT(none.at, ElementsAre(0x400));
  EXPECT_EQ(none.bytes, 0x400u);
  const Layout unnamed =
      run(dynamic(128) + m1 + entry(k1 + ".shared .align 32 .b8 un[3];\n", addresses({"m1", "k1"})), 2);
  EXPECT_EQ(unnamed.bytes, 0x480u);
  const Layout called = run(dynamic(128) + m1 + function("f", "", addresses({"dyn"}, 2)) +
                                entry(k1, addresses({"m1", "k1"}) + "call.uni f;\n"),
                            3);
  EXPECT_THAT(called.at, ElementsAre(0x40c, 0x400, 0x480));
  EXPECT_EQ(called.bytes, 0x480u);
}

}  // namespace
}  // namespace tinygpu::test
