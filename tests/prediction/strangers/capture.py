#!/usr/bin/env python3
"""Writes down the Triton kernels that other people's libraries launch: PTX, grid, arguments.

  capture.py FOLDER     runs every case of the rule below on the GPU that is there and leaves manifest.json and PTX in FOLDER

Needs torch for CUDA, its Triton, and liger-kernel. The rule, chosen before any of these kernels was measured:

  * Inductor's matrix products: every configuration that max-autotune tries by default, for MATRICES.
  * Inductor's flex attention: the configurations that it chooses for ATTENTION.
  * Inductor's pointwise kernels and reductions: all that it makes of BLOCKS, forwards and backwards.
  * liger-kernel: all that its operators launch for LIGER, forwards and backwards.

captured.tar.xz is what an H200 gave (torch 2.11.0, Triton 3.6.0, liger-kernel 0.8.5, 24 November 2026), without the PTX's lines for debuggers.

A kernel counts once for each set of constants and sizes. Left out are launches whose tensor descriptors the host makes, and nothing else.
"""
import hashlib
import json
import pathlib
import sys

import torch
import torch._inductor.config as inductor
import torch.nn.functional as F
import triton
from triton.backends.nvidia.driver import CudaLauncher
from triton.compiler.compiler import CompiledKernel

MATRICES = [(2048, 2048, 2048), (4096, 4096, 1024), (1024, 4096, 2048)]
ATTENTION = [(1024, 64, False), (1024, 128, True), (2048, 64, True), (2048, 128, False)]  # tokens, head, causal; 16 heads

launches, seen = [], set()
now = {"source": "", "group": "", "tensor": False}
MOST_LISTED = 4096  # elements of an integer tensor that are kept one by one


def content(t):
    """What a replay fills a tensor with: numbers as they are where they steer the kernel, else their range."""
    if t.is_floating_point() or t.is_complex():
        return None
    flat = t.detach().reshape(-1) if t.is_contiguous() else t.detach().flatten()
    flat = flat.to(torch.int64)
    if flat.numel() == 0:
        return None
    if flat.numel() <= MOST_LISTED:
        return {"values": flat.tolist()}
    return {"least": int(flat.min()), "most": int(flat.max())}


def describe(launcher, grid, kernel, arguments):
    described, storages, shapes = [], {}, []
    for (name, kind), value in zip(launcher.gen5_signature, arguments):
        if kind == "constexpr":
            continue
        if str(kind).startswith("tensordesc"):
            return None
        if str(kind).startswith("*"):
            if value is None:
                described.append({"name": name, "type": kind, "null": True})
                continue
            if isinstance(value, int) or not hasattr(value, "untyped_storage"):
                return None
            storage = value.untyped_storage()
            number = storages.setdefault(storage.data_ptr(), len(storages))
            described.append({"name": name, "type": kind, "storage": number, "bytes": storage.nbytes(),
                              "offset": value.data_ptr() - storage.data_ptr(), "content": content(value)})
            shapes.append(list(value.shape))
        else:
            described.append({"name": name, "type": kind, "value": value if isinstance(value, (int, float)) else float(value)})
    meta = kernel.metadata
    constants = {str(k): v for k, v in launcher.gen5_constants.items() if isinstance(v, (int, float, bool, str)) or v is None}
    return dict(now, kernel=meta.name, grid=list(grid), threads=32 * getattr(meta, "total_num_warps", meta.num_warps), shared=meta.shared,
                scratch=meta.global_scratch_size, profile_scratch=meta.profile_scratch_size, cluster=list(getattr(meta, "cluster_dims", (1, 1, 1))),
                dependent=bool(getattr(meta, "launch_pdl", False)), cooperative=bool(getattr(meta, "launch_cooperative_grid", False)),
                warps=meta.num_warps, stages=meta.num_stages, constants=constants, shapes=shapes, arguments=described)


def hook(folder):
    before, handles, call = CudaLauncher.__init__, CompiledKernel._init_handles, CudaLauncher.__call__

    def init(self, source, metadata):
        before(self, source, metadata)
        self.gen5_signature = list(source.signature.items())
        self.gen5_constants = {k if isinstance(k, str) else source.fn.arg_names[k[0] if isinstance(k, tuple) else k]: v
                               for k, v in getattr(source, "constants", {}).items()} if hasattr(source, "fn") else {}

    def init_handles(self):
        handles(self)
        if self._run is not None and hasattr(self._run, "gen5_signature"):
            self._run.gen5_kernel = self

    def launch(self, x, y, z, stream, function, *arguments):
        kernel = getattr(self, "gen5_kernel", None)
        if kernel is not None and now["source"]:
            try:
                note(folder, self, (x, y, z), kernel, arguments[4:])
            except Exception as e:  # a kind of tensor that is not foreseen: said, and left out
                print(f"{now['source']}: {kernel.metadata.name}: {type(e).__name__}: {e}", file=sys.stderr)
        call(self, x, y, z, stream, function, *arguments)

    CudaLauncher.__init__, CudaLauncher.__call__, CompiledKernel._init_handles = init, launch, init_handles


def note(folder, launcher, grid, kernel, arguments):
    key = (now["source"], kernel.hash, grid, tuple(a if isinstance(a, (int, float)) else getattr(a, "shape", None) for a in arguments))
    if key in seen:
        return
    seen.add(key)
    row = describe(launcher, grid, kernel, arguments)
    if row is None:
        print(f"{now['source']}: {kernel.metadata.name}: descriptors or pointers of the host's", file=sys.stderr)
        return
    text = kernel.asm["ptx"]
    row["ptx"] = hashlib.sha256(text.encode()).hexdigest()[:16] + ".ptx"
    (folder / row["ptx"]).write_text(text)
    c = row["constants"]
    tile = "x".join(str(c[k]) for k in ("BLOCK_M", "BLOCK_N", "BLOCK_K") if k in c)
    what = "".join([f"/tile:{tile}" if tile else "", f"/group_m:{c['GROUP_M']}" if "GROUP_M" in c else "", f"/stages:{row['stages']}" if tile else "", f"/warps:{row['warps']}"])
    base = f"{now['source']}/{row['kernel'].removeprefix('triton_').strip('_')}{what}"
    row["name"] = base
    same = sum(r["name"] == base or r["name"].startswith(base + "/again:") for r in launches)
    if same:
        row["name"] += f"/again:{same + 1}"
    launches.append(row)


class Case:
    def __init__(self, source, group, tensor=False):
        self.what = {"source": source, "group": group, "tensor": tensor}

    def __enter__(self):
        torch.cuda.synchronize()
        now.update(self.what)

    def __exit__(self, kind, value, trace):
        torch.cuda.synchronize()
        now["source"] = ""
        if kind is not None:
            print(f"{self.what['source']}: {kind.__name__}: {str(value)[:300]}", file=sys.stderr)
        torch._dynamo.reset()
        return True


def random(*shape, dtype=torch.bfloat16, grad=False):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype).requires_grad_(grad)


# ---- Inductor


def blocks():
    """name, function, inputs; each is compiled, run and run backwards. Rows of tokens by a model's width."""
    t, w = 4096, 4096
    bf, f32 = torch.bfloat16, torch.float32
    yield "rms_norm", lambda x, g: x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * g, [random(t, w, grad=True), random(w, grad=True)]
    yield "layer_norm_residual", lambda x, y, g, b: F.layer_norm(x + y, (2048,), g, b), [random(t, 2048, grad=True), random(t, 2048), random(2048, grad=True), random(2048, grad=True)]
    yield "swiglu", lambda a, b: F.silu(a) * b, [random(t, 8192, grad=True), random(t, 8192, grad=True)]
    yield "gelu_bias", lambda x, b: F.gelu(x + b), [random(t, 4096, grad=True), random(4096, grad=True)]
    yield "softmax_mask", lambda x, m: torch.softmax(torch.where(m, x.float() * 0.125, -1e9), -1).to(bf), [random(16, 1024, 1024, grad=True), torch.rand(1024, 1024, device="cuda") > 0.3]
    yield "cross_entropy", lambda x, y: F.cross_entropy(x.float(), y), [random(2048, 32000, grad=True), torch.randint(0, 32000, (2048,), device="cuda")]

    def rope(q, cos, sin):
        a, b = q.chunk(2, -1)
        return q * cos + torch.cat((-b, a), -1) * sin

    yield "rope", rope, [random(2, 32, 2048, 128, grad=True), random(2048, 128), random(2048, 128)]
    yield "embedding", lambda i, e, p: F.embedding(i, e) + p, [torch.randint(0, 50000, (8, 1024), device="cuda"), random(50000, 1024), random(1024, 1024)]
    yield "group_norm_silu", lambda x, g, b: F.silu(F.group_norm(x, 32, g, b)), [random(8, 320, 64, 64, grad=True), random(320, grad=True), random(320, grad=True)]
    yield "batch_norm_relu", lambda x, g, b: F.relu(F.batch_norm(x, None, None, g, b, True)), [random(32, 256, 28, 28, dtype=f32, grad=True), random(256, dtype=f32, grad=True), random(256, dtype=f32, grad=True)]

    def adamw(p, g, m, v):
        m = m * 0.9 + g * 0.1
        v = v * 0.95 + g * g * 0.05
        return p * 0.999 - 1e-3 * m / (v.sqrt() + 1e-8), m, v

    yield "adamw", adamw, [random(1 << 23, dtype=f32) for _ in range(3)] + [random(1 << 23, dtype=f32).abs()]
    yield "dropout_add", lambda x, y: F.dropout(x, 0.1, True) + y, [random(t, 2048, grad=True), random(t, 2048)]
    yield "transpose_cast", lambda x: x.float().transpose(0, 1).contiguous(), [random(4096, 4096)]
    yield "column_sum", lambda x: x.float().sum(0), [random(8192, 4096)]
    yield "variance", lambda x: torch.var(x.float(), -1), [random(1024, 16384)]
    yield "argmax", lambda x: x.argmax(-1), [random(512, 32000)]
    yield "cumsum", lambda x: x.cumsum(-1), [random(2048, 2048, dtype=f32)]
    yield "quantise", lambda x: ((x / (x.abs().amax(-1, keepdim=True).float() / 448)).to(torch.float8_e4m3fn), x.abs().amax(-1, keepdim=True).float() / 448), [random(4096, 4096)]
    yield "max_pool", lambda x: F.max_pool2d(x, 3, 2, 1), [random(16, 64, 112, 112)]
    yield "upsample", lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), [random(8, 64, 56, 56, dtype=f32)]


def run_inductor():
    inductor.use_static_cuda_launcher = False
    inductor.force_disable_caches = True
    inductor.max_autotune_gemm_backends = "TRITON"
    inductor.autotune_in_subproc = False
    for m, n, k in MATRICES:
        a, b = random(m, k), random(k, n)
        with Case(f"inductor_mm/m:{m}/n:{n}/k:{k}", "GEMM, Inductor", True):
            torch.compile(torch.mm, options={"max_autotune": True, "triton.cudagraphs": False})(a, b)
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    for tokens, head, causal in ATTENTION:
        q, k, v = (random(1, 16, tokens, head) for _ in range(3))
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, tokens, tokens) if causal else None
        with Case(f"inductor_flex/n:{tokens}/d:{head}{'/causal' if causal else ''}", "attention, Inductor", True):
            torch.compile(flex_attention)(q, k, v, block_mask=mask)
    for name, function, inputs in blocks():
        with Case(f"inductor_{name}", "Inductor"):
            out = torch.compile(function)(*inputs)
            out = out[0] if isinstance(out, tuple) else out
            if out.requires_grad:
                out.backward(torch.ones_like(out))


# ---- liger-kernel


def run_liger():
    from liger_kernel.ops import cross_entropy, fused_add_rms_norm, geglu, group_norm, kl_div, layer_norm, rms_norm, rope, softmax, swiglu, tvd

    def case(name, function, *inputs):
        with Case(f"liger_{name}", "Liger"):
            out = function(*inputs)
            out = out[0] if isinstance(out, tuple) else out
            if out.requires_grad:
                out.backward(torch.ones_like(out))

    for rows, columns in ((4096, 2048), (2048, 8192)):
        at = f"/rows:{rows}/columns:{columns}"
        x, y = random(rows, columns, grad=True), random(rows, columns, grad=True)
        g, b = random(columns, grad=True), random(columns, grad=True)
        case("rms_norm" + at, lambda: rms_norm.LigerRMSNormFunction.apply(x, g, 1e-6, 0.0, "llama", False))
        case("layer_norm" + at, lambda: layer_norm.LigerLayerNormFunction.apply(x, g, b, 1e-5))
        case("swiglu" + at, lambda: swiglu.LigerSiLUMulFunction.apply(x, y))
        case("geglu" + at, lambda: geglu.LigerGELUMulFunction.apply(x, y))
        case("softmax" + at, lambda: softmax.LigerSoftmaxFunction.apply(x))
        case("fused_add_rms_norm" + at, lambda: fused_add_rms_norm.LigerFusedAddRMSNormFunction.apply(x, y, g, 1e-6, 0.0, "llama", False))
    for rows, columns in ((1024, 32000), (512, 128256)):
        at = f"/rows:{rows}/columns:{columns}"
        x, labels = random(rows, columns, grad=True), torch.randint(0, columns, (rows,), device="cuda")
        case("cross_entropy" + at, lambda: cross_entropy.LigerCrossEntropyFunction.apply(x, labels, None, -100, 0.0, 0.0, "mean", None, False))
        logs, target = torch.log_softmax(x.detach().float(), -1).requires_grad_(), torch.softmax(random(rows, columns).float(), -1)
        case("kl_div" + at, lambda: kl_div.LigerKLDivLossFunction.apply(logs, target, "batchmean", False, 1e-10))
        case("tvd" + at, lambda: tvd.LigerTVDLossFunction.apply(target.clone().requires_grad_(), target, None, "batchmean"))
    q, k = random(2, 32, 2048, 128, grad=True), random(2, 8, 2048, 128, grad=True)
    cos, sin = random(1, 2048, 128), random(1, 2048, 128)
    case("rope", lambda: rope.LigerRopeFunction.apply(q, k, cos, sin))
    x = random(8, 256, 1024, dtype=torch.float32, grad=True)
    g, b = random(256, dtype=torch.float32, grad=True), random(256, dtype=torch.float32, grad=True)
    case("group_norm", lambda: group_norm.LigerGroupNormFunction.apply(x, g, b, 256, 32, 1e-5))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    hook(folder)
    torch.manual_seed(1)
    run_inductor()
    run_liger()
    (folder / "manifest.json").write_text(json.dumps(launches, indent=0))
    print(f"{len(launches)} kernels of torch {torch.__version__}, Triton {triton.__version__}")


if __name__ == "__main__":
    main()
