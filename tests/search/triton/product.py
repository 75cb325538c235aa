"""A matrix product as Triton's tutorial has it (pointers, tiles in groups, masks along K), its 40 configurations and its problems."""
import itertools
import random

import triton
import triton.language as tl

PROBLEMS = [(2048, 2048, 2048), (64, 8192, 4096), (1024, 1024, 8192), (1008, 5008, 1520)]  # rows and columns of D, K
# Rows and columns of a tile, block of K, stages, warps: those that the tutorial tries for f16, and others at random.
TUTORIAL = [(128, 256, 64, 3, 8), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4), (64, 128, 32, 4, 4), (128, 32, 32, 4, 4), (64, 32, 32, 5, 2),
            (32, 64, 32, 5, 2)]
GROUP = 8  # tiles along M that are walked before the next column
SHARED = 227 * 1024


@triton.jit
def product(a, b, d, M, N, K, row_a, row_b, row_d, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr, GROUP: tl.constexpr):
    number = tl.program_id(0)
    rows, columns = tl.cdiv(M, TM), tl.cdiv(N, TN)
    first = number // (GROUP * columns) * GROUP
    high = min(rows - first, GROUP)
    within = number % (GROUP * columns)
    m, n = (first + within % high) * TM, within // high * TN
    at_m, at_n, at_k = (m + tl.arange(0, TM)) % M, (n + tl.arange(0, TN)) % N, tl.arange(0, TK)
    from_a, from_b = a + at_m[:, None] * row_a + at_k[None, :], b + at_k[:, None] * row_b + at_n[None, :]
    total = tl.zeros((TM, TN), tl.float32)
    for block in range(tl.cdiv(K, TK)):
        left = K - block * TK
        x = tl.load(from_a, mask=at_k[None, :] < left, other=0.0)
        y = tl.load(from_b, mask=at_k[:, None] < left, other=0.0)
        total = tl.dot(x, y, total)
        from_a += TK
        from_b += TK * row_b
    to_m, to_n = m + tl.arange(0, TM), n + tl.arange(0, TN)
    tl.store(d + to_m[:, None] * row_d + to_n[None, :], total.to(tl.float16), mask=(to_m[:, None] < M) & (to_n[None, :] < N))


def grid_of(m, n):
    return lambda meta: (triton.cdiv(m, meta["TM"]) * triton.cdiv(n, meta["TN"]),)


def configurations():
    """{what a row calls it: triton.Config}"""
    others = [c for c in itertools.product((32, 64, 128, 256), (32, 64, 128, 256), (32, 64, 128), (2, 3, 4, 5), (4, 8))
              if 2 * c[3] * c[2] * (c[0] + c[1]) <= SHARED and 16 * c[4] <= c[0] * c[1] // 32 <= 128 * c[4] and c not in TUTORIAL]
    chosen = TUTORIAL + random.Random(39).sample(others, 40 - len(TUTORIAL))
    return {f"tile={m}x{n} block={k} stages={s} warps={w}": triton.Config({"TM": m, "TN": n, "TK": k, "GROUP": GROUP}, num_stages=s, num_warps=w)
            for m, n, k, s, w in chosen}
