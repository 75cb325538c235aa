#!/usr/bin/env python3
"""Chapter 16's prefill on this machine's Hopper GPU, beside PyTorch: a table, and JSON.

measure_prefill.py [--library libmegakernel_hopper.so] [--out FOLDER] [--seconds 200]

The library is measure.py's (measure.py --build). Prefills of 128, 256 and 512 tokens of one sequence with an empty cache, by stacks like a 1B model (16
layers) and an 8B one (4 layers). First, two layers of each by each step are compared with each other and with float64. Every time is the mean of several
launches that follow each other; of several such times the median counts. PyTorch computes the same layers of the same weights: eager, as a CUDA graph, and
torch.compile (a layer) as a CUDA graph. Checks and points run in processes of their own: a kernel that hangs costs its point alone.
"""
import argparse
import ctypes
import datetime
import json
import pathlib
import time

import torch  # before processes part; it starts CUDA later

from measuring import BEGAN, MODELS, Library, in_child, say, smi, summary

ROOT = pathlib.Path(__file__).resolve().parents[3]
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--library", default=str(ROOT / "build/libmegakernel_hopper.so"))
parser.add_argument("--out", default="results")
parser.add_argument("--seconds", type=float, default=200)
parser.add_argument("--ours", action="store_true", help="without PyTorch's times")
arguments = parser.parse_args()

STEPS = {1: "launches", 2: "graph", 3: "dependent", 4: "tasks", 5: "claimed"}
POINTS = [(m, t) for t in (128, 256, 512) for m in MODELS]
functional = torch.nn.functional
library = Library(arguments.library)
call = library.call


class Model:
    def __init__(self, name, tokens, layers=None):
        hidden, heads, kv_heads, dim, intermediate, all_layers = MODELS[name]
        self.layers, self.tokens = layers or all_layers, tokens
        self.hidden, self.heads, self.kv, self.dim, self.intermediate = hidden, heads, kv_heads, dim, intermediate
        self.group = heads // kv_heads
        self.handle = ctypes.c_void_p()
        sizes = (hidden, heads, kv_heads, dim, intermediate, 1, 0, self.layers, tokens)
        call("open", (ctypes.c_uint32 * 9)(*sizes), 1, ctypes.byref(self.handle))

    def time(self, step, launches, repeats):
        times = (ctypes.c_float * repeats)()
        call("time", self.handle, step, launches, repeats, times)
        return list(times)

    def text(self, what, step, size=4000):
        text = ctypes.create_string_buffer(size)
        call(what, self.handle, step, text, ctypes.c_uint64(size))
        return text.value.decode()

    def tensor(self, name, *shape):
        """The model's own memory as a bf16 tensor."""
        data, count = ctypes.c_void_p(), ctypes.c_uint64()
        call("tensor", self.handle, name.encode(), ctypes.byref(data), ctypes.byref(count))

        class Words:
            __cuda_array_interface__ = {"data": (data.value, False), "shape": (count.value,), "typestr": "<i2", "version": 2}

        return torch.as_tensor(Words(), device="cuda").view(torch.bfloat16).view(*shape)

    def tensors(self):
        """x, and of each layer what PyTorch's layer() takes."""
        rows = self.kv * (self.group + 2) * self.dim
        shapes = {"qkv": (rows, self.hidden), "out": (self.hidden, self.heads * self.dim), "gate_up": (2 * self.intermediate, self.hidden),
                  "down": (self.hidden, self.intermediate), "gains": (2, self.hidden), "keys": (self.kv, self.tokens, self.dim),
                  "values": (self.kv, self.tokens, self.dim)}
        return self.tensor("x", self.tokens, self.hidden), {n: self.tensor(n, self.layers, *s) for n, s in shapes.items()}


class Torch:
    """The same layers; keys and values go into the same places of the cache."""

    def __init__(self, model, number=torch.bfloat16):
        self.m = m = model
        x, weights = m.tensors()
        self.x, self.weights = x.to(number), {n: w.to(number) for n, w in weights.items()}
        angle = torch.arange(m.tokens, dtype=torch.float64)[:, None] * 500000.0 ** (-2.0 * torch.arange(m.dim // 2, dtype=torch.float64) / m.dim)
        exact = number == torch.float64
        self.cos, self.sin = (t[:, None, None].to(torch.float64 if exact else torch.float32).cuda() for t in (angle.cos(), angle.sin()))

    def layer(self, x, w, cos, sin):
        m = self.m
        p = functional.linear(functional.rms_norm(x, (m.hidden,), w["gains"][0], 1e-5), w["qkv"]).view(m.tokens, m.kv, m.group + 2, m.dim)
        turned = p[:, :, : m.group + 1].to(cos.dtype).unflatten(-1, (m.dim // 2, 2))
        even, odd = turned[..., 0], turned[..., 1]
        turned = torch.stack((even * cos - odd * sin, odd * cos + even * sin), -1).flatten(-2).to(p.dtype)
        q = turned[:, :, : m.group].reshape(m.tokens, m.heads, m.dim).transpose(0, 1)
        w["keys"].copy_(turned[:, :, m.group].transpose(0, 1))
        w["values"].copy_(p[:, :, m.group + 1].transpose(0, 1))
        a = functional.scaled_dot_product_attention(q[None], w["keys"][None], w["values"][None], is_causal=True, enable_gqa=True)
        x = x + functional.linear(a[0].transpose(0, 1).reshape(m.tokens, -1), w["out"])
        h = functional.linear(functional.rms_norm(x, (m.hidden,), w["gains"][1], 1e-5), w["gate_up"])
        return x + functional.linear(functional.silu(h[:, : m.intermediate]) * h[:, m.intermediate :], w["down"])

    def stack(self, layer):
        x = self.x
        for i in range(self.m.layers):
            x = layer(x, {n: w[i] for n, w in self.weights.items()}, self.cos, self.sin)
        return x

    def graph(self, layer):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(2):
                self.stack(layer)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.stack(layer)
        return graph.replay


def time_of(launch, launches, repeats):
    times = []
    for _ in range(repeats + 1):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(launches):
            launch()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / launches)
    return times[1:]


@torch.no_grad()
def check(name, tokens):
    """Two layers: do the steps agree in every bit, and how far are they, and PyTorch in bf16, from float64?"""
    model = Model(name, tokens, layers=2)
    kept = {}
    for step in STEPS:
        last = model.tensor("last_x", tokens, model.hidden)
        last.fill_(float("nan"))
        torch.cuda.synchronize()
        call("run", model.handle, step)
        kept[step] = last.clone()
    exact = Torch(model, torch.float64)
    full = exact.stack(exact.layer)
    bf16 = Torch(model)
    in_bf16 = bf16.stack(bf16.layer)
    distance = lambda x: float((x.double() - full).norm() / full.norm())  # noqa: E731
    return {"ours": distance(kept[1]), "pytorch_bf16": distance(in_bf16),
            "same_bits": all(torch.equal(kept[1].view(torch.int16), k.view(torch.int16)) for k in kept.values())}


def ours(name, tokens):
    model = Model(name, tokens)
    row = {"bytes": library.functions.megakernel_bytes(model.handle), "us": {}, "path": {}, "phases": {}}
    for step, title in STEPS.items():
        row["us"][title] = summary(model.time(step, 8, 7))
        row["path"][title] = model.text("path", step)
        if step in (1, 4):
            row["phases"][title] = model.text("phases", step).splitlines()
    return row


@torch.no_grad()
def pytorch(name, tokens):
    t = Torch(Model(name, tokens))
    found = {"pytorch eager": summary(time_of(lambda: t.stack(t.layer), 3, 5)), "pytorch graph": summary(time_of(t.graph(t.layer), 8, 7))}
    found["torch.compile graph"] = summary(time_of(t.graph(torch.compile(t.layer, dynamic=False)), 8, 7))
    return {"us": found}


out = pathlib.Path(arguments.out)
out.mkdir(parents=True, exist_ok=True)
result = {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "torch": torch.__version__,
          "device": smi("name,driver_version,clocks.max.sm,clocks.max.mem,power.limit"), "distance": {}, "points": []}


def keep():
    result["seconds"] = round(time.monotonic() - BEGAN, 1)
    (out / "prefill_hopper.json").write_text(json.dumps(result, indent=1) + "\n")


for name, tokens in (("1b", 200), ("8b", 512)):
    found = in_child(40, lambda: check(name, tokens))
    result["distance"][f"{name}, {tokens} tokens"] = found
    say("two layers,", name, tokens, "tokens", found)
    keep()
for name, tokens in POINTS:
    row = {"model": name, "tokens": tokens, "us": {}} | in_child(20, lambda: ours(name, tokens))
    result["points"].append(row)
    say(name, tokens, {k: v["median"] for k, v in row["us"].items()}, row.get("failed", ""))
    for title, table in row.get("phases", {}).items():
        say(title, row["path"][title])
        print("\n".join(table), flush=True)
    keep()
for row in result["points"] if not arguments.ours else ():
    left = arguments.seconds - (time.monotonic() - BEGAN)
    if left < 10:
        say("no time left for PyTorch at", row["model"], row["tokens"])
        continue
    found = in_child(min(left, 60), lambda: pytorch(row["model"], row["tokens"]))
    row["us"].update(found.get("us", {}))
    say(row["model"], row["tokens"], found)
    keep()
result["after"] = smi("clocks.sm,clocks.mem,power.draw,temperature.gpu")
keep()
say("done:", out / "prefill_hopper.json")
