"""torch.cuda as far as it is there (python/gen5/_torch_cuda.py), without torch."""

import types

import pytest

from gen5 import _torch_cuda, _triton

pytestmark = pytest.mark.gen5_orders("timed")


@pytest.fixture
def cuda(gen5_run):
    module, states = types.SimpleNamespace(), []
    generator = types.SimpleNamespace(manual_seed=states.append, get_state=lambda: states[-1], set_state=states.append)
    _torch_cuda.stand_in(module, generator)
    module.states = states
    return module


def test_the_device(cuda, gen5_run):
    assert cuda.is_available() and cuda.device_count() == 1 and cuda.current_device() == 0
    properties = cuda.get_device_properties("cuda")
    known = {"b200": ((10, 0), 148), "h200": ((9, 0), 132)}[gen5_run.machine]
    assert (cuda.get_device_capability(), properties.multi_processor_count) == known
    assert (properties.major, properties.minor) == known[0] and properties.warp_size == 32
    assert cuda.get_device_name() == properties.name and gen5_run.machine in properties.name


def test_events_are_the_clock(cuda):
    a, b = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    a.record()
    b.record()
    cuda.synchronize()
    assert a.query() and a.elapsed_time(b) == 0  # nothing was launched


def test_streams_and_seeds(cuda):
    with cuda.stream(cuda.Stream()), cuda.device(0):
        assert cuda.current_stream().cuda_stream == 0
    cuda.current_stream().wait_stream(cuda.default_stream())
    cuda.current_stream().record_event().synchronize()
    cuda.manual_seed_all(7)
    assert cuda.states == [7] and cuda.get_rng_state() == 7
    cuda.set_rng_state(9)
    assert cuda.states == [7, 9]


def test_triton_finds_its_device_interface(gen5_run):
    """What Triton's concurrency sanitizer asks for, too."""
    interface = _triton.DeviceInterface
    with interface.stream(interface.default_stream()):
        assert interface.current_stream() is interface.default_stream()


@pytest.mark.parametrize("name", ["CUDAGraph", "graph", "MemPool", "device", "StreamContext", "Event", "Stream"])
def test_classes_are_classes(cuda, name):
    assert not isinstance(3, getattr(cuda, name))


def test_no_two_are_the_same_object(cuda):
    """torch._dynamo has a rule for each and takes none for two."""
    named = {k: v for k, v in vars(cuda).items() if callable(v)}
    assert len(set(map(id, named.values()))) == len(named)


@pytest.mark.parametrize("name", ["CUDAGraph", "graph", "memory_allocated", "mem_get_info", "_lazy_init"])
def test_the_rest_is_refused_by_name(cuda, name):
    with pytest.raises(NotImplementedError, match=f"torch.cuda.{name}"):
        getattr(cuda, name)()
