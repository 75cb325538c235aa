"""gen5.predict() without a front end: functions that launch PTX, programs, the cache, bad input."""

import concurrent.futures
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import gen5
from gen5 import _library
from gen5.predict import limit
from kernel import COUNT, HEAD, STUCK, launch

pytestmark = pytest.mark.gen5_orders("timed")
CHAIN = HEAD + """
.visible .entry chain(.param .u64 out, .param .u64 rounds) {
  .reg .b32 %r<3>; .reg .b64 %d<3>; .reg .pred %p0;
  ld.param.u64 %d0, [out];
  ld.param.u64 %d1, [rounds];
  mov.u32 %r0, 1;
again:
  mad.lo.u32 %r0, %r0, %r0, 3;
  add.s64 %d1, %d1, -1;
  setp.ne.s64 %p0, %d1, 0;
  @%p0 bra again;
  st.global.b32 [%d0], %r0;
  ret;
}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def chain(out, rounds):
    launch(CHAIN, "chain", out.data_ptr(), rounds)


def test_as_the_launch_itself(gen5_run):
    """Cycles are the machine's own; nothing of it happens in this process."""
    out = gen5.zeros(1, np.int32)
    said = gen5.predict(chain, [{"rounds": n} for n in (1000, 10, 100)], [out])
    assert gen5_run.launches == 0 and out.numpy()[0] == 0
    for p in said:
        before = gen5_run.cycles
        gen5_run.after_launch()
        _library.session("clear_l2")
        chain(out, p.config["rounds"])
        gen5_run.after_launch()
        assert p.error == "" and p.launches == 1 and p.cycles == gen5_run.cycles - before
        assert p.us == pytest.approx(p.cycles / _library.machine(gen5_run.machine)["clock_ghz"] / 1e3, rel=0.02)
        before = gen5_run.cycles
    assert said[0].cycles > said[2].cycles > said[1].cycles
    assert said[0].limiter == "latency of instructions" and 0.9 < said[0].busy <= 1


def test_any_number_of_processes_says_the_same(gen5_run):
    out, configs = gen5.zeros(1, np.int32), [{"rounds": n} for n in range(1, 9)]
    assert gen5.predict(chain, configs, [out], workers=1) == gen5.predict(chain, configs, [out], workers=8)


def test_what_cannot_run_says_why_and_the_rest_goes_on(gen5_run):
    out = gen5.zeros(32, np.int32)

    def either(which):
        {"fault": lambda: launch(COUNT, "count", out.data_ptr(), 4), "stuck": lambda: launch(STUCK, "stuck"), "right": lambda: launch(COUNT, "count", out.data_ptr(), 0),
         "nothing": lambda: None, "mine": lambda: {}["mine"], "gone": lambda: os._exit(7)}[which]()

    names = ("fault", "stuck", "nothing", "mine", "gone", "right")
    said = dict(zip(names, gen5.predict(either, [{"which": w} for w in names])))
    assert "illegal-address" in said["fault"].error and "deadlock" in said["stuck"].error
    assert said["nothing"].error == "no kernel was launched" and said["mine"].error == "KeyError: 'mine'"
    assert said["gone"].error == "its process ended with 7" and said["right"].cycles > 0 and not said["right"].error
    launch(COUNT, "count", out.data_ptr(), 0)  # this process is as it was


def test_timeout(gen5_run):
    before = time.monotonic()
    late, = gen5.predict(lambda: time.sleep(60), timeout=0.5)
    assert late.error == "it took longer than 0.5 s" and time.monotonic() - before < 30


def test_the_cache(gen5_run, tmp_path):
    out, calls = gen5.zeros(1, np.int32), tmp_path / "calls"

    def counted(out, rounds):
        with calls.open("a") as f:
            f.write("x")
        chain(out, rounds)

    first = gen5.predict(counted, [{"rounds": 5}], [out], key="chain 1")
    again = gen5.predict(counted, [{"rounds": 5}], [out], key="chain 1")
    assert first == again and calls.read_text() == "x" and (first[0].cached, again[0].cached) == (False, True)
    file, = (tmp_path / "cache/gen5/predictions").glob("*.json")
    assert json.loads(file.read_text())["cycles"] == first[0].cycles
    # Another argument, another name, a broken file, no name, no cache.
    gen5.predict(counted, [{"rounds": 6}], [out], key="chain 1")
    gen5.predict(counted, [{"rounds": 5}], [out], key="chain 2")
    file.write_text("{")
    assert gen5.predict(counted, [{"rounds": 5}], [out], key="chain 1") == first and json.loads(file.read_text())
    gen5.predict(counted, [{"rounds": 5}], [out])
    gen5.predict(counted, [{"rounds": 5}], [out], key="chain 1", cache=False)
    assert len(calls.read_text()) == 6


def test_contents_of_indices_count_and_those_of_numbers_do_not(gen5_run):
    indices, numbers = gen5.zeros(4, np.int32), gen5.zeros(4, np.float32)

    def touch(i, x, rounds):
        chain(i, rounds)

    def cached():
        return gen5.predict(touch, [{"rounds": 3}], [indices, numbers], key="touch")[0].cached
    assert (cached(), cached()) == (False, True)
    numbers.fill_(1)
    assert cached()
    indices.fill_(1)
    assert not cached()


def test_in_threads(gen5_run):
    """As who searches calls it."""
    out = gen5.zeros(1, np.int32)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda n: gen5.predict(chain, [{"rounds": n}], [out])[0], (10, 10, 10, 10)))
    assert len({p.cycles for p in said}) == 1 and not any(p.error for p in said)


@pytest.mark.parametrize("kernel, options, message", [
    (chain, {"configs": {"rounds": 1}}, "write a list, with a dict"),
    (chain, {"configs": [3]}, "config 3: write a dict or a triton.Config"),
    (chain, {"workers": 0}, "workers=0: write at least 1"),
    (3, {}, r"predict\(3\): write a kernel, a function, or the path of a program"),
    ("/nowhere/program", {}, "/nowhere/program: there is no such program"),
    (sys.executable, {"configs": ["--fast"]}, "config '--fast': write a list of the program's arguments"),
    (chain, {"machine": "b300x"}, "b300x"),
    (sys.executable, {"machine": "b300x"}, "b300x")])
def test_bad_input(gen5_run, kernel, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        gen5.predict(kernel, **options)


def test_another_machine_is_refused(gen5_run):
    other = {"b200": "h200", "h200": "b200"}[gen5_run.machine]
    with pytest.raises(ValueError, match=f"start another one for {other}"):
        gen5.predict(chain, [{"rounds": 1}], [0], machine=other)


def test_what_limits():
    machine = _library.machine("b200")
    idle = {"cycles": 1000, "sms": 148, "instructions": 148_000, "tensor_core_busy": 0.1, "memory": {"shared_bytes": 0, "l2_bytes": 0, "device_bytes": 0},
            "roles": [{"cycles": 100, "issuing": 10, "port": 0, "operands": 20, "waits": [{"for": "mbarrier", "at": "x", "cycles": 60}]}]}
    assert limit(idle, "b200") == ("waits for mbarrier", 0.6)
    assert limit(idle | {"tensor_core_busy": 0.9}, "b200") == ("tensor core", 0.9)
    most = machine["peaks"]["mem.dram.bytes_per_cycle"] * 1000
    assert limit(idle | {"memory": idle["memory"] | {"device_bytes": most * 0.7}}, "b200") == ("device memory", 0.7)
    assert limit(idle | {"instructions": 148 * 4 * 800}, "b200") == ("issue", 0.8)


def test_programs(gen5_run, tmp_path):
    """Of CUDA C++, where there is an nvcc."""
    try:
        subprocess.run(["nvcc", "--version"], check=True, capture_output=True)
    except OSError:
        pytest.skip("no nvcc on the path")
    (tmp_path / "many.cu").write_text("""#include <cstdlib>
__global__ void add(float* x, int n) { for (int i = 0; i < n; ++i) x[threadIdx.x] += 1; }
int main(int argc, char** argv) {
  if (argc < 2) return 3;
  float* x; cudaMalloc(&x, 4096); add<<<1, 1024>>>(x, std::atoi(argv[1])); return cudaDeviceSynchronize();
}
""")
    arch = {"b200": "sm_100a", "h200": "sm_90a"}[gen5_run.machine]
    subprocess.run(["nvcc", f"-arch={arch}", "-o", tmp_path / "many", tmp_path / "many.cu"], check=True)
    short, long, none = gen5.predict(tmp_path / "many", [["1"], [20], []])
    assert 0 < short.cycles < long.cycles and long.launches == 1 and long.us == pytest.approx(
        long.cycles / _library.machine(gen5_run.machine)["clock_ghz"] / 1e3)
    assert "no kernel was launched" in none.error
    assert gen5.predict(tmp_path / "many", [["1"]])[0].cached
