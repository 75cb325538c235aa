#!/usr/bin/env python3
"""The Hopper twin beside PyTorch's attention and Triton's, in one process on one GPU: TFLOP/s, medians.

compare_sdpa.py [--library libattention_hopper.so] [--repetitions 15] [--dim 128] [--quick]

At the power limit a launch inherits the clock that the launches before it left: every repetition runs all entrants in a
new random order. bf16, normal values, batch 4, 16 heads; what a causal mask hides does not count as an operation. The
error is that of O against float64 on the GPU, |O - o| / |o| over two heads, at the two smallest sizes.

scripts/hardware builds the library and runs this where there is a Hopper GPU and PyTorch.
"""
import argparse
import ctypes
import math
import random
import subprocess

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = None

options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("--library", default=["libattention_hopper.so"], nargs="+", help="one or several builds of the twin")
options.add_argument("--repetitions", type=int, default=15)
options.add_argument("--dim", type=int, default=128, choices=[64, 128])
options.add_argument("--quick", action="store_true", help="the twin and PyTorch at two sizes")
arguments = options.parse_args()

BATCH, HEADS = 4, 16


def twin(path):
    function = ctypes.CDLL(path).attention_hopper
    function.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_uint32] * 5 + [ctypes.c_void_p]

    def run(q, k, v, causal):
        o = torch.empty_like(q)
        b, h, n, d = q.shape
        status = function(q.data_ptr(), k.data_ptr(), v.data_ptr(), o.data_ptr(), b * h, n, k.shape[2], d, causal,
                          torch.cuda.current_stream().cuda_stream)
        assert status == 0, "the twin's launch failed"
        return o

    return run


def sdpa(backend):
    def run(q, k, v, causal):
        with sdpa_kernel(backend):
            return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return run


if triton:

    @triton.autotune([triton.Config({"BM": 128, "BN": bn}, num_warps=w, num_stages=s) for bn in (64, 128)
                      for w in (4, 8) for s in (2, 3)], key=["N", "D", "CAUSAL"])
    @triton.jit
    def triton_kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale, N, D: tl.constexpr, CAUSAL: tl.constexpr, BM: tl.constexpr,
                      BN: tl.constexpr):
        tiles = tl.num_programs(0)
        tile = tiles - 1 - tl.program_id(0) if CAUSAL else tl.program_id(0)
        heads = tl.num_programs(1)
        qd = tl.make_tensor_descriptor(q_ptr, [heads * N, D], [D, 1], [BM, D])
        kd = tl.make_tensor_descriptor(k_ptr, [heads * N, D], [D, 1], [BN, D])
        vd = tl.make_tensor_descriptor(v_ptr, [heads * N, D], [D, 1], [BN, D])
        od = tl.make_tensor_descriptor(o_ptr, [heads * N, D], [D, 1], [BM, D])
        first = tl.program_id(1) * N
        q = qd.load([first + tile * BM, 0])
        most = tl.full((BM,), -float("inf"), tl.float32)
        total = tl.zeros((BM,), tl.float32)
        out = tl.zeros((BM, D), tl.float32)
        rows = tile * BM + tl.arange(0, BM)
        unmasked = tile * BM if CAUSAL else N
        for n in tl.range(0, unmasked, BN):
            s = tl.dot(q, kd.load([first + n, 0]).T)
            now = tl.maximum(most, tl.max(s, 1) * scale)
            p = tl.math.exp2(s * scale - now[:, None])
            shrink = tl.math.exp2(most - now)
            total = total * shrink + tl.sum(p, 1)
            out = tl.dot(p.to(tl.bfloat16), vd.load([first + n, 0]), out * shrink[:, None])
            most = now
        if CAUSAL:
            for n in tl.range(tile * BM, (tile + 1) * BM, BN):
                s = tl.dot(q, kd.load([first + n, 0]).T)
                s = tl.where(rows[:, None] >= n + tl.arange(0, BN)[None, :], s, -float("inf"))
                now = tl.maximum(most, tl.max(s, 1) * scale)
                p = tl.math.exp2(s * scale - now[:, None])
                shrink = tl.math.exp2(most - now)
                total = total * shrink + tl.sum(p, 1)
                out = tl.dot(p.to(tl.bfloat16), vd.load([first + n, 0]), out * shrink[:, None])
                most = now
        od.store([first + tile * BM, 0], (out / total[:, None]).to(tl.bfloat16))

    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))


def run_triton(q, k, v, causal):
    o = torch.empty_like(q)
    b, h, n, d = q.shape
    triton_kernel[lambda m: (n // m["BM"], b * h)](q, k, v, o, math.log2(math.e) / math.sqrt(d), n, D=d, CAUSAL=causal)
    return o


entrants = {("twin" if len(arguments.library) == 1 else path.split("/")[-1]): twin(path) for path in arguments.library}
entrants["torch flash"] = sdpa(SDPBackend.FLASH_ATTENTION)
entrants["torch cuDNN"] = sdpa(SDPBackend.CUDNN_ATTENTION)
if triton and not arguments.quick:
    entrants["Triton"] = run_triton


def error_of(o, q, k, v, causal):
    """Of the first and the last head, in float64."""
    worst = 0.0
    for b, h in ((0, 0), (BATCH - 1, HEADS - 1)):
        s = q[b, h].double() @ k[b, h].double().T / math.sqrt(q.shape[3])
        if causal:
            s.masked_fill_(torch.ones_like(s, dtype=torch.bool).triu(1), -math.inf)
        want = torch.softmax(s, 1) @ v[b, h].double()
        worst = max(worst, ((o[b, h].double() - want).norm() / want.norm()).item())
    return worst


def medians(runs):
    """Milliseconds of each, all of them once a round in a new order."""
    times = {name: [] for name in runs}
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    shuffled = random.Random(1)
    for repetition in range(-3, arguments.repetitions):
        order = list(runs)
        shuffled.shuffle(order)
        for name in order:
            torch.cuda._sleep(400000)  # the host is done with asking before the device begins
            begin.record()
            runs[name]()
            end.record()
            end.synchronize()
            if repetition >= 0:
                times[name].append(begin.elapsed_time(end))
    return {name: sorted(t)[len(t) // 2] for name, t in times.items()}


print(torch.cuda.get_device_name(), "torch", torch.__version__, "triton", triton.__version__ if triton else "-")
print(subprocess.run(["nvidia-smi", "--query-gpu=driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit",
                      "--format=csv,noheader"], capture_output=True, text=True).stdout.strip())
print(f"dim {arguments.dim}; TFLOP/s, medians of {arguments.repetitions} interleaved launches")
print(f"{'queries':>8} {'causal':>6} " + "".join(f"{name:>24}" for name in entrants))
torch.manual_seed(1)
for causal in (False, True):
    for n in (2048, 8192) if arguments.quick else (1024, 2048, 4096, 8192):
        q, k, v = (torch.randn(BATCH, HEADS, n, arguments.dim, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        runs, errors = {}, {}
        for name, run in entrants.items():
            try:
                o = run(q, k, v, causal)
                torch.cuda.synchronize()
                if n <= 2048:
                    errors[name] = error_of(o, q, k, v, causal)
                runs[name] = lambda run=run: run(q, k, v, causal)
            except Exception as e:  # an entrant that cannot is left out, and said
                print(f"  {name}: {type(e).__name__}: {str(e)[:200]}")
        ms = medians(runs)
        work = 4.0 * BATCH * HEADS * arguments.dim * (n * (n + 1) / 2 if causal else n * n)
        cells = [f"{work / ms[name] * 1e-9:.1f}" + (f" ({errors[name]:.1e})" if name in errors else "") if name in ms
                 else "-" for name in entrants]
        print(f"{n:>8} {'yes' if causal else 'no':>6} " + "".join(f"{c:>24}" for c in cells), flush=True)
print(subprocess.run(["nvidia-smi", "--query-gpu=clocks.sm,power.draw,temperature.gpu", "--format=csv,noheader"],
                     capture_output=True, text=True).stdout.strip(), "behind the last of them")
