"""What the tests of kernels share: inputs, and comparison with a stated tolerance."""

import ml_dtypes
import numpy as np

import gen5

TYPES = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "fp32": np.dtype(np.float32), "fp64": np.dtype(np.float64),
         "e4m3": np.dtype(ml_dtypes.float8_e4m3fn), "e5m2": np.dtype(ml_dtypes.float8_e5m2), "int8": np.dtype(np.int8),
         "int32": np.dtype(np.int32), "uint32": np.dtype(np.uint32), "int64": np.dtype(np.int64), "int16": np.dtype(np.int16)}


def rng(seed=1):
    return np.random.default_rng(seed)


def random(shape, kind="fp32", seed=1, low=-20, high=20):
    """An array of the machine: normal numbers, or integers from low to high."""
    dtype = TYPES[kind]
    if dtype.kind in "iu":
        return gen5.array(rng(seed).integers(max(low, 0) if dtype.kind == "u" else low, high, shape), dtype)
    return gen5.array(rng(seed).standard_normal(shape).astype(np.float32).astype(dtype))


def wide(a):
    """In float64, where every input is exact."""
    return a.numpy().astype(np.float64)


def close(got, want, rtol=0.0, atol=0.0):
    """Within atol + rtol |want|, element by element."""
    got, want = np.asarray(got.numpy(), np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape
    error = np.abs(got - want)
    wrong = ~((error <= atol + rtol * np.abs(want)) | (got == want) | (np.isnan(got) & np.isnan(want)))
    assert not wrong.any(), f"{wrong.sum()} of {wrong.size} outside, largest difference {np.nanmax(error):.3g}"


def equal(got, want):
    np.testing.assert_array_equal(np.asarray(got.numpy()), np.asarray(want))
