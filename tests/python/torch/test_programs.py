"""Programs as people write them with torch: an autograd function, addresses in tensors, descriptors, a tuned product. Shapes are
those of Triton's tutorials, the kernels our own. Compared with torch's operators on the CPU."""

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def norm_forward(x, y, w, b, means, scales, N, eps, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    inside = i < N
    v = tl.load(x + row * N + i, mask=inside, other=0).to(tl.float32)
    mean = tl.sum(v) / N
    centred = tl.where(inside, v - mean, 0)
    scale = tl.rsqrt(tl.sum(centred * centred) / N + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    tl.store(y + row * N + i, centred * scale * tl.load(w + i, mask=inside) + tl.load(b + i, mask=inside), mask=inside)


@triton.jit
def norm_backward(dx, dy, dw, db, x, w, means, scales, N, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    inside = i < N
    g = tl.load(dy + row * N + i, mask=inside, other=0).to(tl.float32)
    v = tl.load(x + row * N + i, mask=inside, other=0).to(tl.float32)
    scale = tl.load(scales + row)
    unit = tl.where(inside, (v - tl.load(means + row)) * scale, 0)
    wg = tl.load(w + i, mask=inside, other=0).to(tl.float32) * g
    tl.store(dx + row * N + i, (wg - tl.sum(wg) / N - unit * (tl.sum(wg * unit) / N)) * scale, mask=inside)
    tl.atomic_add(dw + i, g * unit, mask=inside)
    tl.atomic_add(db + i, g, mask=inside)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        rows, n = x.shape
        y = torch.empty_like(x)
        means, scales = (torch.empty(rows, device=x.device) for _ in range(2))
        norm_forward[(rows,)](x, y, w, b, means, scales, n, eps, BLOCK=triton.next_power_of_2(n))
        ctx.save_for_backward(x, w, means, scales)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, w, means, scales = ctx.saved_tensors
        assert dy.device == x.device == means.device
        rows, n = x.shape
        dx, dw, db = torch.empty_like(dy), torch.zeros(n, device=w.device), torch.zeros(n, device=w.device)
        norm_backward[(rows,)](dx, dy, dw, db, x, w, means, scales, n, BLOCK=triton.next_power_of_2(n))
        return dx, dw.to(w.dtype), db.to(w.dtype), None


def test_layer_norm():
    x = (torch.randn(33, 200, device=DEVICE) * 0.5 - 2.3).requires_grad_(True)
    w, b = (torch.rand(200, device=DEVICE, requires_grad=True) for _ in range(2))
    dy = 0.1 * torch.randn_like(x)
    gradients = []
    for layer in (lambda: LayerNorm.apply(x, w, b, 1e-5), lambda: torch.nn.functional.layer_norm(x, (200,), w, b, 1e-5)):
        y = layer()
        y.backward(dy)
        assert x.grad.is_cuda
        gradients.append([y.detach(), x.grad.clone(), w.grad.clone(), b.grad.clone()])
        x.grad = w.grad = b.grad = None
    for mine, wanted in zip(*gradients):
        torch.testing.assert_close(mine, wanted, atol=1e-5, rtol=1e-5)


@triton.jit
def grouped(a_addresses, b_addresses, c_addresses, sizes, BLOCK: tl.constexpr, BK: tl.constexpr):
    g = tl.program_id(0)
    n, k = tl.load(sizes + 2 * g), tl.load(sizes + 2 * g + 1)
    a = tl.load(a_addresses + g).to(tl.pointer_type(tl.float16))
    b = tl.load(b_addresses + g).to(tl.pointer_type(tl.float16))
    c = tl.load(c_addresses + g).to(tl.pointer_type(tl.float16))
    i, j, kk = tl.arange(0, BLOCK), tl.arange(0, BLOCK), tl.arange(0, BK)
    for at in range(0, n, BLOCK):
        sums = tl.zeros((BLOCK, BLOCK), tl.float32)
        for step in range(0, k, BK):
            sums = tl.dot(tl.load(a + i[:, None] * k + step + kk[None, :]), tl.load(b + (step + kk)[:, None] * n + at + j[None, :]), sums)
        tl.store(c + i[:, None] * n + at + j[None, :], sums.to(tl.float16))


def test_addresses_in_tensors():
    """No argument of the launch: the machine knows them since data_ptr() was asked for."""
    shapes = [(64, 128, 64), (64, 64, 32), (64, 192, 96)]
    a = [torch.rand(m, k, device=DEVICE, dtype=torch.float16) for m, _, k in shapes]
    b = [torch.rand(n, k, device=DEVICE, dtype=torch.float16).T.contiguous() for _, n, k in shapes]
    c = [torch.empty(m, n, device=DEVICE, dtype=torch.float16) for m, n, _ in shapes]
    addresses = [torch.tensor([t.data_ptr() for t in group], device=DEVICE) for group in (a, b, c)]
    grouped[(3,)](*addresses, torch.tensor([v for _, n, k in shapes for v in (n, k)], dtype=torch.int32, device=DEVICE), BLOCK=64, BK=32)
    for x, y, z in zip(a, b, c):
        # Sums are below 64: half a step of f16 there.
        torch.testing.assert_close(z.double(), x.double() @ y.double(), atol=2**-6, rtol=1e-3)


@triton.autotune([triton.Config({"BM": 128, "BN": 64, "BK": 64}, num_stages=3), triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_stages=2)],
                 key=["M", "N", "K"])
@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_tiles = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    c_tiles = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    i, j = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a_tiles.load([i, k]), b_tiles.load([j, k]).T, sums)
    c_tiles.store([i, j], sums.to(tl.float16))


def test_tuned_product_and_an_allocator_of_torch():
    a, b = (torch.randn(256, 128, device=DEVICE, dtype=torch.float16) for _ in range(2))
    c = torch.empty(256, 256, device=DEVICE, dtype=torch.float16)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    product[lambda meta: (256 // meta["BM"], 256 // meta["BN"])](a, b, c, 256, 256, 128)
    torch.testing.assert_close(c, a @ b.T, atol=1e-2, rtol=1e-2)


@triton.jit
def scaled(a, a_scale, b, b_scale, c, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m, n, s = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, K // 32)
    r = tl.dot_scaled(a.load([0, 0]), tl.load(a_scale + m[:, None] * (K // 32) + s[None, :]), "e4m3", b.load([0, 0]).T,
                      tl.load(b_scale + n[:, None] * (K // 32) + s[None, :]), "e4m3")
    c.store([0, 0], r)


def test_block_scaled_descriptors():
    if torch.cuda.get_device_capability()[0] != 10:
        pytest.skip("block scales are Blackwell's")
    a, b = (torch.randn(128, 128, device=DEVICE).to(torch.float8_e4m3fn) for _ in range(2))
    fa, fb = (torch.randint(124, 131, (128, 4), device=DEVICE, dtype=torch.uint8) for _ in range(2))
    c = torch.empty(128, 128, device=DEVICE)
    scaled[(1,)](*(x for t, f in ((a, fa), (b, fb)) for x in (TensorDescriptor.from_tensor(t, [128, 128]), f)),
                 TensorDescriptor.from_tensor(c, [128, 128]), 128, 128, 128)
    x, y = (t.to(torch.float64) * torch.exp2(f.to(torch.float64) - 127).repeat_interleave(32, 1) for t, f in ((a, fa), (b, fb)))
    torch.testing.assert_close(c.to(torch.float64), x @ y.T, atol=1e-2, rtol=1e-3)
