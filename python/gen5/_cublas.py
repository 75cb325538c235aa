"""Triton's cuBLAS, which its tutorials compare with, as torch's own operators here: on the CPU, in f32, in no time of the machine's.
NVIDIA's library can't be had: it asks the driver for what is not public, and has machine code only."""

from __future__ import annotations

import typing


def _scaled(codes: typing.Any, factors: typing.Any, vector: int) -> typing.Any:
    """An operand in f32: e4m3, or e2m1 two to a byte with the lower one first. Its factors lie as blocks of 128 rows by 4, in which
    rows r, r + 32, r + 64 and r + 96 stand side by side."""
    import torch
    if codes.dtype == torch.uint8:
        e2m1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        nibbles = torch.stack([codes & 15, codes >> 4], -1).flatten(1).long()
        values = e2m1[nibbles & 7] * (1 - 2 * (nibbles >> 3))
    else:
        values = codes.float()
    if factors.dtype == torch.uint8:
        factors = torch.exp2(factors.float() - 127)
    rows, columns = values.shape
    blocks = factors.float().reshape(rows // 128, columns // vector // 4, 32, 4, 4)
    return values * blocks.permute(0, 3, 2, 1, 4).reshape(rows, columns // vector).repeat_interleave(vector, 1)


class CublasLt:
    """triton._C.libtriton.nvidia.cublas.CublasLt. B comes transposed."""

    def __init__(self, workspace: object):
        pass

    def matmul(self, a: typing.Any, b: typing.Any, out: typing.Any) -> None:
        out.copy_(a.float() @ b.float().T)

    def gemm(self, a: typing.Any, b: typing.Any, c: typing.Any, out: typing.Any, alpha: float, beta: float) -> None:
        out.copy_(alpha * (a.float() @ b.float().T) + beta * c.float())

    def block_scaled_matmul_mxfp8(self, a: typing.Any, b: typing.Any, out: typing.Any, a_factors: typing.Any, b_factors: typing.Any) -> None:
        out.copy_(_scaled(a, a_factors, 32) @ _scaled(b, b_factors, 32).T)

    def block_scaled_matmul_nvfp4(self, a: typing.Any, b: typing.Any, out: typing.Any, a_factors: typing.Any, b_factors: typing.Any) -> None:
        out.copy_(_scaled(a, a_factors, 16) @ _scaled(b, b_factors, 16).T)
