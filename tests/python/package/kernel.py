"""A kernel without a front end: PTX text, loaded and launched through the driver API that the package stands in for."""

import ctypes

from gen5 import _library

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
# out[i] = i, for each thread of one CTA; `extra` is added to the address.
COUNT = HEAD + """
.visible .entry count(.param .u64 out, .param .u64 extra) {
  .reg .b32 %r<2>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [extra];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d2, %r0, 4;
  add.s64 %d0, %d0, %d2;
  add.s64 %d0, %d0, %d1;
  st.global.b32 [%d0], %r0;
  ret;
}
"""
# A barrier that half of the threads never reach.
STUCK = HEAD + """
.visible .entry stuck() {
  .reg .b32 %r<2>; .reg .pred %p0; .shared .align 8 .b64 bar;
  mov.u32 %r0, bar;
  mbarrier.init.shared.b64 [%r0], 1;
wait:
  mbarrier.test_wait.parity.shared.b64 %p0, [%r0], 0;
  @!%p0 bra wait;
  ret;
}
"""


def launch(ptx, name, *arguments, threads=32):
    """As cuda-python does it: the call that launches says nothing of what happens in the kernel."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _library.call("cuModuleLoadData", ctypes.byref(module), ptx.encode())
    _library.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
    values = [ctypes.c_uint64(a) for a in arguments]
    pointers = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(v) for v in values])
    _library.call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, 0, None, pointers, None)
