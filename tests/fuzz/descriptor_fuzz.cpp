// Matrix descriptors, instruction descriptors and Tensor Memory addresses with every form of tcgen05.mma, cp, shift, ld
// and st, and of wgmma.
#include "tests/fuzz/form_program.h"
#include "tests/fuzz/target.h"

using namespace gen5::fuzz;

namespace {

/// tcgen05 instructions of one .cta_group, or of none. Allocation is the kernel's own.
FormList tensor_core(int group) {
  const std::string here = "cta_group::" + std::to_string(group), other = "cta_group::" + std::to_string(3 - group);
  FormList list;
  list.instructions = blackwell_instructions();
  std::erase_if(list.instructions, [&](const std::string& s) {
    return s.find("tcgen05") == s.npos || s.find("alloc") != s.npos || s.find(other) != s.npos;
  });
  list.before = "mov.u32 %value32, %tid.x; setp.lt.u32 %done, %value32, 32;\n@%done tcgen05.alloc." + here +
                ".sync.aligned.shared::cta.b32 [smem+16], 512;\n" +
                (group == 2 ? "barrier.cluster.arrive; barrier.cluster.wait;\n" : "");
  list.after = "@%first tcgen05.commit." + here + ".mbarrier::arrive::one.shared::cluster.b64 [smem+8];\n" +
               "mbarrier.try_wait.parity.shared.b64 %done, [smem+8], 0, 1000;\nbar.sync 0;\n" +
               (group == 2 ? "barrier.cluster.arrive; barrier.cluster.wait;\n" : "") +
               "ld.shared.b32 %base, [smem+16]; setp.lt.u32 %done, %lane, 32;\n@%done tcgen05.dealloc." + here +
               ".sync.aligned.b32 %base, 512;\n";
  return list;
}

FormList wgmma() {
  FormList list{.machine = "h200", .target = "sm_90a"};
  list.instructions = wgmma_instructions();
  list.before = "wgmma.fence.sync.aligned;\n";
  list.after = "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
  return list;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FormPrograms programs({tensor_core(1), tensor_core(2), wgmma()});
  Input in(data, size);
  programs.run(in, {});
  return 0;
}
