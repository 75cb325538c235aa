"""Finds tinygpu's libraries and loads them into this process, in place of NVIDIA's driver and runtime."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib

PACKAGE = pathlib.Path(__file__).resolve().parent
NAMES = ("libcuda.so.1", "libcudart.so.13")


def folder() -> pathlib.Path:
    """The folder of the libraries: $GEN5_LIBRARIES, this package's lib (in a wheel), or the build of the source tree around it."""
    places = [PACKAGE / "lib", PACKAGE.parent.parent / "build" / "default" / "lib"]
    if named := os.environ.get("GEN5_LIBRARIES"):
        places = [pathlib.Path(named)]
    for place in places:
        if (place / "libtinygpu.so").exists():
            return place
    raise ImportError(f"no libtinygpu.so in {' or '.join(map(str, places))}: install gen5 with `pip install .` in a clone, or build one "
                      "with scripts/run")


def program() -> pathlib.Path:
    """The command-line tool that belongs to the libraries."""
    return folder().parent / "bin" / "gen5"


def ptxas() -> pathlib.Path:
    """A stand-in for ptxas: its output is the PTX itself."""
    return PACKAGE / "bin" / "ptxas"


def _others() -> list[str]:
    """NVIDIA's libraries that this process has already loaded."""
    with open("/proc/self/maps") as maps:
        files = {line.split(maxsplit=5)[5].strip() for line in maps if "/lib" in line and len(line.split(maxsplit=5)) == 6}
    here = str(folder())
    return sorted(f for f in files if os.path.basename(f).startswith(("libcuda.so", "libcudart.so")) and not f.startswith(here))


@functools.lru_cache(maxsize=None)
def load() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """Loads libtinygpu and libcuda.so.1. From here on a library that opens libcuda.so.1 or libcudart.so.13 by name gets tinygpu's."""
    if others := _others():
        raise ImportError(f"{others[0]} is loaded already; call gen5.install() before whatever uses CUDA")
    os.environ["GEN5_DEVICE"] = "tinygpu"
    here = folder()
    tinygpu = ctypes.CDLL(str(here / "libtinygpu.so"), mode=ctypes.RTLD_GLOBAL)
    for name in NAMES:
        ctypes.CDLL(str(here / name), mode=ctypes.RTLD_GLOBAL)
    for name in ("open", "begin", "options", "machine", "take", "profile", "trace"):
        getattr(tinygpu, f"tinygpu_session_{name}").restype = ctypes.c_char_p
    tinygpu.tinygpu_session_host_address.restype = ctypes.c_uint64
    tinygpu.tinygpu_session_host_address.argtypes = (ctypes.c_uint64, ctypes.c_uint64)
    tinygpu.tinygpu_session_blocks.argtypes = (ctypes.c_uint64,)
    tinygpu.tinygpu_session_product.argtypes = (ctypes.c_void_p, *(ctypes.c_uint32,) * 2) * 2 + (*(ctypes.c_uint32,) * 2, ctypes.c_void_p)
    return tinygpu, ctypes.CDLL(str(here / "libcuda.so.1"))


class CudaError(RuntimeError):
    """A call of the driver API failed; `code` is its CUresult."""

    def __init__(self, call: str, code: int):
        self.code = code
        text = ctypes.c_char_p()
        load()[1].cuGetErrorString(code, ctypes.byref(text))
        super().__init__(f"{call}: {text.value.decode() if text.value else 'error'} ({code})")


def session(name: str, *arguments: bytes) -> str | None:
    """Calls a function of tinygpu_session_* and returns its text."""
    said = getattr(load()[0], f"tinygpu_session_{name}")(*arguments)
    return said.decode() if isinstance(said, bytes) else None


def take() -> dict:
    """Returns the diagnoses since the last call (common/tinygpu/cuda/session.h)."""
    return json.loads(session("take") or "{}")


def options() -> list[dict]:
    """The table of options that `gen5 run` has (common/tinygpu/api/options.h)."""
    return json.loads(session("options") or "[]")


@functools.lru_cache(maxsize=None)
def machine(name: str) -> dict:
    """The machine's name, clock and highest rates, per cycle. Raises ValueError if there is no such machine."""
    said = json.loads(session("machine", name.encode()) or "{}")
    if "error" in said:
        raise ValueError(said["error"])
    return said


def call(name: str, *arguments: object) -> None:
    """Makes a driver call on the one device's primary context. Raises CudaError."""
    code = getattr(ready(), name)(*arguments)
    if code:
        raise CudaError(name, code)


def known(address: int) -> bool:
    """Whether the address is in the machine's memory, such as that of a gen5.array."""
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    return load()[1].cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(address)) == 0


def architecture() -> str:
    """The machine's architecture: "sm_100a"."""
    values = []
    for attribute in (75, 76):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
        value = ctypes.c_int()
        call("cuDeviceGetAttribute", ctypes.byref(value), attribute, 0)
        values.append(value.value)
    return "sm_{}{}a".format(*values)


@functools.lru_cache(maxsize=None)
def ready() -> ctypes.CDLL:
    """libcuda.so.1, with the device's primary context current."""
    driver = load()[1]
    context = ctypes.c_void_p()
    for name, arguments in (("cuInit", (0,)), ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), 0)), ("cuCtxSetCurrent", (context,))):
        if code := getattr(driver, name)(*arguments):
            raise CudaError(name, code)
    return driver
