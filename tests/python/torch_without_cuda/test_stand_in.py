"""device="cuda" on tensors of the CPU, for a torch that was built without CUDA (GEN5_TORCH=cpu): what it refuses, and what differs from torch's own tensors of CUDA."""

import warnings

import pytest
import torch


@pytest.mark.parametrize("what, call", [
    ("one device", lambda: torch.zeros(2, device="cuda:1")),
    ("memory_allocated", lambda: torch.cuda.memory_allocated()),
    ("graph", lambda: torch.cuda.graph(None)),
    ("torch.autocast", lambda: torch.autocast("cuda")),
    ("meta", lambda: torch.zeros(2, device="cuda").to("meta")),
], ids=["device", "memory", "graph", "autocast", "meta"])
def test_refused_by_name(what, call):
    with pytest.raises((RuntimeError, NotImplementedError), match=what):
        call()


def test_meta_tensors_stay_meta():
    x, meta = torch.tensor(2.0, device="cuda"), torch.empty(3, device="meta")
    for made in (meta * x, torch.empty_like(x, device="meta"), torch.stack([meta, meta]) + x):
        assert made.device.type == "meta" and not made.is_cuda


def test_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
            assert torch.cuda.current_stream().cuda_stream == 0
