"""NVIDIA Warp: its GPU is refused with the reason, its CPU works."""

import numpy as np
import pytest

wp = pytest.importorskip("warp")

pytestmark = pytest.mark.gen5_orders("timed")


@wp.kernel
def twice(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = 2.0 * x[i]


def test_the_gpu_is_refused():
    with pytest.raises(NotImplementedError, match="without the names by which tinygpu takes its place; device='cpu' works"):
        wp.zeros(4, dtype=float, device="cuda:0")


def test_the_cpu_works():
    x = wp.array(np.arange(8, dtype=np.float32), dtype=float, device="cpu")
    y = wp.zeros(8, dtype=float, device="cpu")
    wp.launch(twice, dim=8, inputs=[x, y], device="cpu")
    assert (y.numpy() == 2 * np.arange(8)).all()
