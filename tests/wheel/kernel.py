"""A kernel of PTX by the driver API, with what the wheel has: prints the sum of 0 to 31."""
import ctypes

import gen5
from gen5 import _library

PTX = b"""
.version 9.0
.target sm_100a
.address_size 64
.visible .entry count(.param .u64 out) {
  .reg .b32 %t; .reg .b64 %d<2>;
  ld.param.u64 %d0, [out];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %d1, %t, 4;
  add.s64 %d0, %d0, %d1;
  st.global.b32 [%d0], %t;
  ret;
}
"""
with gen5.gpu("b200") as run:
    out = gen5.zeros(32, "int32")
    module, function, address = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(out.data_ptr())
    _library.call("cuModuleLoadData", ctypes.byref(module), PTX)
    _library.call("cuModuleGetFunction", ctypes.byref(function), module, b"count")
    pointers = (ctypes.c_void_p * 1)(ctypes.addressof(address))
    _library.call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, pointers, None)
    total = int(out.numpy().sum())
assert run.launches == 1 and run.cycles > 0
print(total)
