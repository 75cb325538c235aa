"""device="cuda", of either torch: its own tensors of CUDA, and tensors of the CPU for a torch that was built without CUDA."""

import pytest
import torch
import triton
import triton.language as tl

import gen5

CUDA = torch.device("cuda", 0)


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", CUDA, 0])
def test_made_there(device):
    x = torch.zeros(8, device=device)
    assert x.device == CUDA and x.is_cuda and not x.is_cpu and x.get_device() == 0
    assert torch.zeros(8).device == torch.device("cpu") and not torch.zeros(8).is_cuda


def test_what_comes_of_it_is_there():
    x = torch.rand(4, 4, device="cuda")
    for y in (x + 1, x.T, x[0], x.sum(), torch.matmul(x, x), torch.empty_like(x), x.to(torch.float16), x.detach(), *x.unbind(0), *x.max(dim=1)):
        assert y.device == CUDA
    assert x.cpu().device.type == "cpu" and (x.cpu() + 1).device.type == "cpu" and torch.empty_like(x, device="cpu").device.type == "cpu"


def test_crossing_copies_and_staying_does_not():
    x = torch.zeros(4, device="cuda")
    host, same = x.cpu(), x.cuda()
    add_one[(1,)](x, 4, BLOCK=4)
    assert host.tolist() == [0] * 4 and same.tolist() == [1] * 4
    back = host.to("cuda")
    add_one[(1,)](back, 4, BLOCK=4)
    assert host.tolist() == [0] * 4 and back.tolist() == [1] * 4
    assert host.to(back).device == CUDA and back.to(host).device.type == "cpu" and host.to("cuda", torch.int32).dtype == torch.int32


def test_as_tensor_does_not_share_with_numpy():
    import numpy as np
    a = np.zeros(4, np.float32)
    x = torch.as_tensor(a, device="cuda")
    add_one[(1,)](x, 4, BLOCK=4)
    assert not a.any() and x.tolist() == [1] * 4


def test_numpy_only_of_the_host():
    x = torch.ones(4, device="cuda")
    with pytest.raises(TypeError, match="can't convert (a )?cuda:0 (device type )?tensor"):
        x.numpy()
    assert x.cpu().numpy().sum() == 4


def test_modules_and_gradients():
    here, there = torch.nn.Linear(4, 4, device="cuda"), torch.nn.Linear(4, 4).to("cuda")
    for layer in (here, there):
        assert layer.weight.device == CUDA
        layer(torch.ones(2, 4, device="cuda")).sum().backward()
        assert layer.weight.grad.device == CUDA


def test_default_device():
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(4).device == CUDA
    finally:
        torch.set_default_device(None)
    assert torch.zeros(4).device.type == "cpu"
    with torch.device("cuda"):
        assert torch.zeros(4).device == CUDA


def test_seeds_repeat():
    def draw():
        return torch.rand(4, device="cuda", generator=torch.Generator("cuda").manual_seed(3))
    assert torch.equal(draw(), draw())
    torch.manual_seed(5)
    first = torch.rand(4, device="cuda")
    torch.cuda.manual_seed(5)
    assert torch.equal(first, torch.rand(4, device="cuda"))


def test_the_interface_of_arrays():
    x = torch.arange(6, dtype=torch.float32, device="cuda").reshape(2, 3)
    assert x.__cuda_array_interface__["data"][0] == x.data_ptr() and x.__cuda_array_interface__["shape"] == (2, 3)
    assert not hasattr(torch.zeros(2), "__cuda_array_interface__")


def test_a_tensor_of_the_host_is_taken_for_the_launch():
    x = torch.zeros(4)
    add_one[(1,)](x, 4, BLOCK=4)
    assert x.tolist() == [1] * 4


@pytest.mark.gen5_orders("timed")
def test_past_the_end():
    x = torch.zeros(1024, device="cuda")
    with pytest.raises(gen5.DiagnosisError, match="illegal-address"):
        add_one[(5,)](x, 1025, BLOCK=256)
    add_one[(4,)](x, 1024, BLOCK=256)
    assert x.sum().item() >= 1024  # the process goes on


def test_past_the_end_but_in_its_block():
    """torch's allocator gives 4096 bytes for 1000 floats: on a GPU nothing else can lie there."""
    x = torch.zeros(1000, device="cuda")
    with pytest.warns(gen5.DiagnosisWarning, match="illegal-address.*0 bytes past the end of a 4000-byte allocation.*blocks of 512 bytes"):
        add_one[(4,)](x, 1001, BLOCK=256)
        torch.cuda.synchronize()
    assert x.sum().item() == 1000


def test_memory_goes_back(gen5_run):
    """A storage is the machine's for as long as it lives, not longer."""
    from gen5 import _library
    x = torch.zeros(1 << 22, device="cuda")
    address = x.data_ptr()
    assert _library.known(address)
    view = x[1:]
    del x
    assert _library.known(address)
    del view
    assert not _library.known(address)


def test_random_numbers_go_on_from_a_state():
    state = torch.cuda.get_rng_state()
    a = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(a, torch.rand(3, device="cuda"))
