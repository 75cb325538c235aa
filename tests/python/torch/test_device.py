"""device="cuda": torch's own tensors of CUDA, whose operators run on the CPU. What every torch does: torch_both."""

import warnings

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def test_benchmarks():
    x = torch.zeros(1024, device="cuda")
    assert triton.testing.do_bench(lambda: add_one[(4,)](x, 1024, BLOCK=256)) > 0
    assert torch.isnan(torch.tensor(triton.testing.do_bench(lambda: x + 1)))  # torch's own operators take no time of the machine's


@pytest.mark.parametrize("activities", [None, ["CUDA"], ["CPU", "CUDA"]])
def test_the_profiler_records_the_host(activities):
    chosen = activities and [getattr(torch.profiler.ProfilerActivity, a) for a in activities]
    with torch.profiler.profile(activities=chosen) as profile:
        x = torch.ones(64, device="cuda")
        add_one[(1,)](x, 64, BLOCK=64)
        x.mul_(3)
        torch.cuda.synchronize()
    averages = profile.key_averages()
    assert "aten::mul_" in {e.key for e in averages}
    assert "aten::mul_" in averages.table(sort_by="cuda_time_total")
    assert float(x.sum()) == 64 * 6


@pytest.mark.parametrize("dtype, large", [(torch.float16, 2.0 ** 15), (torch.bfloat16, 2.0 ** 15)])
def test_products_have_a_tensor_cores_bits(dtype, large):
    """2^30 + 100 - 2^30, in steps of 16: the tensor core cuts 100 off, an f32 would round it to 128."""
    a, b = torch.zeros(3, 48), torch.zeros(48, 5)
    a[:, 0], b[0], a[:, 16], b[16], a[:, 40], b[40] = large, large, 10, 10, -large, large
    a, b, c = a.to(dtype).cuda(), b.to(dtype).cuda(), torch.ones(5, dtype=dtype, device="cuda")
    assert (a @ b).tolist() == [[0] * 5] * 3
    assert torch.addmm(c, a, b, beta=3, alpha=2).tolist() == [[3] * 5] * 3
    assert torch.bmm(a[None].repeat(2, 1, 1), b[None].repeat(2, 1, 1)).tolist() == [[[0] * 5] * 3] * 2
    assert (a[:0] @ b).shape == (0, 5) and (a[:, :0] @ b[:0]).tolist() == [[0] * 5] * 3


def test_cublas_is_torch():
    from triton._C.libtriton import nvidia
    blas = nvidia.cublas.CublasLt(torch.empty(16, device="cuda", dtype=torch.uint8))
    a, b, out = (torch.randn(s, device="cuda", dtype=torch.float16) for s in ((48, 64), (32, 64), (48, 32)))
    blas.matmul(a, b, out)
    torch.testing.assert_close(out.double(), a.double() @ b.double().T, atol=0.02, rtol=0)
    # Ones, and one factor of 2: that of row 33 and its second 16 or 32 elements, in byte (33 % 32) * 16 + (33 // 32) * 4 + 1.
    for name, codes, factor, twice, part in (("nvfp4", torch.full((128, 32), 0x22, dtype=torch.uint8), torch.ones(512).to(torch.float8_e4m3fn), 2.0, 16),
                                             ("mxfp8", torch.ones(128, 128).to(torch.float8_e4m3fn), torch.full((512,), 127, dtype=torch.uint8), 128, 32)):
        changed = factor.clone()
        changed[21] = twice
        wide = 64 if name == "nvfp4" else 128
        out = torch.empty(128, 128, device="cuda", dtype=torch.float16)
        getattr(blas, f"block_scaled_matmul_{name}")(codes, codes, out, changed, factor)
        wanted = torch.full((128, 128), float(wide))
        wanted[33] += part
        assert torch.equal(out.float().cpu(), wanted)


@pytest.mark.parametrize("what, call", [
    ("invalid device ordinal", lambda: torch.zeros(2, device="cuda:1")),
    ("memory_allocated: gen5 does not keep", lambda: torch.cuda.memory_allocated()),
    ("_scaled_dot_product_flash_attention.*for GPUs only", lambda: torch.ops.aten._scaled_dot_product_flash_attention(*[torch.zeros(1, 1, 8, 8, device="cuda")] * 3)),
    ("expected all tensors to be on the same device", lambda: torch.zeros(2, device="cuda") @ torch.zeros(2)),
], ids=["device", "memory", "flash", "devices"])
def test_refused_by_name(what, call):
    with pytest.raises(RuntimeError, match=what):  # NotImplementedError is one
        call()


def test_autocast():
    x = torch.rand(4, 4, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
    assert torch.cuda.mem_get_info()[1] > 1 << 36


def test_dynamo_can_be_imported():
    """It has a rule for each function and class of torch, and takes none for two."""
    import torch._dynamo
    from torch._dynamo.trace_rules import get_torch_obj_rule_map
    assert get_torch_obj_rule_map()


def test_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0
        torch.cuda.synchronize()


def test_streams_are_different_ones():
    one, other = torch.cuda.Stream(), torch.cuda.Stream()
    assert len({one.cuda_stream, other.cuda_stream, torch.cuda.default_stream().cuda_stream}) == 3
    x = torch.zeros(256, device="cuda")
    one.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(one):
        assert torch.cuda.current_stream() == one
        add_one[(1,)](x, 256, BLOCK=256)
        event = one.record_event()
    other.wait_event(event)
    with torch.cuda.stream(other):
        add_one[(1,)](x, 256, BLOCK=256)
    other.synchronize()
    assert x.sum().item() == 512


def test_numbers_beside_tensors_keep_their_types():
    """As torch has it on any device: a number does not widen a tensor."""
    for dtype in (torch.int8, torch.float16, torch.bfloat16, torch.float32, torch.int64):
        for shape in ((), (3,)):
            here, there = torch.ones(shape, dtype=dtype), torch.ones(shape, dtype=dtype, device="cuda")
            for f in (lambda x: x + 2, lambda x: x * 0.5, lambda x: 1 - x, lambda x: x / 3, lambda x: torch.where(x > 0, x, 2), lambda x: x.clamp(0, 1), lambda x: x > 0.5):
                assert f(there).dtype == f(here).dtype and torch.equal(f(there).cpu(), f(here))


def test_out_and_in_place():
    x, out = torch.arange(6, device="cuda").reshape(2, 3), torch.empty(0, dtype=torch.int64, device="cuda")
    assert torch.add(x, x, out=out) is out and out.tolist() == [[0, 2, 4], [6, 8, 10]]
    address = x.data_ptr()
    x.t().add_(1)[0] = 7
    x[x == 5] = 50
    assert x.data_ptr() == address and x.tolist() == [[7, 2, 3], [7, 50, 6]]
    x.copy_(torch.zeros(2, 3), non_blocking=True)
    assert not x.any() and torch.view_as_complex(torch.ones(2, 2, device="cuda")).conj().cpu().tolist() == [1 - 1j] * 2


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn_x2", "bfloat16", "complex64"])
def test_types(dtype):
    dtype = getattr(torch, dtype)
    codes = torch.arange(16, dtype=torch.uint8).repeat(8)
    here, there = codes.view(dtype), codes.cuda().view(dtype)
    assert torch.equal(there.clone().cpu().view(torch.uint8), codes)
    if dtype != torch.float4_e2m1fn_x2:
        assert torch.equal(there.to(torch.complex64).cpu(), here.to(torch.complex64))


def test_half_products_are_summed_in_f32():
    a = torch.full((1, 4096), 0.1, dtype=torch.float16, device="cuda")
    assert (a @ a.t()).item() == (a.double() @ a.double().t()).half().item()


def test_events_around_operators_alone_give_nan():
    start, middle, end = (torch.cuda.Event(enable_timing=True) for _ in range(3))
    x = torch.zeros(4, device="cuda")
    start.record()
    x + 1
    middle.record()
    add_one[(1,)](x, 4, BLOCK=4)
    end.record()
    torch.cuda.synchronize()
    assert str(1 / start.elapsed_time(middle)) == "nan" and middle.elapsed_time(end) > 0 and start.elapsed_time(end) > 0


def test_half_products_with_results_in_f32():
    a, b = (torch.arange(96, device="cuda").reshape(shape).to(torch.bfloat16) for shape in ((3, 32), (32, 3)))
    wanted = a.cpu().double() @ b.cpu().double()
    got = [torch.mm(a, b, out_dtype=torch.float32), torch.bmm(a[None], b[None], out_dtype=torch.float32)[0], torch.mm(a, b)]
    got.append(torch.addmm(torch.ones(3, 3, device="cuda", dtype=torch.bfloat16), a, b, out_dtype=torch.float32, beta=2) - 2)
    assert [g.dtype for g in got] == [torch.float32, torch.float32, torch.bfloat16, torch.float32]
    assert torch.equal(got[0].cpu().double(), wanted) and torch.equal(got[1], got[0]) and torch.equal(got[2], got[0].bfloat16()) and torch.equal(got[3], got[0])


def test_the_child_of_a_fork_goes_on():
    import os
    x = torch.zeros(4, device="cuda")
    child = os.fork()
    if child == 0:
        add_one[(1,)](x, 4, BLOCK=4)
        os._exit(int((x + 1).sum().item()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 8 and x.sum().item() == 0
