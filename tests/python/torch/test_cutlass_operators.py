"""NVIDIA's own CuTe DSL kernels, from the wheel nvidia-cutlass-operators, unmodified, on torch tensors: one operator of each class.
Outputs are f32 (the mixed one's f16): compared with float64 within what f32 sums of these lengths lose. fp8 on Hopper sums
shorter: tests/python/kernels holds that to an H200's bits, here it is 2 ** -9 of the sum of the products' sizes."""

import pytest
import torch

ops = pytest.importorskip("cutlass.operators", reason="no nvidia-cutlass-operators in this environment")
from cutlass.operators.arguments import ScaledOperand, ScaleMode, ScaleSwizzleMode  # noqa: E402

M, N, K = 256, 128, 256
SWIZZLE = ScaleSwizzleMode.Swizzle32x4x4


def run_first(arguments, machine, kind):
    """The first operator whose class is of that name, on these arguments."""
    found = (o for o in ops.get_operators(arguments, target_sm={"b200": "100a", "h200": "90a"}[machine]) if type(o).__name__ == kind)
    operator = next(found, None)
    if operator is None:
        pytest.skip(f"{machine} has no {kind} for these types")
    operator.run(arguments)
    torch.cuda.synchronize()


def values(shape, dtype, seed):
    generator = torch.Generator("cuda").manual_seed(seed)
    if dtype == torch.int8:
        return torch.randint(-20, 20, shape, device="cuda", dtype=dtype, generator=generator)
    return torch.randn(shape, device="cuda", generator=generator).to(dtype)


def close(out, a, b, part):
    error = (out.double() - a @ b).abs()
    assert (error <= part * (a.abs() @ b.abs())).all(), f"largest error {error.max()}"


DENSE = [("PersistentDenseGemmOperator", torch.float16), ("PersistentDenseGemmOperator", torch.bfloat16),
         ("PersistentDenseGemmOperator", torch.float8_e4m3fn), ("PersistentDenseGemmOperator", torch.float8_e5m2),
         ("PersistentDenseGemmEFCOperator", torch.float16), ("PersistentDenseGemmPreferredClusterOperator", torch.float16),
         ("TgvGemmOperator", torch.bfloat16), ("Sm80TensorOpGemmOperator", torch.float16),
         ("Sm90StaticPersistentGemmOperator", torch.float16), ("Sm90StaticPersistentGemmOperator", torch.float8_e4m3fn),
         ("Sm90StaticPersistentGemmOperator", torch.int8)]


@pytest.mark.parametrize("kind, dtype", DENSE, ids=[f"{k.removesuffix('Operator')}-{str(d)[6:]}" for k, d in DENSE])
def test_dense(kind, dtype, gen5_run):
    a, b = values((M, K), dtype, 1), values((N, K), dtype, 2).T
    out = torch.empty(M, N, device="cuda", dtype=torch.int32 if dtype == torch.int8 else torch.float32)
    run_first(ops.GemmArguments(a, b, out, accumulator_type=out.dtype), gen5_run.machine, kind)
    short = gen5_run.machine == "h200" and dtype == torch.float8_e4m3fn
    close(out, a.double(), b.double(), 0 if dtype == torch.int8 else 2**-9 if short else 2**-20)


def scaled(rows, dtype, vector, seed):
    """An operand of which `vector` elements of a row share a scale factor, and its values."""
    generator = torch.Generator("cuda").manual_seed(seed)
    blocks = K // vector
    if dtype == torch.float8_e4m3fn:
        data = values((rows, K), dtype, seed)
        wide = data.double()
    else:  # e2m1, two to a byte, the lower one first
        codes = torch.randint(0, 16, (rows, K), device="cuda", generator=generator)
        table = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6], device="cuda", dtype=torch.float64)
        wide = table[codes & 7] * (1 - 2 * (codes >> 3))
        data = (codes[:, ::2] | codes[:, 1::2] << 4).to(torch.uint8).view(torch.float4_e2m1fn_x2)
    if vector == 32:
        exponents = torch.randint(124, 131, (rows, blocks), device="cuda", generator=generator)
        factors, values_of = exponents.to(torch.uint8), torch.exp2(exponents.double() - 127)
    else:
        e4m3 = torch.rand(rows, blocks, device="cuda", generator=generator).to(torch.float8_e4m3fn)
        factors, values_of = e4m3.view(torch.uint8), e4m3.double()
    # Rows r, r + 32, r + 64, r + 96 of 128 stand side by side, four factors of each.
    stored = factors.reshape(rows // 128, 4, 32, blocks // 4, 4).permute(0, 3, 2, 1, 4).contiguous().reshape(-1)
    kind = torch.float8_e8m0fnu if vector == 32 else torch.float8_e4m3fn
    return data, stored.view(kind), wide * values_of.repeat_interleave(vector, 1)


@pytest.mark.parametrize("dtype, vector", [(torch.float8_e4m3fn, 32), (torch.float4_e2m1fn_x2, 32), (torch.float4_e2m1fn_x2, 16)],
                         ids=["mxf8", "mxf4", "nvf4"])
def test_block_scaled(dtype, vector, gen5_run):
    (a, fa, wide_a), (b, fb, wide_b) = scaled(M, dtype, vector, 1), scaled(N, dtype, vector, 2)
    mode, out = {32: ScaleMode.Blockwise1x32, 16: ScaleMode.Blockwise1x16}[vector], torch.empty(M, N, device="cuda")
    arguments = ops.GemmArguments(ScaledOperand(a, fa, mode, SWIZZLE), ScaledOperand(b.T, fb, mode, SWIZZLE), out, accumulator_type=torch.float32)
    run_first(arguments, gen5_run.machine, "PersistentDenseBlockScaledGemmOperator")
    close(out, wide_a, wide_b.T, 2**-20)


def test_mixed_input(gen5_run):
    a, b, out = values((M, K), torch.int8, 1), values((N, K), torch.bfloat16, 2).T, torch.empty(M, N, device="cuda")
    run_first(ops.GemmArguments(a, b, out, accumulator_type=torch.float32), gen5_run.machine, "MixedInputGemmOperator")
    close(out, a.double(), b.double(), 2**-20)
