"""torch.cuda.CUDAGraph: what is captured runs at each replay and not before, kernels and torch's own operators."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


def test_kernels(gen5_run):
    x = torch.zeros(256, device="cuda")
    add_one[(1,)](x, 256, BLOCK=256)  # compiles it
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add_one[(1,)](x, 256, BLOCK=256)
        add_one[(1,)](x, 256, BLOCK=256)
    gen5_run.after_launch()
    assert x.sum().item() == 256 and gen5_run.launches == 1
    graph.replay()
    graph.replay()
    torch.cuda.synchronize()
    gen5_run.after_launch()
    assert x.sum().item() == 256 * 5 and gen5_run.launches == 5


def test_operators_between_kernels():
    layer, x, count = torch.nn.Linear(8, 8, device="cuda"), torch.ones(8, device="cuda"), torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = layer(x) * 2
        add_one[(1,)](y, 8, BLOCK=8)
        count.add_(1)
        total = y.sum()
    assert count.item() == 0
    for value in (3.0, -1.0):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        wanted = layer(x).detach() * 2 + 1
        torch.testing.assert_close(y, wanted)
        torch.testing.assert_close(total, wanted.sum())
    assert count.item() == 2


def test_a_module_as_a_graph():
    layer = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).cuda()
    x = torch.randn(5, 8, device="cuda")
    wanted = layer(x).detach()
    graphed = torch.cuda.make_graphed_callables(layer, (torch.randn(5, 8, device="cuda"),))
    torch.testing.assert_close(graphed(x).detach(), wanted)
