"""Triton's cuBLAS, which its tutorials compare with. The CPU computes it, f16, bf16, and fp8 on Hopper with the bits of tensor cores; it
takes no time on the machine's clock. NVIDIA's library cannot run here: it uses interfaces of the driver that are not public, and has machine code only."""

from __future__ import annotations

import typing

from gen5 import _scaled


def _operand(codes: typing.Any, factors: typing.Any, vector: int) -> typing.Any:
    values = _scaled.numbers(codes)
    rows, columns = values.shape
    return values * _scaled.unblocked(factors, rows, columns // vector).repeat_interleave(vector, 1)


def _product(a: typing.Any, b: typing.Any) -> typing.Any:
    """Rows of A times rows of B, in f32. Triton's cuBLAS asks for fast accumulation of fp8."""
    import torch
    made = _scaled.product(a, b) if a.dtype in (torch.float16, torch.bfloat16) else _scaled.hopper_product(a, b, fast=True)
    return a.float() @ b.float().T if made is None else made.to(a.device)


class CublasLt:
    """triton._C.libtriton.nvidia.cublas.CublasLt. The caller passes B transposed."""

    def __init__(self, workspace: object):
        pass

    def matmul(self, a: typing.Any, b: typing.Any, out: typing.Any) -> None:
        out.copy_(_product(a, b))

    def gemm(self, a: typing.Any, b: typing.Any, c: typing.Any, out: typing.Any, alpha: float, beta: float) -> None:
        out.copy_(alpha * _product(a, b) + beta * c.float())

    def block_scaled_matmul_mxfp8(self, a: typing.Any, b: typing.Any, out: typing.Any, a_factors: typing.Any, b_factors: typing.Any) -> None:
        out.copy_(_operand(a, a_factors, 32) @ _operand(b, b_factors, 32).T)

    def block_scaled_matmul_nvfp4(self, a: typing.Any, b: typing.Any, out: typing.Any, a_factors: typing.Any, b_factors: typing.Any) -> None:
        out.copy_(_operand(a, a_factors, 16) @ _operand(b, b_factors, 16).T)
