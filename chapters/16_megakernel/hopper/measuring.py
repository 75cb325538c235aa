"""What measure.py and measure_prefill.py need: the library's functions, processes of their own, the GPU's state, times in short."""
import ctypes
import json
import os
import select
import signal
import statistics
import subprocess
import time

BEGAN = time.monotonic()
MODELS = {"1b": (2048, 32, 8, 64, 8192, 16), "8b": (4096, 32, 8, 128, 14336, 4)}  # hidden, heads, kv heads, dim, intermediate, layers


def say(*words):
    print(f"[{time.monotonic() - BEGAN:6.1f} s]", *words, flush=True)


class Library:
    """That of library.cu."""

    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        self.functions.megakernel_bytes.restype = ctypes.c_uint64
        self.functions.megakernel_bytes.argtypes = [ctypes.c_void_p]
        self.functions.megakernel_close.argtypes = [ctypes.c_void_p]

    def call(self, name, *words):
        if getattr(self.functions, "megakernel_" + name)(*words):
            raise RuntimeError("megakernel_" + name)


def in_child(seconds, work):
    """What work() returns, made in a process of its own, within so many seconds. Nobody has used CUDA before."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            found = work()
        except Exception as e:  # what cannot be measured is said
            found = {"failed": f"{type(e).__name__}: {e}"[:300]}
        with os.fdopen(write, "w") as to:
            json.dump(found, to)
        os._exit(0)
    os.close(write)
    text, end = b"", time.monotonic() + seconds
    while select.select([read], [], [], max(end - time.monotonic(), 0))[0]:
        part = os.read(read, 1 << 16)
        if not part:
            break
        text += part
    os.close(read)
    try:
        found = json.loads(text)
    except ValueError:
        os.kill(child, signal.SIGKILL)
        found = {"failed": f"no answer within {seconds} s"}
    os.waitpid(child, 0)
    return found


def smi(query):
    asked = subprocess.run(["nvidia-smi", "-i", "0", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True)
    return asked.stdout.strip()


def summary(times, digits=1):
    return {"median": round(statistics.median(times), digits), "least": round(min(times), digits), "most": round(max(times), digits)}
