#!/usr/bin/env python3
"""Chapter 16's steps on this machine's Hopper GPU, beside device memory's rate and PyTorch: a table, and JSON.

measure.py [--library libmegakernel_hopper.so] [--build] [--out FOLDER] [--seconds 200] [--quick] [--ours]

--build makes the library first, with nvcc alone (fmt's headers have to be there). Stacks like a 1B model (16 layers) and
an 8B one (4 layers), batches 1, 8, 32, caches 512 and 4,096. Every time is the mean of several launches that follow each
other; of several such times the median counts, with the smallest and the largest beside it. PyTorch computes the same
layers of the same weights: eager, as a CUDA graph, and torch.compile (a layer) as a CUDA graph. Where time runs out
(--seconds), PyTorch's rows are left out, last points first. First, two layers of each model by each step are compared with
each other and with float64. Checks and points run in processes of their own: a kernel that hangs costs its point alone.
"""
import argparse
import ctypes
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import time

from measuring import BEGAN, MODELS, Library, in_child, say, smi, summary

ROOT = pathlib.Path(__file__).resolve().parents[3]
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--library", default=str(ROOT / "build/libmegakernel_hopper.so"))
parser.add_argument("--build", action="store_true")
parser.add_argument("--out", default="results")
parser.add_argument("--seconds", type=float, default=200)
parser.add_argument("--quick", action="store_true", help="batch 1 and cache 512 alone, without PyTorch")
parser.add_argument("--ours", action="store_true", help="without PyTorch's times")
arguments = parser.parse_args()

STEPS = {4: "tasks", 7: "marked", 5: "claimed", 6: "interleaved", 1: "launches", 2: "graph", 3: "dependent", 13: "dependent, as a graph"}


def steps(batch):
    """The seventh is for one sequence."""
    return {s: title for s, title in STEPS.items() if s != 7 or batch == 1}


def left():
    return arguments.seconds - (time.monotonic() - BEGAN)


def build():
    folder = pathlib.Path(arguments.library).parent
    folder.mkdir(parents=True, exist_ok=True)
    chapter, harness = "chapters/16_megakernel/", "common/harness/"
    sources = [chapter + s for s in ("hopper/library.cu", "hopper/steps.cu", "hopper/target.cpp", "graph.cpp", "plan.cpp", "model.cpp",
                                     "times.cpp")] + [harness + s for s in ("cuda_check.cpp", "device.cpp", "table.cpp")]
    jobs = []
    for source in sources:
        made = folder / (source.replace("/", ".") + ".o")
        words = ["nvcc", "-c", "-o", str(made), source, "-gencode=arch=compute_90a,code=sm_90a", "-std=c++20", "-O2", "-lineinfo", "-I.",
                 "-Xcompiler=-fPIC", "--expt-relaxed-constexpr", "-DFMT_HEADER_ONLY", "-DFMT_USE_CONSTEXPR=1", "-DFMT_CONSTEVAL="]
        jobs.append((made, subprocess.Popen(words, cwd=ROOT)))
    if any(job.wait() for _, job in jobs):
        sys.exit("the library was not built")
    subprocess.run(["nvcc", "-shared", "-cudart", "static", "-Xcompiler", "-fPIC,-static-libstdc++,-static-libgcc", "-o", arguments.library,
                    *(str(made) for made, _ in jobs), "-ldl"], check=True, cwd=ROOT)


if arguments.build:
    build()
    say("the library is built")
library = Library(arguments.library)
call = library.call


class Model:
    def __init__(self, name, batch, cache, layers=None, in_turns=True):
        hidden, heads, kv_heads, dim, intermediate, all_layers = MODELS[name]
        self.sizes = (hidden, heads, kv_heads, dim, intermediate, batch, cache, layers or all_layers)
        self.handle = ctypes.c_void_p()
        call("open", (ctypes.c_uint32 * 9)(*self.sizes, 0), int(in_turns), ctypes.byref(self.handle))

    def close(self):
        library.functions.megakernel_close(self.handle)

    def bytes(self):
        return library.functions.megakernel_bytes(self.handle)

    def time(self, step, launches, repeats):
        times = (ctypes.c_float * repeats)()
        call("time", self.handle, step, launches, repeats, times)
        return list(times)

    def run(self, step):
        call("run", self.handle, step)

    def path(self, step):
        text = ctypes.create_string_buffer(400)
        call("path", self.handle, step, text, ctypes.c_uint64(400))
        return text.value.decode()

    def phases(self, step):
        """A table: what the parts of a task take on the critical path."""
        text = ctypes.create_string_buffer(4000)
        call("phases", self.handle, step, text, ctypes.c_uint64(4000))
        return text.value.decode().splitlines()

    def tensor(self, name):
        data, count = ctypes.c_void_p(), ctypes.c_uint64()
        call("tensor", self.handle, name.encode(), ctypes.byref(data), ctypes.byref(count))
        return data.value, count.value


# ---- PyTorch


def tensor_of(torch, model, name, *shape):
    """The model's own memory as a bf16 tensor."""
    data, count = model.tensor(name)

    class Words:
        __cuda_array_interface__ = {"data": (data, False), "shape": (count,), "typestr": "<i2", "version": 2}

    return torch.as_tensor(Words(), device="cuda").view(torch.bfloat16).view(*shape)


class Torch:
    """The same layers; each layer's newest key and value go into the same places of the cache."""

    def __init__(self, torch, model):
        self.torch = torch
        hidden, heads, kv, dim, intermediate, batch, cache, layers = self.sizes = model.sizes
        group = heads // kv
        self.group = group
        get = lambda *words: tensor_of(torch, model, *words)  # noqa: E731
        self.x = get("x", batch, 1, hidden)
        self.qkv = get("qkv", layers, kv * (group + 2) * dim, hidden)
        self.out = get("out", layers, hidden, heads * dim)
        self.gate_up = get("gate_up", layers, 2 * intermediate, hidden)
        self.down = get("down", layers, hidden, intermediate)
        self.gains = get("gains", layers, 2, hidden)
        self.keys, self.values = (get(t, layers, batch, kv, cache + 1, dim) for t in ("keys", "values"))
        angle = cache * 500000.0 ** (-2.0 * torch.arange(dim // 2, dtype=torch.float64) / dim)
        self.cos, self.sin = angle.cos().float().cuda(), angle.sin().float().cuda()

    def layer(self, x, qkv, out, gate_up, down, gains, keys, values, cos, sin):
        f = self.torch.nn.functional
        hidden, heads, kv, dim, intermediate, batch, cache, _ = self.sizes
        group = self.group
        p = f.linear(f.rms_norm(x, (hidden,), gains[0], 1e-5), qkv).view(batch, kv, group + 2, dim)
        turned = p[:, :, : group + 1].float().unflatten(-1, (dim // 2, 2))
        even, odd = turned[..., 0], turned[..., 1]
        turned = self.torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1).flatten(-2).to(p.dtype)
        q = turned[:, :, :group].reshape(batch, heads, 1, dim)
        keys[:, :, cache] = turned[:, :, group]
        values[:, :, cache] = p[:, :, group + 1]
        a = f.scaled_dot_product_attention(q, keys, values, enable_gqa=True).reshape(batch, 1, heads * dim)
        x = x + f.linear(a, out)
        h = f.linear(f.rms_norm(x, (hidden,), gains[1], 1e-5), gate_up)
        return x + f.linear(f.silu(h[..., :intermediate]) * h[..., intermediate:], down)

    def stack(self, layer):
        x = self.x
        for i in range(self.sizes[7]):
            x = layer(x, self.qkv[i], self.out[i], self.gate_up[i], self.down[i], self.gains[i], self.keys[i], self.values[i], self.cos,
                      self.sin)
        return x

    def graph(self, layer):
        torch = self.torch
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream), torch.no_grad():
            for _ in range(2):
                self.stack(layer)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph):
            self.stack(layer)
        return graph.replay

    def time(self, launch, launches, repeats):
        torch, times = self.torch, []
        for i in range(repeats + 1):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(launches):
                launch()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1e3 / launches)
        return times[1:]


def distance(torch, model, reference):
    """|ours − PyTorch's in float64| / |PyTorch's|, of the last x; and the same of PyTorch in bf16."""
    hidden, batch = model.sizes[0], model.sizes[5]
    ours = tensor_of(torch, model, "last_x", batch, hidden).double()
    with torch.no_grad():
        in_bf16 = reference.stack(reference.layer).double().view(batch, hidden)
        exact = Torch.__new__(Torch)
        exact.__dict__ = dict(reference.__dict__)
        for name in ("x", "qkv", "out", "gate_up", "down", "gains", "keys", "values", "cos", "sin"):
            setattr(exact, name, getattr(reference, name).double())
        # In float64 rotation and attention are those of tensors' type.
        full = exact.stack(lambda *words: exact_layer(torch, exact, *words)).view(batch, hidden)
    norm = full.norm()
    return {"ours": float((ours - full).norm() / norm), "pytorch_bf16": float((in_bf16 - full).norm() / norm)}


def exact_layer(torch, t, x, qkv, out, gate_up, down, gains, keys, values, cos, sin):
    hidden, heads, kv, dim, intermediate, batch, cache, _ = t.sizes
    group = t.group

    def norm(y, gain):
        return y * torch.rsqrt((y * y).mean(-1, keepdim=True) + 1e-5) * gain

    p = (norm(x, gains[0]) @ qkv.T).view(batch, kv, group + 2, dim)
    pairs = p[:, :, : group + 1].unflatten(-1, (dim // 2, 2))
    even, odd = pairs[..., 0], pairs[..., 1]
    turned = torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1).flatten(-2)
    keys[:, :, cache], values[:, :, cache] = turned[:, :, group], p[:, :, group + 1]
    scores = torch.einsum("bkgd,bktd->bkgt", turned[:, :, :group], keys) / dim**0.5
    a = torch.einsum("bkgt,bktd->bkgd", scores.softmax(-1), values).reshape(batch, 1, heads * dim)
    x = x + a @ out.T
    h = norm(x, gains[1]) @ gate_up.T
    return x + (torch.nn.functional.silu(h[..., :intermediate]) * h[..., intermediate:]) @ down.T


def check(name, batch):
    """Two layers: do the steps agree in every bit, and how far are they from float64?"""
    model = Model(name, batch, 512, layers=2)
    reference = Torch(torch, model)
    kept = {}
    for step in sorted(s for s in steps(batch) if s < 13):
        last = tensor_of(torch, model, "last_x", batch, model.sizes[0])
        last.fill_(float("nan"))
        torch.cuda.synchronize()
        model.run(step)
        kept[step] = last.clone()
        print("    step", step, "ran", flush=True)
    found = distance(torch, model, reference)
    found["same_bits"] = all(torch.equal(kept[1].view(torch.int16), k.view(torch.int16)) for k in kept.values())
    model.close()
    return found


def memory():
    """TB/s of the best of several grids."""
    rates = []
    for ctas in (132 * 2, 132 * 4, 132 * 16, 132 * 64):
        some = (ctypes.c_float * 7)()
        call("memory", ctypes.c_uint64(4 << 30), ctas, 7, some)
        rates.append([r / 1e6 for r in some[1:]])
    return summary(max(rates, key=statistics.median), 3)


def point(name, batch, cache, rate):
    """Our steps. `rate`: bytes a microsecond."""
    row = {"us": {}, "path": {}, "phases": {}}
    model = Model(name, batch, cache)
    row["bytes"] = model.bytes()
    for step, title in steps(batch).items():
        times = model.time(step, 8, 7)
        row["us"][title] = summary(times)
        row["us"][title]["of_memory"] = round(row["bytes"] / statistics.median(times) / rate, 3)
        if step < 13:
            row["path"][title] = model.path(step)
        if step in (1, 3, 4, 7):
            row["phases"][title] = model.phases(step)
        print("   ", title, row["us"][title], flush=True)
        part.write_text(json.dumps(row))
    model.close()
    model = Model(name, batch, cache, in_turns=False)
    for step, title in ((4, "tasks, critical path first"), (7, "marked, critical path first")):
        if step in steps(batch):
            row["us"][title] = summary(model.time(step, 8, 7))
    model.close()
    return row


# ---- The measurement

out = pathlib.Path(arguments.out)
out.mkdir(parents=True, exist_ok=True)
part = out / "part.json"  # what a point has so far
result = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
          "device": smi("name,driver_version,clocks.max.sm,clocks.max.mem,power.limit"), "before": smi("clocks.sm,clocks.mem,power.draw,temperature.gpu"),
          "points": []}


def keep():
    (out / "megakernel_hopper.json").write_text(json.dumps(result, indent=1) + "\n")


torch = None  # imported before processes part; it starts CUDA later
if not arguments.quick:
    try:
        import torch

        result["torch"] = torch.__version__
    except ImportError:
        result["torch"] = "not installed"

result["distance"] = {}
for name in MODELS if torch else ():
    for batch in (1, 8, 32):
        found = in_child(30, lambda: check(name, batch))
        result["distance"][f"{name} batch {batch}"] = found
        say("two layers,", name, "batch", batch, found)
        keep()

result["memory_tb_s"] = in_child(20, memory)
rate = result["memory_tb_s"]["median"] * 1e6  # bytes a microsecond
say("device memory is read at", result["memory_tb_s"], "TB/s")

points = [(m, b, c) for b, c in ((1, 512), (1, 4096), (8, 512), (8, 4096), (32, 512), (32, 4096)) for m in MODELS]
if arguments.quick:
    points = points[:2]
for name, batch, cache in points:
    row = {"model": name, "batch": batch, "cache": cache, "us": {}, "path": {}}
    part.write_text("{}")
    found = in_child(12, lambda: point(name, batch, cache, rate))
    row.update(json.loads(part.read_text()) | found if "failed" in found else found)
    result["points"].append(row)
    say(name, batch, cache, {k: (v["median"], v.get("of_memory")) for k, v in row["us"].items()}, row.get("failed", ""))
    for title, table in row.get("phases", {}).items():
        say(title, row["path"].get(title, ""))
        print("\n".join(table), flush=True)
    keep()

if torch and not arguments.ours:
    for row in result["points"]:
        if left() < 8 or "bytes" not in row:
            say("no time left for PyTorch, or nothing to compare it with, at", row["model"], row["batch"], row["cache"])
            continue
        try:
            model = Model(row["model"], row["batch"], row["cache"])
            t = Torch(torch, model)
            times = {}
            with torch.no_grad():
                times["pytorch eager"] = t.time(lambda: t.stack(t.layer), 3, 5)
                times["pytorch graph"] = t.time(t.graph(t.layer), 8, 7)
                if left() > 6:
                    torch._dynamo.reset()
                    times["torch.compile graph"] = t.time(t.graph(torch.compile(t.layer, dynamic=False)), 8, 7)
            for title, some in times.items():
                row["us"][title] = summary(some)
                row["us"][title]["of_memory"] = round(row["bytes"] / statistics.median(some) / rate, 3)
            say(row["model"], row["batch"], row["cache"], {k: v["median"] for k, v in row["us"].items()})
            del t
            model.close()
        except Exception as e:
            row["pytorch_failed"] = f"{type(e).__name__}: {e}"[:300]
            say(row["pytorch_failed"])
        keep()
part.unlink(missing_ok=True)
result["after"] = smi("clocks.sm,clocks.mem,power.draw,temperature.gpu")
result["seconds"] = round(time.monotonic() - BEGAN, 1)
keep()
say("done:", out / "megakernel_hopper.json")
