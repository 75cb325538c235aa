"""A Triton kernel that faults: an exception that names the kernel's line, in a process that goes on."""

import pathlib

import numpy as np
import pytest
import triton
import triton.language as tl

import gen5


@triton.jit
def add_one(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, v + 1, mask=i < n)


def test_fault_names_the_line_and_the_process_goes_on():
    with gen5.gpu("b200"):
        with pytest.raises(gen5.DiagnosisError, match="illegal-address") as raised:
            add_one[(4,)](gen5.zeros(1001), gen5.zeros(1000), 1001, BLOCK=256)
        assert raised.value.file.endswith("test_triton.py")
        assert pathlib.Path(__file__).read_text().splitlines()[raised.value.line - 1].strip().startswith("tl.store(out + i")
        out = gen5.zeros(1000)
        add_one[(4,)](gen5.zeros(1000), out, 1000, BLOCK=256)
        np.testing.assert_array_equal(out.numpy(), 1)
