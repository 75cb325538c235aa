// PTX kernels of the tensor-copy tests: one for each rank and mode.
#pragma once
#include <string>

namespace tinygpu::test {

inline std::string coordinates(int n) {
  std::string s = "{";
  for (int i = 0; i < n; ++i) s += (i ? ", %c" : "%c") + std::to_string(i);
  return s + "}";
}

/// Parameters: map, pointer to dumped or source bytes, bytes, offset of the box in shared memory, five coordinates,
/// three im2col operands. `copy` is the instruction; it may use %box (shared address), %map, %bar, %c0 … %c4, %h0 …
/// %h2. The load kernel fills shared memory with 0xEE, copies, waits and dumps; the store kernel fills it from memory
/// first.
inline std::string tensor_kernel(const std::string& name, bool load, const std::string& copy) {
  std::string s = ".visible .entry " + name + R"((.param .align 64 .b8 map[128], .param .u64 data, .param .u32 bytes,
    .param .u32 at, .param .s32 x0, .param .s32 x1, .param .s32 x2, .param .s32 x3, .param .s32 x4,
    .param .u16 y0, .param .u16 y1, .param .u16 y2)
{
  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .b64 %map; .reg .b32 %box, %bar; .reg .b32 %c<5>; .reg .b16 %h<3>;
  .shared .align 8 .b64 barrier;
  .extern .shared .align 1024 .b8 buffer[];
  mov.b64 %rd0, map; cvta.param.u64 %map, %rd0;
  ld.param.u64 %rd1, [data]; ld.param.u32 %r1, [bytes]; ld.param.u32 %r2, [at];
)";
  for (int i = 0; i < 5; ++i) s += "  ld.param.s32 %c" + std::to_string(i) + ", [x" + std::to_string(i) + "];\n";
  for (int i = 0; i < 3; ++i) s += "  ld.param.u16 %h" + std::to_string(i) + ", [y" + std::to_string(i) + "];\n";
  s += R"(
  mov.u32 %r3, buffer; add.u32 %box, %r3, %r2; mov.u32 %bar, barrier;
  mov.u32 %r4, %tid.x; shl.b32 %r4, %r4, 2;
FILL: setp.ge.u32 %p0, %r4, %r1; @%p0 bra FILLED;
  add.u32 %r5, %r3, %r4; cvt.u64.u32 %rd2, %r4; add.u64 %rd3, %rd1, %rd2;
)";
  s += load ? "  mov.u32 %r6, 0xeeeeeeee;\n" : "  ld.global.u32 %r6, [%rd3];\n";
  s += R"(  st.shared.u32 [%r5], %r6;
  add.u32 %r4, %r4, 512; bra FILL;
FILLED:
  mov.u32 %r7, %tid.x; setp.ne.u32 %p1, %r7, 0;
  @!%p1 mbarrier.init.shared.b64 [%bar], 1;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  @%p1 bra WAIT;
)";
  if (load) s += "  mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 0x80000;\n";
  s += "  " + copy + "\n";
  if (load) {
    // Balances the transactions: what has landed is 0x80000 - tx, which the final word shows.
    s += R"(  nanosleep.u32 100000;
  mbarrier.inval.shared.b64 [%bar]; ld.shared.u64 %rd4, [%bar];
  cvt.u64.u32 %rd5, %r1; add.u64 %rd6, %rd1, %rd5; st.global.u64 [%rd6], %rd4;
WAIT: bar.sync 0;
  mov.u32 %r4, %tid.x; shl.b32 %r4, %r4, 2;
DUMP: setp.ge.u32 %p0, %r4, %r1; @%p0 bra DONE;
  add.u32 %r5, %r3, %r4; cvt.u64.u32 %rd2, %r4; add.u64 %rd3, %rd1, %rd2;
  ld.shared.u32 %r6, [%r5]; st.global.u32 [%rd3], %r6;
  add.u32 %r4, %r4, 512; bra DUMP;
DONE: ret;
}
)";
  } else {
    s += R"(  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
WAIT: ret;
}
)";
  }
  return s;
}

inline std::string load_kernels() {
  std::string s;
  for (int rank = 1; rank <= 5; ++rank) {
    const std::string r = std::to_string(rank), tail = "[%box], [%map, " + coordinates(rank) + "], [%bar]";
    s += tensor_kernel(
        "tile" + r, true,
        "cp.async.bulk.tensor." + r + "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes " + tail + ";");
    if (rank < 3) continue;
    std::string offsets = "{%h0";
    for (int i = 1; i < rank - 2; ++i) offsets += ", %h" + std::to_string(i);
    s += tensor_kernel("im2col" + r, true,
                       "cp.async.bulk.tensor." + r + "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes " +
                           tail + ", " + offsets + "};");
    s += tensor_kernel("im2colw" + r, true,
                       "cp.async.bulk.tensor." + r +
                           "d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes " + tail + ", {%h0, %h1};");
    s += tensor_kernel("im2colw128_" + r, true,
                       "cp.async.bulk.tensor." + r +
                           "d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes " + tail +
                           ", {%h0, %h1};");
  }
  s += tensor_kernel(
      "gather4", true,
      "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [%box], [%map, " +
          coordinates(5) + "], [%bar];");
  return s;
}

inline std::string store_kernels() {
  std::string s;
  for (int rank = 1; rank <= 5; ++rank) {
    const std::string r = std::to_string(rank), tail = "[%map, " + coordinates(rank) + "], [%box];";
    s +=
        tensor_kernel("store" + r, false, "cp.async.bulk.tensor." + r + "d.global.shared::cta.tile.bulk_group " + tail);
    if (rank >= 3)
      s += tensor_kernel("im2col_store" + r, false,
                         "cp.async.bulk.tensor." + r + "d.global.shared::cta.im2col_no_offs.bulk_group " + tail);
    for (const char* op : {"add", "min", "max", "inc", "dec", "and", "or", "xor"})
      s +=
          tensor_kernel(std::string("reduce_") + op + r, false,
                        "cp.reduce.async.bulk.tensor." + r + "d.global.shared::cta." + op + ".tile.bulk_group " + tail);
  }
  for (const char* mode : {"im2col_no_offs", "tile::scatter4"}) {
    const bool scatter = mode[0] == 't';
    s += tensor_kernel(scatter ? "reduce_scatter4" : "reduce_im2col3", false,
                       std::string("cp.reduce.async.bulk.tensor.") + (scatter ? "2d" : "3d") +
                           ".global.shared::cta.add." + mode + ".bulk_group [%map, " + coordinates(scatter ? 5 : 3) +
                           "], [%box];");
  }
  s += tensor_kernel(
      "scatter4", false,
      "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%map, " + coordinates(5) + "], [%box];");
  return s;
}

}  // namespace tinygpu::test
