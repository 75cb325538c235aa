"""torch._scaled_mm and torch.nn.functional.scaled_mm. Wanted values are sums over single elements, whose factors are found by cuBLASLt's
formula for the place of a factor: block (row / 128, column / 4), and in it row % 32 * 16 + row % 128 / 32 * 4 + column % 4."""

import numpy as np
import pytest
import torch
from torch.nn.functional import ScalingType, SwizzleType, scaled_grouped_mm, scaled_mm

M, N, K = 256, 128, 256
E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6]


def place(row, column, columns):
    block = row // 128 * -(-columns // 4) + column // 4
    return block * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4


def by_place(codes, rows, columns):
    """Factors by row and column, found one at a time."""
    flat = codes.flatten()
    return np.array([[float(flat[place(r, c, columns)]) for c in range(columns)] for r in range(rows)])


def e4m3(rows):
    return torch.randn(rows, K).to(torch.float8_e4m3fn)


def e2m1(rows):
    return torch.randint(0, 256, (rows, K // 2), dtype=torch.uint8)


def of_e2m1(codes):
    return np.array([[E2M1[b >> shift & 15] for b in row for shift in (0, 4)] for row in codes.tolist()])


def close(got, wanted):
    np.testing.assert_allclose(got.cpu().double().numpy(), wanted, rtol=2e-2, atol=2e-2 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", ["tensor", "row"])
def test_fp8(kind):
    a, b = e4m3(M), e4m3(N)
    shapes = ((), ()) if kind == "tensor" else ((M, 1), (1, N))
    scale_a, scale_b = (torch.rand(s) + 0.5 for s in shapes)
    bias = torch.randn(N).bfloat16()
    got = torch._scaled_mm(a.cuda(), b.cuda().t(), scale_a.cuda(), scale_b.cuda(), bias=bias.cuda(), out_dtype=torch.bfloat16)
    assert got.is_cuda and got.dtype == torch.bfloat16
    close(got, a.double().numpy() @ b.double().numpy().T * scale_a.double().numpy() * scale_b.double().numpy() + bias.double().numpy())


def far_apart(m, n):
    """256, and 128 products of 1/64 from the 129th element of K on. Beside 256 Hopper's tensor cores drop what is less than 1/32."""
    rows = torch.zeros(256)
    rows[0], rows[128:] = 16, 0.125
    return (rows.repeat(r, 1).to(torch.float8_e4m3fn).cuda() for r in (m, n))


@pytest.mark.parametrize("fast", [True, False])
def test_fp8_sums_as_tensor_cores_do(fast):
    a, b = far_apart(32, 48)
    got = torch._scaled_mm(a, b.t(), torch.ones((), device="cuda"), torch.full((), 0.5, device="cuda"), out_dtype=torch.float32, use_fast_accum=fast)
    lost = fast and torch.cuda.get_device_capability()[0] == 9
    assert torch.equal(got.cpu(), torch.full((32, 48), 128.0 if lost else 129.0))


def test_tritons_cublas_sums_fast():
    from triton._C.libtriton import nvidia
    a, b = far_apart(32, 48)
    out = torch.empty(32, 48, device="cuda", dtype=torch.float32)
    nvidia.cublas.CublasLt(torch.empty(16, device="cuda", dtype=torch.uint8)).matmul(a, b, out)
    assert torch.equal(out.cpu(), torch.full((32, 48), 256.0 if torch.cuda.get_device_capability()[0] == 9 else 258.0))


def test_mxfp8():
    a, b = e4m3(M), e4m3(N)
    scale_a, scale_b = (torch.randint(125, 130, (n * K // 32,), dtype=torch.uint8).view(torch.float8_e8m0fnu) for n in (M, N))
    got = torch._scaled_mm(a.cuda(), b.cuda().t(), scale_a.cuda(), scale_b.cuda(), out_dtype=torch.float32)
    wide_a, wide_b = (x.double().numpy() * np.repeat(by_place(s.float(), n, K // 32), 32, 1) for x, s, n in ((a, scale_a, M), (b, scale_b, N)))
    close(got, wide_a @ wide_b.T)


@pytest.mark.parametrize("kind", ["nvfp4", "mxfp4"])
def test_fp4(kind):
    a, b = e2m1(M), e2m1(N)
    step = 16 if kind == "nvfp4" else 32
    if kind == "nvfp4":
        scale_a, scale_b = ((torch.rand(n * K // step) * 4).to(torch.float8_e4m3fn) for n in (M, N))
    else:
        scale_a, scale_b = (torch.randint(125, 130, (n * K // step,), dtype=torch.uint8).view(torch.float8_e8m0fnu) for n in (M, N))
    fp4 = torch.float4_e2m1fn_x2
    wide_a, wide_b = (of_e2m1(x) * np.repeat(by_place(s.float(), n, K // step), step, 1) for x, s, n in ((a, scale_a, M), (b, scale_b, N)))
    there = (a.cuda().view(fp4), b.cuda().view(fp4).t())
    close(torch._scaled_mm(*there, scale_a.cuda(), scale_b.cuda(), out_dtype=torch.float32), wide_a @ wide_b.T)
    recipe = ScalingType.BlockWise1x16 if kind == "nvfp4" else ScalingType.BlockWise1x32
    newer = scaled_mm(*there, scale_a.cuda(), recipe, scale_b.cuda(), recipe, SwizzleType.SWIZZLE_32_4_4, SwizzleType.SWIZZLE_32_4_4, output_dtype=torch.float32)
    close(newer, wide_a @ wide_b.T)


def test_nvfp4_with_a_second_factor():
    a, b = e2m1(M), e2m1(N)
    scale_a, scale_b = ((torch.rand(n * K // 16) * 4).to(torch.float8_e4m3fn) for n in (M, N))
    twice = [ScalingType.BlockWise1x16, ScalingType.TensorWise]
    swizzles = [SwizzleType.SWIZZLE_32_4_4, SwizzleType.NO_SWIZZLE]
    whole = torch.tensor(0.25, device="cuda")
    got = scaled_mm(a.cuda().view(torch.float4_e2m1fn_x2), b.cuda().view(torch.float4_e2m1fn_x2).t(), [scale_a.cuda(), whole], twice, [scale_b.cuda(), whole], twice,
                    swizzles, swizzles, output_dtype=torch.float32)
    wide_a, wide_b = (of_e2m1(x) * np.repeat(by_place(s.float(), n, K // 16), 16, 1) for x, s, n in ((a, scale_a, M), (b, scale_b, N)))
    close(got, wide_a @ wide_b.T / 16)


def test_groups_of_rows():
    """100 rows, none, and 156: the factors of a group are padded to 128 rows."""
    a, b, columns = e4m3(M), torch.randn(3, N, K).to(torch.float8_e4m3fn), K // 32
    scale_a, scale_b = (torch.randint(125, 130, s, dtype=torch.uint8).view(torch.float8_e8m0fnu) for s in ((384, columns), (3, N * columns)))
    recipe, swizzle = ScalingType.BlockWise1x32, SwizzleType.SWIZZLE_32_4_4
    got = scaled_grouped_mm(a.cuda(), b.cuda().transpose(1, 2), scale_a.cuda(), recipe, scale_b.cuda(), recipe, swizzle, swizzle,
                            offs=torch.tensor([100, 100, 256], dtype=torch.int32, device="cuda"), output_dtype=torch.bfloat16)
    for group, rows, of_a in ((0, slice(0, 100), scale_a[:128]), (2, slice(100, 256), scale_a[128:])):
        wide_a, wide_b = (x.double().numpy() * np.repeat(by_place(s.float(), len(x), columns), 32, 1) for x, s in ((a[rows], of_a), (b[group], scale_b[group])))
        close(got[rows], wide_a @ wide_b.T)
    with pytest.raises(NotImplementedError, match="_scaled_grouped_mm_v2"):
        scaled_grouped_mm(a.cuda(), b[0].cuda().t(), scale_a.cuda(), recipe, scale_b[0].cuda(), recipe, swizzle, swizzle,
                          offs=torch.tensor([256], dtype=torch.int32, device="cuda"), output_dtype=torch.bfloat16)


def test_blocks_of_128():
    a, b = e4m3(M), e4m3(N)
    scale_a, scale_b = torch.rand(M, K // 128) + 0.5, torch.rand(N // 128, K // 128) + 0.5
    got = torch._scaled_mm(a.cuda(), b.cuda().t(), scale_a.cuda(), scale_b.cuda().t(), out_dtype=torch.bfloat16)
    wide_a = a.double().numpy() * np.repeat(scale_a.double().numpy(), 128, 1)
    close(got, wide_a @ (b.double().numpy() * np.repeat(np.repeat(scale_b.double().numpy(), 128, 0), 128, 1)).T)


@pytest.mark.parametrize("scale, message", [(torch.ones(3), r"scale factors of shape \(3,\)"), (torch.ones(7).to(torch.float8_e4m3fn), "7 scale factors: 256 rows of 16 take 4096")])
def test_factors_that_do_not_fit(scale, message):
    with pytest.raises(ValueError, match=message):
        torch._scaled_mm(e4m3(M).cuda(), e4m3(N).cuda().t(), scale.cuda(), torch.ones((), device="cuda"), out_dtype=torch.float32)
