"""Compiles Triton kernels without a GPU, for the machine that gen5 runs on (sm_100a or sm_90a), and launches their PTX through the driver API.

A kernel's parameters in the PTX are its arguments that are not constexpr, in order, then two pointers that Triton adds:
scratch memory in global memory (device-made tensor descriptors live there) and the profiler's.
"""

import ctypes
import sys

import numpy as np
import triton
from cuda.bindings import driver
from triton.backends.compiler import GPUTarget
from triton.experimental.gluon._runtime import GluonASTSource, GluonJITFunction

def check(result):
    error, *values = result
    if error != driver.CUresult.CUDA_SUCCESS:
        name = driver.cuGetErrorName(error)[1]
        raise RuntimeError(f"{name.decode() if name else error}")
    return values[0] if len(values) == 1 else values


def target():
    attribute = driver.CUdevice_attribute
    major, minor = (check(driver.cuDeviceGetAttribute(a, 0)) for a in (attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                                                      attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR))
    return GPUTarget("cuda", 10 * major + minor, 32)


class Gpu:
    def __init__(self):
        check(driver.cuInit(0))
        self.device = check(driver.cuDeviceGet(0))
        self.context = check(driver.cuDevicePrimaryCtxRetain(self.device))
        check(driver.cuCtxSetCurrent(self.context))

    def upload(self, array):
        array = np.ascontiguousarray(array)
        pointer = check(driver.cuMemAlloc(max(array.nbytes, 16)))
        check(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
        return pointer

    def empty(self, nbytes, byte=0xFF):
        pointer = check(driver.cuMemAlloc(max(nbytes, 16)))
        check(driver.cuMemsetD8(pointer, byte, nbytes))
        return pointer

    def download(self, pointer, shape, dtype):
        array = np.empty(shape, dtype)
        check(driver.cuMemcpyDtoH(array.ctypes.data, pointer, array.nbytes))
        return array


class Kernel:
    """`signature`: Triton types by argument name ("*fp16", "i32", "constexpr"); `constants`: the constexpr values."""

    def __init__(self, function, signature, constants=None, **options):
        constants = constants or {}
        signature = {name: signature.get(name, "constexpr") for name in function.arg_names}
        constexprs = {(function.arg_names.index(name),): value for name, value in constants.items()}
        # Pointers from the allocator and sizes that are multiples of 16 are what Triton itself would specialise on.
        attrs = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(function.arg_names) if signature[name].startswith("*")}
        source_of = GluonASTSource if isinstance(function, GluonJITFunction) else triton.compiler.ASTSource
        source = source_of(fn=function, signature=signature, constexprs=constexprs, attrs=attrs)
        self.compiled = triton.compile(source, target=target(), options=options)
        self.types = [t for t in signature.values() if t != "constexpr"]
        metadata = self.compiled.metadata
        self.warps, self.shared, self.ctas = metadata.num_warps, metadata.shared, metadata.num_ctas
        self.threads = 32 * getattr(metadata, "total_num_warps", self.warps)
        self.scratch_bytes = metadata.global_scratch_size
        self.module = check(driver.cuModuleLoadData(self.compiled.asm["ptx"].encode() + b"\0"))
        self.function = check(driver.cuModuleGetFunction(self.module, metadata.name.encode()))
        if self.shared > 48 * 1024:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(driver.cuFuncSetAttribute(self.function, attribute, self.shared))

    def __call__(self, grid, *args):
        ctype = {"i1": ctypes.c_bool, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "fp32": ctypes.c_float, "u64": ctypes.c_uint64}
        values = [ctypes.c_void_p(int(a)) if t.startswith("*") else ctype[t](a) for a, t in zip(args, self.types, strict=True)]
        x, y, z = (tuple(grid) + (1, 1))[:3]
        scratch = check(driver.cuMemAlloc(self.scratch_bytes * x * y * z * self.ctas)) if self.scratch_bytes else 0
        values += [ctypes.c_void_p(int(scratch)), ctypes.c_void_p(0)]
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(v) for v in values])
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = x * self.ctas, y, z
        config.blockDimX, config.blockDimY, config.blockDimZ = self.threads, 1, 1
        config.sharedMemBytes = self.shared
        config.hStream = 0
        attributes = []
        if self.ctas > 1:
            cluster = driver.CUlaunchAttribute()
            cluster.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            cluster.value.clusterDim.x, cluster.value.clusterDim.y, cluster.value.clusterDim.z = self.ctas, 1, 1
            attributes.append(cluster)
        config.attrs, config.numAttrs = attributes, len(attributes)
        check(driver.cuLaunchKernelEx(config, self.function, ctypes.addressof(pointers), 0))
        check(driver.cuCtxSynchronize())
        if self.scratch_bytes:
            check(driver.cuMemFree(scratch))


def as_type(array, kind):
    """The array in Triton's type `kind` as numpy can hold it (bf16: its bits), and the values that it then has."""
    if kind == "fp16":
        raw = array.astype(np.float16)
        return raw, raw.astype(np.float64)
    if kind == "bf16":
        bits = array.astype(np.float32).view(np.uint32)
        raw = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
        return raw, from_bf16(raw).astype(np.float64)
    return array, array.astype(np.float64)


def from_bf16(raw):
    return (raw.astype(np.uint32) << 16).view(np.float32)


def compare(name, got, want, rtol, atol):
    """Prints one line; exits 1 if any element is further away than atol + rtol |want|."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    error = np.abs(got - want)
    wrong = ~(error <= atol + rtol * np.abs(want))
    print(f"{name}: {'right' if not wrong.any() else 'wrong'}, largest difference {error.max():.3g}, {wrong.sum()} of {wrong.size} outside", flush=True)
    if wrong.any():
        sys.exit(1)
