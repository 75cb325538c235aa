"""Changes to CuTe DSL. Its runtime library links NVIDIA's CUDA runtime statically, and its compiler emits machine code. CuTe's runtime also
comes as an archive, so this module links it with tinygpu's libcudart. A setting makes the compiler keep its PTX. If a program loads the
cubin that was made from that PTX, tinygpu takes the PTX (GEN5_KEPT_PTX)."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import tempfile
import typing

from gen5 import _library, _session

ARCHIVE, RUNTIME = "libcuda_dialect_runtime_static.a", "libcute_dsl_runtime.so"


def _link(archive: pathlib.Path) -> pathlib.Path:
    """Links the runtime of `archive` with tinygpu's libraries; once, into the user's cache."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if not compiler:
        raise ImportError("CuTe DSL on tinygpu needs a C compiler: apt-get install gcc, or name one in CC")
    key = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "gen5" / f"cute-{key}"
    made = cache / RUNTIME
    if not made.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            command = [compiler, "-shared", "-o", f"{folder}/{RUNTIME}", "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive",
                       f"-L{_library.folder()}", "-l:libcudart.so.13", "-l:libcuda.so.1", "-lstdc++"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise ImportError(f"linking CuTe DSL's runtime failed: {' '.join(command)}\n{done.stderr}")
            os.replace(f"{folder}/{RUNTIME}", made)
    return made


def prepare() -> None:
    """Sets CuTe DSL's environment before its import. Variables that the user has set stay."""
    spec = importlib.util.find_spec("nvidia_cutlass_dsl")
    places = [pathlib.Path(p) for p in (spec.submodule_search_locations if spec else None) or ()]
    libraries = [lib for place in places for lib in (place / "cu13/lib", place / "cu12/lib", place / "lib") if (lib / ARCHIVE).exists()]
    if not libraries:
        return
    # The wheel's own start-up hook may have set it already: what comes first is taken.
    others = os.environ.get("CUTE_DSL_LIBS") or str(libraries[0] / RUNTIME)
    os.environ["CUTE_DSL_LIBS"] = os.pathsep.join((str(_link(libraries[0] / ARCHIVE)), others))
    kept = {token for token in os.environ.get("CUTE_DSL_KEEP", "").split(",") if token}
    os.environ["CUTE_DSL_KEEP"] = ",".join(sorted(kept | {"ptx", "cubin"}))
    if "CUTE_DSL_DUMP_DIR" not in os.environ:
        os.environ["CUTE_DSL_DUMP_DIR"] = _temporary()
    os.environ["GEN5_KEPT_PTX"] = os.environ["CUTE_DSL_DUMP_DIR"]
    os.environ.setdefault("CUTE_DSL_LINEINFO", "1")
    os.environ["CUTE_DSL_DISABLE_FILE_CACHING"] = "1"  # a kernel from that cache leaves no PTX behind
    os.environ.setdefault("CUTE_DSL_ARCH", _library.architecture())


@functools.lru_cache(maxsize=None)
def _temporary() -> str:
    """A folder that is deleted when the process ends."""
    import atexit
    folder = tempfile.mkdtemp(prefix="gen5-cute-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _change_executor(module: typing.Any) -> None:
    for name in ("JitExecutor", "JitCompiledFunction"):
        run = getattr(module, name).run_compiled_program

        def checked(self: typing.Any, exe_args: list, run: typing.Callable = run) -> typing.Any:
            __tracebackhide__ = True
            try:
                out = run(self, exe_args)
            except Exception as failed:
                if current := _session.current():
                    current.after_launch(failed=failed)
                raise
            if current := _session.current():
                current.after_launch()
            return out

        getattr(module, name).run_compiled_program = functools.wraps(run)(checked)


class _Runtime:
    """Stands in for cuda.bindings.runtime, which links NVIDIA's runtime statically: types are that module's, calls go to tinygpu's
    runtime."""

    def __init__(self, bindings: typing.Any):
        self._bindings = bindings
        self._library = ctypes.CDLL("libcudart.so.13")

    def __getattr__(self, name: str) -> typing.Any:
        return getattr(self._bindings, name)

    def cudaGetDeviceCount(self) -> tuple:
        count = ctypes.c_int()
        return self._bindings.cudaError_t(self._library.cudaGetDeviceCount(ctypes.byref(count))), count.value

    def cudaLibraryUnload(self, library: typing.Any) -> tuple:
        return (self._bindings.cudaError_t(self._library.cudaLibraryUnload(ctypes.c_void_p(int(library)))),)


class _BenchmarkRuntime(_Runtime):
    """The same for CuTe DSL's benchmark, which captures graphs: these calls are the driver's, whose bindings find tinygpu's library."""

    def __init__(self, bindings: typing.Any, driver: typing.Any):
        super().__init__(bindings)
        self._driver = driver

    def _ask(self, name: str, *arguments: typing.Any) -> tuple:
        code, *answers = getattr(self._driver, name)(*arguments)
        return (self._bindings.cudaError_t(int(code)), *answers)

    def cudaDeviceSynchronize(self) -> tuple:
        return self._ask("cuCtxSynchronize")

    def cudaStreamBeginCapture(self, stream: typing.Any, mode: typing.Any) -> tuple:
        return self._ask("cuStreamBeginCapture", stream, self._driver.CUstreamCaptureMode(int(mode)))

    def cudaStreamEndCapture(self, stream: typing.Any) -> tuple:
        return self._ask("cuStreamEndCapture", stream)

    def cudaGraphGetNodes(self, graph: typing.Any, count: int = 0) -> tuple:
        return self._ask("cuGraphGetNodes", graph, count)

    def cudaGraphInstantiate(self, graph: typing.Any, flags: int) -> tuple:
        return self._ask("cuGraphInstantiate", graph, flags)

    def cudaGraphLaunch(self, graph: typing.Any, stream: typing.Any) -> tuple:
        return self._ask("cuGraphLaunch", graph, stream)

    def cudaGraphExecDestroy(self, graph: typing.Any) -> tuple:
        return self._ask("cuGraphExecDestroy", graph)


def _change_libraries(module: typing.Any) -> None:
    module.cuda_runtime = _Runtime(module.cuda_runtime)


def _change_benchmark(module: typing.Any) -> None:
    module.cuda_runtime = _BenchmarkRuntime(module.cuda_runtime, module.cuda_driver)


EMPTY = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry empty() { ret; }\n\0"


def _change_hardware(module: typing.Any) -> None:
    """CuTe DSL queries occupancy with a kernel that does nothing. Its compiler makes a cubin of that kernel in a folder of its own; here it
    is PTX."""
    driver = module.driver

    def empty_kernel(self: typing.Any) -> typing.Any:
        library = self._checkCudaErrors(driver.cuLibraryLoadData(EMPTY, None, None, 0, None, None, 0))
        kernels = self._checkCudaErrors(driver.cuLibraryEnumerateKernels(1, library))
        return self._checkCudaErrors(driver.cuKernelGetFunction(kernels[0]))

    module.HardwareInfo._get_device_function = empty_kernel


BEFORE = {"cutlass": prepare}
CHANGES = {"cutlass.base_dsl.jit_executor": _change_executor, "cutlass.cutlass_dsl.cuda_jit_executor": _change_libraries,
           "cutlass.utils.hardware_info": _change_hardware, "cutlass.testing": _change_benchmark}
