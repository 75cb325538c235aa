"""TileLang: its CUDA C++ is compiled to PTX."""

import shutil

import pytest
import torch

tilelang = pytest.importorskip("tilelang")
import tilelang.language as T  # noqa: E402

pytestmark = pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on the path")


@tilelang.jit(out_idx=[-1])
def product(M, N, K, BM, BN, BK):
    @T.prim_func
    def main(A: T.Tensor((M, K), "float16"), B: T.Tensor((K, N), "float16"), C: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(N, BN), T.ceildiv(M, BM), threads=128) as (x, y):
            a, b = T.alloc_shared((BM, BK), "float16"), T.alloc_shared((BK, BN), "float16")
            c = T.alloc_fragment((BM, BN), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, BK), num_stages=2):
                T.copy(A[y * BM, k * BK], a)
                T.copy(B[k * BK, x * BN], b)
                T.gemm(a, b, c)
            T.copy(c, C[y * BM, x * BN])
    return main


@tilelang.jit(out_idx=[-1])
def add(N, BLOCK):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, BLOCK), threads=BLOCK) as block:
            for i in T.Parallel(BLOCK):
                C[block * BLOCK + i] = A[block * BLOCK + i] + B[block * BLOCK + i]
    return main


@tilelang.jit(out_idx=[-1])
def sums(M, N, BM):
    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M,), "float32")):
        with T.Kernel(T.ceildiv(M, BM), threads=128) as block:
            a, b = T.alloc_fragment((BM, N), "float32"), T.alloc_fragment((BM,), "float32")
            T.copy(A[block * BM, 0], a)
            T.reduce_sum(a, b, dim=1)
            T.copy(b, B[block * BM])
    return main


def test_product(gen5_run):
    a, b = torch.randn(256, 128, device="cuda", dtype=torch.float16), torch.randn(128, 256, device="cuda", dtype=torch.float16)
    torch.testing.assert_close(product(256, 256, 128, 128, 128, 32)(a, b).cpu().float(), a.cpu().float() @ b.cpu().float(), atol=0.03, rtol=1e-3)
    gen5_run.after_launch()
    assert gen5_run.launches == 1


def test_add():
    x, y = torch.randn(1024, device="cuda"), torch.randn(1024, device="cuda")
    assert torch.equal(add(1024, 128)(x, y), x + y)


def test_sums():
    x = torch.randn(64, 128, device="cuda")
    torch.testing.assert_close(sums(64, 128, 16)(x).cpu(), x.cpu().sum(1), atol=1e-4, rtol=1e-5)
