"""gen5.array against numpy."""

import ml_dtypes
import numpy as np
import pytest

import gen5


@pytest.fixture(autouse=True)
def machine():
    with gen5.gpu("b200"):
        yield


def test_holds_what_numpy_holds():
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = gen5.array(a)
    np.testing.assert_array_equal(x.numpy(), a)
    np.testing.assert_array_equal(np.asarray(x), a)
    assert (x.shape, x.ndim, x.nbytes, x.numel(), x.element_size(), x.stride(), x.stride(0), x.size(1), len(x)) == \
        ((2, 3, 4), 3, 96, 24, 4, (12, 4, 1), 12, 3, 2)
    assert x.is_contiguous() and not x.T.is_contiguous() and x.T.shape == (4, 3, 2)


def test_views_share_memory():
    x = gen5.zeros((4, 8), np.int32)
    assert x[1].data_ptr() == x.data_ptr() + 32 and x[2, 3].data_ptr() == x.data_ptr() + 76
    x[1, 2:4] = 7
    x.reshape(32)[0] = 5
    x[3].numpy()[...] = 9
    want = np.zeros((4, 8), np.int32)
    want[1, 2:4], want[0, 0], want[3] = 7, 5, 9
    np.testing.assert_array_equal(x.numpy(), want)
    assert x.view(np.uint8).shape == (4, 32)
    y = x.clone()
    y.zero_()
    assert x.numpy().any() and not y.numpy().any()


def test_memory_outlives_its_array():
    view = gen5.array(np.arange(10)).numpy()
    other = [gen5.full(10, n) for n in range(20)]
    np.testing.assert_array_equal(view, np.arange(10))
    assert len({o.data_ptr() for o in other}) == 20


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "int8", "uint32", "float64", "bool"])
def test_types(name):
    x = gen5.full(5, 1, name)
    assert str(x.dtype) == name and x.numpy().astype(np.float64).sum() == 5


def test_unknown_type():
    with pytest.raises(TypeError):
        gen5.empty(3, "float7")


def test_protocols():
    x = gen5.array(np.arange(6, dtype=np.float32).reshape(2, 3))
    interface = x.T.__cuda_array_interface__
    assert interface["data"][0] == x.data_ptr() and interface["shape"] == (3, 2) and interface["strides"] == (4, 12) and interface["typestr"] == "<f4"
    shared = np.from_dlpack(x)
    shared[0, 0] = 42
    assert x.numpy()[0, 0] == 42


def test_makers():
    like = gen5.zeros((2, 2), np.int16)
    assert gen5.empty_like(like).dtype == np.int16 and gen5.zeros_like(like, np.float32).dtype == np.float32
    np.testing.assert_array_equal(gen5.full(3, 2.5).numpy(), [2.5] * 3)
    assert gen5.array([1, 2], "float16").dtype == np.float16 and gen5.empty(0).numel() == 0
