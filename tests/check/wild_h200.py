#!/usr/bin/env python3
"""What a Hopper chip does with the bugs of wild/ and wild_second/, and with their twins.

  wild_texts FOLDER; wild_h200.py FOLDER    runs each 100 times and writes wild_h200.json beside this file

A kernel runs in a process of its own, which is ended after ten seconds. Of a kernel is kept: "hangs", the driver's error,
or how many different outputs its launches had. The driver compiles the PTX; what it has no instructions for is left out.
"""
import argparse
import concurrent.futures
import ctypes
import datetime
import hashlib
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
LAUNCHES = 100
WORDS = 4096  # of input and of output
CLUSTER_DIMENSION = 4  # CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION


class Attribute(ctypes.Structure):
    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint32 * 16)]


class Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]


class Failed(Exception):
    pass


def driver():
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        if code := getattr(cuda, name)(*arguments):
            text = ctypes.c_char_p()
            cuda.cuGetErrorName(code, ctypes.byref(text))
            raise Failed((text.value or b"?").decode())

    return call


def upload(call, data):
    at = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(len(data)))
    call("cuMemcpyHtoD_v2", at, data, ctypes.c_size_t(len(data)))
    return at


def tensor_map(call, address):
    """64 rows of 16 f16, boxes as large: the map that `kernel: map` asks for."""
    data = ctypes.create_string_buffer(128 + 64)
    at = (ctypes.addressof(data) + 63) // 64 * 64
    call("cuTensorMapEncodeTiled", ctypes.c_void_p(at), 6, 2, address, (ctypes.c_uint64 * 2)(16, 64), (ctypes.c_uint64 * 1)(32),
         (ctypes.c_uint32 * 2)(16, 64), (ctypes.c_uint32 * 2)(1, 1), 0, 0, 0, 0)
    return ctypes.string_at(at, 128)


def run_one(path, launches):
    """Prints what the kernel did, as JSON."""
    text = path.read_text()
    threads, ctas, clusters, maps = map(int, text.split("\n")[0].removeprefix("// ").split())
    call = driver()
    device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    try:
        call("cuModuleLoadData", ctypes.byref(module), text.encode() + b"\0")
        call("cuModuleGetFunction", ctypes.byref(function), module, b"k")
    except Failed as error:
        print(json.dumps({"not_compiled": str(error)}))
        return
    words = (5).to_bytes(4, "little") * WORDS
    source = upload(call, words)
    described = upload(call, b"".join(tensor_map(call, source) for _ in range(maps)) + bytes(128))
    outputs = {}
    try:
        for _ in range(launches):
            call("cuMemcpyHtoD_v2", source, words, ctypes.c_size_t(len(words)))
            target = upload(call, bytes(4 * WORDS))
            values = [source, target, described]
            pointers = (ctypes.c_void_p * 3)(*[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
            attribute = Attribute(CLUSTER_DIMENSION)
            attribute.value[:3] = [ctas, 1, 1]
            config = Config((ctas * clusters, 1, 1), (threads, 1, 1), 0, None, ctypes.pointer(attribute), 1)
            call("cuLaunchKernelEx", ctypes.byref(config), function, pointers, None)
            call("cuCtxSynchronize")
            back = ctypes.create_string_buffer(8 * WORDS)
            call("cuMemcpyDtoH_v2", back, target, ctypes.c_size_t(4 * WORDS))
            call("cuMemcpyDtoH_v2", ctypes.byref(back, 4 * WORDS), source, ctypes.c_size_t(4 * WORDS))
            call("cuMemFree_v2", target)
            key = hashlib.sha256(back.raw).hexdigest()[:12]
            outputs[key] = outputs.get(key, 0) + 1
    except Failed as error:
        print(json.dumps({"error": str(error)}))
        return
    print(json.dumps({"outputs": outputs}))


def watched(path, launches):
    try:
        done = subprocess.run([sys.executable, __file__, "--one", str(path), "--launches", str(launches)], capture_output=True, text=True, timeout=10)
    except subprocess.TimeoutExpired:
        return {"hangs": True}
    return json.loads(done.stdout) if done.stdout else {"ended": done.returncode, "said": done.stderr[-200:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--one", action="store_true", help="FOLDER is a file: its kernel alone, in this process (for gen5 check)")
    parser.add_argument("--launches", type=int, default=LAUNCHES)
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "wild_h200.json")
    options = parser.parse_args()
    if options.one:
        return run_one(options.folder, options.launches)
    files = sorted(options.folder.glob("*.ptx"))
    if not files:
        sys.exit(f"wild_h200.py: no PTX in {options.folder}; wild_texts writes it")
    # Two at a time: a kernel that waits for ever keeps its SM, and no more.
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip((f.stem for f in files), pool.map(lambda f: watched(f, options.launches), files)))
    smi = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    result = {"gpu": smi, "date": datetime.date.today().isoformat(), "launches": options.launches, "kernels": found}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    counts = {}
    for one in found.values():
        counts[next(iter(one))] = counts.get(next(iter(one)), 0) + 1
    print(f"{len(files)} kernels on {smi}: {counts}")


if __name__ == "__main__":
    main()
