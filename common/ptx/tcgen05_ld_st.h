// tcgen05.ld, st and wait (PTX ISA 9.7.16.8): registers of a warp to and from Tensor Memory. Executed by a whole,
// converged warp; warp w of a CTA reaches lanes 32·(w mod 4) … +31, and the address must name the first of them (with
// the 16-lane shapes also the seventeenth).
//
// One function, one instruction. The array's length picks the repeat: tcgen05_ld_16x256b(uint32_t (&r)[8], a) is
// tcgen05.ld.sync.aligned.16x256b.x2.b32. Which cell r[i] of thread t is, chapter 04 shows; in short, relative to the
// address:
//
//   32x32b    lane t                          column i
//   16x64b    lane t/4 + 8·(t%2)              column t/2%2 + 2i
//   16x128b   lane t/4 + 8·(i%2)              column t%4 + 4·(i/2)
//   16x256b   lane t/4 + 8·(i/2%2)            column i%2 + 2·(t%4) + 8·(i/4)
//   16x32bx2  lane t%16                       column i, threads 16 to 31 kSplit columns further
//
// _pack16b and _unpack16b: a register is the low halves of two neighbouring columns, and the columns above count
// double.
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// Waits for this thread's tcgen05.ld: registers hold their values and the cells may be overwritten.
GEN5_PTX void tcgen05_wait_ld() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }

/// Waits for this thread's tcgen05.st: the cells are written.
GEN5_PTX void tcgen05_wait_st() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

// clang-format off
// Registers 0 … n−1 as operand names and as operands; inline assembly knows no loops.
#define GEN5_NAMES_1 "%0"
#define GEN5_NAMES_2 "%0,%1"
#define GEN5_NAMES_4 GEN5_NAMES_2 ",%2,%3"
#define GEN5_NAMES_8 GEN5_NAMES_4 ",%4,%5,%6,%7"
#define GEN5_NAMES_16 GEN5_NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define GEN5_NAMES_32 GEN5_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define GEN5_NAMES_64 GEN5_NAMES_32 \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55" \
  ",%56,%57,%58,%59,%60,%61,%62,%63"
#define GEN5_NAMES_128 GEN5_NAMES_64 \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87" \
  ",%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111" \
  ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define GEN5_OUT_1(r, i) "=r"((r)[i])
#define GEN5_OUT_2(r, i) GEN5_OUT_1(r, i), GEN5_OUT_1(r, (i) + 1)
#define GEN5_OUT_4(r, i) GEN5_OUT_2(r, i), GEN5_OUT_2(r, (i) + 2)
#define GEN5_OUT_8(r, i) GEN5_OUT_4(r, i), GEN5_OUT_4(r, (i) + 4)
#define GEN5_OUT_16(r, i) GEN5_OUT_8(r, i), GEN5_OUT_8(r, (i) + 8)
#define GEN5_OUT_32(r, i) GEN5_OUT_16(r, i), GEN5_OUT_16(r, (i) + 16)
#define GEN5_OUT_64(r, i) GEN5_OUT_32(r, i), GEN5_OUT_32(r, (i) + 32)
#define GEN5_OUT_128(r, i) GEN5_OUT_64(r, i), GEN5_OUT_64(r, (i) + 64)
#define GEN5_IN_1(r, i) "r"((r)[i])
#define GEN5_IN_2(r, i) GEN5_IN_1(r, i), GEN5_IN_1(r, (i) + 1)
#define GEN5_IN_4(r, i) GEN5_IN_2(r, i), GEN5_IN_2(r, (i) + 2)
#define GEN5_IN_8(r, i) GEN5_IN_4(r, i), GEN5_IN_4(r, (i) + 4)
#define GEN5_IN_16(r, i) GEN5_IN_8(r, i), GEN5_IN_8(r, (i) + 8)
#define GEN5_IN_32(r, i) GEN5_IN_16(r, i), GEN5_IN_16(r, (i) + 16)
#define GEN5_IN_64(r, i) GEN5_IN_32(r, i), GEN5_IN_32(r, (i) + 32)
#define GEN5_IN_128(r, i) GEN5_IN_64(r, i), GEN5_IN_64(r, (i) + 64)

#define GEN5_TMEM_ACCESS(shape, num, n)                                                                                       \
  GEN5_PTX void tcgen05_ld_##shape(uint32_t (&r)[n], uint32_t address) {                                                      \
    asm volatile("tcgen05.ld.sync.aligned." #shape ".x" #num ".b32 {" GEN5_NAMES_##n "}, [%" #n "];"                          \
                 : GEN5_OUT_##n(r, 0) : "r"(address) : "memory");                                                             \
  }                                                                                                                           \
  GEN5_PTX void tcgen05_ld_##shape##_pack16b(uint32_t (&r)[n], uint32_t address) {                                            \
    asm volatile("tcgen05.ld.sync.aligned." #shape ".x" #num ".pack::16b.b32 {" GEN5_NAMES_##n "}, [%" #n "];"                \
                 : GEN5_OUT_##n(r, 0) : "r"(address) : "memory");                                                             \
  }                                                                                                                           \
  GEN5_PTX void tcgen05_st_##shape(uint32_t address, const uint32_t (&r)[n]) {                                                \
    asm volatile("tcgen05.st.sync.aligned." #shape ".x" #num ".b32 [%" #n "], {" GEN5_NAMES_##n "};"                          \
                 ::GEN5_IN_##n(r, 0), "r"(address) : "memory");                                                               \
  }                                                                                                                           \
  GEN5_PTX void tcgen05_st_##shape##_unpack16b(uint32_t address, const uint32_t (&r)[n]) {                                    \
    asm volatile("tcgen05.st.sync.aligned." #shape ".x" #num ".unpack::16b.b32 [%" #n "], {" GEN5_NAMES_##n "};"              \
                 ::GEN5_IN_##n(r, 0), "r"(address) : "memory");                                                               \
  }

// The split offset follows the address; it must be an immediate.
#define GEN5_TMEM_SPLIT_ACCESS(num, n, next)                                                                                  \
  template <int kSplit>                                                                                                       \
  GEN5_PTX void tcgen05_ld_16x32bx2(uint32_t (&r)[n], uint32_t address) {                                                     \
    asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x" #num ".b32 {" GEN5_NAMES_##n "}, [%" #n "], %" #next ";"                \
                 : GEN5_OUT_##n(r, 0) : "r"(address), "n"(kSplit) : "memory");                                                \
  }                                                                                                                           \
  template <int kSplit>                                                                                                       \
  GEN5_PTX void tcgen05_ld_16x32bx2_pack16b(uint32_t (&r)[n], uint32_t address) {                                             \
    asm volatile("tcgen05.ld.sync.aligned.16x32bx2.x" #num ".pack::16b.b32 {" GEN5_NAMES_##n "}, [%" #n "], %" #next ";"      \
                 : GEN5_OUT_##n(r, 0) : "r"(address), "n"(kSplit) : "memory");                                                \
  }                                                                                                                           \
  template <int kSplit>                                                                                                       \
  GEN5_PTX void tcgen05_st_16x32bx2(uint32_t address, const uint32_t (&r)[n]) {                                               \
    asm volatile("tcgen05.st.sync.aligned.16x32bx2.x" #num ".b32 [%" #n "], %" #next ", {" GEN5_NAMES_##n "};"                \
                 ::GEN5_IN_##n(r, 0), "r"(address), "n"(kSplit) : "memory");                                                  \
  }                                                                                                                           \
  template <int kSplit>                                                                                                       \
  GEN5_PTX void tcgen05_st_16x32bx2_unpack16b(uint32_t address, const uint32_t (&r)[n]) {                                     \
    asm volatile("tcgen05.st.sync.aligned.16x32bx2.x" #num ".unpack::16b.b32 [%" #n "], %" #next ", {" GEN5_NAMES_##n "};"    \
                 ::GEN5_IN_##n(r, 0), "r"(address), "n"(kSplit) : "memory");                                                  \
  }

GEN5_TMEM_ACCESS(32x32b, 1, 1) GEN5_TMEM_ACCESS(32x32b, 2, 2) GEN5_TMEM_ACCESS(32x32b, 4, 4) GEN5_TMEM_ACCESS(32x32b, 8, 8)
GEN5_TMEM_ACCESS(32x32b, 16, 16) GEN5_TMEM_ACCESS(32x32b, 32, 32) GEN5_TMEM_ACCESS(32x32b, 64, 64) GEN5_TMEM_ACCESS(32x32b, 128, 128)
GEN5_TMEM_ACCESS(16x64b, 1, 1) GEN5_TMEM_ACCESS(16x64b, 2, 2) GEN5_TMEM_ACCESS(16x64b, 4, 4) GEN5_TMEM_ACCESS(16x64b, 8, 8)
GEN5_TMEM_ACCESS(16x64b, 16, 16) GEN5_TMEM_ACCESS(16x64b, 32, 32) GEN5_TMEM_ACCESS(16x64b, 64, 64) GEN5_TMEM_ACCESS(16x64b, 128, 128)
GEN5_TMEM_ACCESS(16x128b, 1, 2) GEN5_TMEM_ACCESS(16x128b, 2, 4) GEN5_TMEM_ACCESS(16x128b, 4, 8) GEN5_TMEM_ACCESS(16x128b, 8, 16)
GEN5_TMEM_ACCESS(16x128b, 16, 32) GEN5_TMEM_ACCESS(16x128b, 32, 64) GEN5_TMEM_ACCESS(16x128b, 64, 128)
GEN5_TMEM_ACCESS(16x256b, 1, 4) GEN5_TMEM_ACCESS(16x256b, 2, 8) GEN5_TMEM_ACCESS(16x256b, 4, 16) GEN5_TMEM_ACCESS(16x256b, 8, 32)
GEN5_TMEM_ACCESS(16x256b, 16, 64) GEN5_TMEM_ACCESS(16x256b, 32, 128)
GEN5_TMEM_SPLIT_ACCESS(1, 1, 2) GEN5_TMEM_SPLIT_ACCESS(2, 2, 3) GEN5_TMEM_SPLIT_ACCESS(4, 4, 5) GEN5_TMEM_SPLIT_ACCESS(8, 8, 9)
GEN5_TMEM_SPLIT_ACCESS(16, 16, 17) GEN5_TMEM_SPLIT_ACCESS(32, 32, 33) GEN5_TMEM_SPLIT_ACCESS(64, 64, 65) GEN5_TMEM_SPLIT_ACCESS(128, 128, 129)

#undef GEN5_TMEM_ACCESS
#undef GEN5_TMEM_SPLIT_ACCESS
#undef GEN5_NAMES_1
#undef GEN5_OUT_1
#undef GEN5_IN_1
#undef GEN5_NAMES_2
#undef GEN5_OUT_2
#undef GEN5_IN_2
#undef GEN5_NAMES_4
#undef GEN5_OUT_4
#undef GEN5_IN_4
#undef GEN5_NAMES_8
#undef GEN5_OUT_8
#undef GEN5_IN_8
#undef GEN5_NAMES_16
#undef GEN5_OUT_16
#undef GEN5_IN_16
#undef GEN5_NAMES_32
#undef GEN5_OUT_32
#undef GEN5_IN_32
#undef GEN5_NAMES_64
#undef GEN5_OUT_64
#undef GEN5_IN_64
#undef GEN5_NAMES_128
#undef GEN5_OUT_128
#undef GEN5_IN_128
// clang-format on

}  // namespace gen5::ptx
