#!/usr/bin/env python3
"""same_test.py NATIVE MODULE.wasm [--long]: the same bits, cycles and diagnoses from the machine as WebAssembly, in Node, and from the same source
compiled for this host. What is run: the page's examples, both machines, all orders; the kernels of instructions' pages;
arithmetic under every rounding; a kernel for every 16th form of the table (--long: for each); wrong PTX. Exit code 77 where there is no module (scripts/web) or no node.
"""
import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent.parent


class Side:
    """A program that answers requests line by line."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        # Node writes large floats as integers.
        return json.loads(line, parse_int=float) if line else {"status": "the program has ended"}


def read_launch(path):
    code = f"const l = require({json.dumps(str(root / 'web/page/launch.js'))}); const r = l.read(require('fs').readFileSync({json.dumps(str(path))}, 'utf8')); process.stdout.write(JSON.stringify(r))"
    read = json.loads(subprocess.run(["node", "-e", code], check=True, capture_output=True, text=True).stdout)
    assert not read["messages"], f"{path}: {read['messages']}"
    return read["request"]


def examples(long):
    for path in sorted((root / "web" / "examples").glob("*.ptx")):
        request = read_launch(path)
        endless = "endless" in path.name
        for buffer in request["buffers"]:
            buffer["bytes"] = False
        variants = [("b200", "timed", 1)] + ([("b200", "late", 1), ("b200", "seeded", 7), ("h200", "timed", 1)] if long or "gemm" not in path.name else [])
        if ".target sm_100a" in request["ptx"]:
            variants = [v for v in variants if v[0] == "b200"]
        for machine, order, seed in variants:
            more = {"max_cycles": 20000} if endless else {}
            yield f"{path.stem} on {machine}, {order}", {**request, "do": "run", "machine": machine, "order": order, "seed": seed, "registers": True, **more}
        if not endless:
            yield f"{path.stem}, races", {**request, "do": "run", "check": "races"}
            yield f"{path.stem}, stopped", {**request, "do": "run", "stop_at": 1500}


def promised():
    """(name, request, codes of what is said): the kernels of instructions' pages, of which nothing is, in any order; and checks that a request asks for."""
    for path in sorted((root / "web" / "instructions").glob("*.ptx")):
        for order, seed in (("timed", 1), ("late", 1), ("seeded", 7)):
            yield f"{path.stem}, {order}", {**read_launch(path), "do": "run", "order": order, "seed": seed, "check": "races", "timeline": True, "registers": True}, set()
    add = read_launch(root / "web/examples/01_add.ptx")
    unwritten = {**add, "do": "run", "buffers": [{**add["buffers"][0], "pattern": "unwritten"}, *add["buffers"][1:]]}
    yield "unwritten memory", unwritten, set()
    yield "unwritten memory, checked", {**unwritten, "memory_check": True}, {"global-uninitialised"}


# Kernels that compute: op, operand type, operands, special values among the inputs.
ROUNDINGS = ("rn", "rz", "rm", "rp")
VALUES = {
    "f32": [0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x3F7FFFFF, 0x3F800001, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001],
    "f64": [0, 1 << 63, 1, 0x000FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x3FEFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000001, 0x7FF0000000000001],
}


def compute_kernel(op, kind, arity):
    """Reads `arity` words a thread, applies op, stores the result."""
    size = 8 if kind.endswith("64") else 4 if not kind.endswith("16") else 2
    register = {8: ("rd", "b64"), 4: ("r", "b32"), 2: ("h", "b16")}[size]
    loads = "".join(f"  add.u64 %a4, %a2, {size * i}; ld.global.{register[1]} %{register[0]}{i}, [%a4];\n" for i in range(arity))
    operands = ", ".join(f"%{register[0]}{i}" for i in range(arity))
    return f""".version 9.0
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
  .reg .b64 %a<6>; .reg .b32 %t<3>; .reg .{register[1]} %{register[0]}<10>;
  mov.u32 %t1, %tid.x;
  ld.param.u64 %a1, [in];
  mul.wide.u32 %a3, %t1, {size * arity};
  add.u64 %a2, %a1, %a3;
{loads}  {op} %{register[0]}9, {operands};
  ld.param.u64 %a1, [out];
  mul.wide.u32 %a3, %t1, {size};
  add.u64 %a2, %a1, %a3;
  st.global.{register[1]} [%a2], %{register[0]}9;
  ret;
}}
"""


def computing(long):
    ops = []
    for kind in ("f32", "f64"):
        for r in ROUNDINGS:
            ops += [(f"{o}.{r}.{kind}", kind, n) for o, n in (("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("rcp", 1), ("sqrt", 1), ("fma", 3))]
            if kind == "f32":
                ops += [(f"{o}.{r}.ftz.f32", kind, n) for o, n in (("add", 2), ("mul", 2), ("div", 2), ("rcp", 1), ("sqrt", 1), ("fma", 3))]
                ops += [(f"{o}.{r}.sat.f32", kind, n) for o, n in (("add", 2), ("mul", 2), ("fma", 3))]
    ops += [(f"{o}.approx.f32", "f32", 1) for o in ("ex2", "lg2", "sin", "cos", "tanh", "rcp", "rsqrt", "sqrt")] + [("rsqrt.approx.f64", "f64", 1), ("div.full.f32", "f32", 2)]
    ops += [(f"{o}.{k}", k, 2) for o in ("min", "max") for k in ("f32", "f64", "s32", "u32", "s64", "u64", "f16", "bf16")]
    ops += [(f"{o}.f16", "f16", n) for o, n in (("add", 2), ("mul", 2), ("fma.rn", 3), ("ex2.approx", 1), ("tanh.approx", 1))] + [("fma.rn.bf16", "bf16", 3), ("fma.rn.relu.f16", "f16", 3)]
    ops += [(f"{o}.{k}", k, n) for k in ("s32", "u32", "s64", "u64") for o, n in (("div", 2), ("rem", 2), ("mul.lo", 2), ("mul.hi", 2), ("mad.lo", 3), ("add", 2))]
    ops += [(f"cvt.{r}.{to}.{kind}", kind, 1) for kind in ("f32",) for to in ("s32", "u32") for r in ("rni", "rzi", "rmi", "rpi")]
    count = 512
    for n, (op, kind, arity) in enumerate(ops):
        size = 8 if kind.endswith("64") else 4 if not kind.endswith("16") else 2
        special = VALUES.get(kind, [0, 1, (1 << size * 8) - 1, 1 << (size * 8 - 1), (1 << (size * 8 - 1)) - 1])
        for repeat in range(8 if long else 1):
            rng = random.Random(n * 100 + repeat)
            words = [rng.choice(special) if rng.random() < 0.3 else rng.getrandbits(size * 8) if rng.random() < 0.6 else close(rng, kind, size) for _ in range(count * arity)]
            buffers = [{"type": f"u{size * 8}", "count": count * arity, "pattern": "words", "words": [str(w) for w in words]}, {"type": f"u{size * 8}", "count": count}]
            yield op, {"do": "run", "ptx": compute_kernel(op, kind, arity), "grid": [1], "block": [count], "buffers": buffers, "parameters": [{"buffer": 0}, {"buffer": 1}]}


def close(rng, kind, size):
    """A number near 1, so that sums cancel and products stay finite."""
    if kind == "f32":
        return 0x3F800000 + rng.randrange(-4096, 4096) | rng.getrandbits(1) << 31
    if kind == "f64":
        return 0x3FF0000000000000 + rng.randrange(-4096, 4096) | rng.getrandbits(1) << 63
    return rng.randrange(0, 64)


def forms(samples, long):
    """A kernel of one instruction for each form of the table, its operands whatever registers hold: what is compared is mostly what is said of it."""
    for i, ptx in enumerate(samples):
        if long or i % 16 == 0:
            target = re.search(r"\.target (\w+)", ptx)[1]
            yield f"form {i}: {ptx[-200:]}", {"do": "run", "ptx": ptx, "machine": "h200" if target == "sm_90a" else "b200", "max_cycles": 100000,
                                          "buffers": [{"type": "u8", "count": 4096, "pattern": "bytes"}], "parameters": [{"struct": [{"at": 8 * k, "buffer": 0} for k in range(16)]}]}


def texts(long):
    """What is said of PTX that is wrong, and of single instructions."""
    for instruction in ("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;", "tcgen05.mma.cta_group::3.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;", "mbarrier.init.shared.b32 [%r1], 1;", "add.f32 a, b, c;"):
        yield instruction, {"do": "explain", "instruction": instruction}
    whole = (root / "web/examples/07_tcgen05_mma.ptx").read_text()
    rng = random.Random(5)
    for i in range(400 if long else 40):
        lines = whole.split("\n")
        at = rng.randrange(7, len(lines))
        lines[at] = lines[rng.randrange(7, len(lines))] if i % 2 else lines[at].replace(rng.choice(lines[at] or " "), rng.choice(".:%[;,0b"), 1)
        yield f"example 7 with line {at + 1} changed to {lines[at]}", {"do": "check", "ptx": "\n".join(lines)}


def senseless():
    """(request, what is said of it)"""
    kernel = ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p) { ret; }\n"
    first, run = 0x7E0000000000, {"do": "run", "ptx": kernel, "packed": "AAAAAAAAAAA="}
    for memory, says in (([{"address": hex(first), "bytes": 0}], "has 0 bytes"), ([{"address": hex(first), "bytes": 1 << 40}], "has 1099511627776 bytes"), ([{"address": hex(first), "bytes": 8, "data": "%%"}], "no base64"),
                         ([{"address": hex(first), "bytes": 2, "data": "AAAAAAAA"}], "6 bytes are given for 2"), ([{"address": "0x100", "bytes": 8}], "can lie at 0x100"), ([{"address": "next", "bytes": 8}], "can lie at 0x0"),
                         ([{"address": hex(first + 8), "bytes": 8}], "can lie at"), ([{"address": hex(first), "bytes": 4096}, {"address": hex(first + 512), "bytes": 8}], "can lie at"), ([{"address": hex(first + (1 << 40)), "bytes": 8}], "can lie at")):
        yield {**run, "memory": memory}, says
    yield {**run, "packed": "AAAA"}, "bytes"
    yield {**run, "packed": "§"}, "no base64"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("native")
    parser.add_argument("module")
    parser.add_argument("--long", action="store_true")
    arguments = parser.parse_args()
    if not shutil.which("node") or not pathlib.Path(arguments.module).exists():
        print("skipped: needs node and scripts/web")
        return 77
    native, web = Side(arguments.native), Side("node", root / "web/page/node.js", arguments.module)
    different, idle, count, ran = [], {}, 0, 0
    native.ask({"do": "forms", "samples": True})
    samples = native.answer()["samples"]
    for name, request in [*examples(arguments.long), *computing(arguments.long), *texts(arguments.long), *forms(samples, arguments.long)]:
        native.ask(request)
        web.ask(request)
        one, other = native.answer(), web.answer()
        count += 1
        ran += one.get("status") in ("done", "stopped", "fault", None)
        if one.get("status") in ("refused", "invalid"):
            idle.setdefault(f"{one['status']}: {one.get('message')}", []).append(name)
        if one != other:
            keys = [k for k in {**one, **other} if one.get(k) != other.get(k)]
            different.append(f"{name}: {', '.join(f'{k}: {str(one.get(k))[:160]} natively, {str(other.get(k))[:160]} here' for k in keys)}")
    for name, request, codes in promised():
        count, ran = count + 1, ran + 1
        native.ask(request)
        web.ask(request)
        one, other = native.answer(), web.answer()
        if one != other or one["status"] != "done" or {d["code"] for d in one["diagnoses"]} != codes:
            different.append(f"{name}: {[k for k in {**one, **other} if one.get(k) != other.get(k)]} differ; {one['status']} {one.get('message')} {[d['code'] for d in one['diagnoses']]}")
    for request, says in senseless():
        for side in (native, web):
            side.ask(request)
            answer = side.answer()
            if answer["status"] not in ("invalid", "refused") or says not in answer["message"]:
                different.append(f"{json.dumps(request)[-120:]}: not {says!r}, but {answer}")
    print("\n".join(different[:40]))
    for why, names in sorted(idle.items()):
        print(f"{len(names)} not run, {why[:160]}; such as {names[0][:60]!r}")
    print(f"{count} requests, {ran} of them ran, {len(different)} differ")
    if ran < count * 0.9:
        print("too few of them ran")
        return 1
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
