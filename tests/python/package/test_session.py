"""gpu(), install(), and what they raise."""

import json
import os
import pickle
import resource
import subprocess
import sys

import numpy as np
import pytest

import gen5
from gen5 import _library
from kernel import COUNT, STUCK, launch


def output(kept=[]):
    """The address of 32 ints that stay."""
    kept.append(gen5.zeros(32, np.int32))
    return kept[-1].data_ptr()


@pytest.mark.gen5_orders("timed")
def test_import_loads_nothing():
    said = subprocess.run([sys.executable, "-c", "import gen5, sys; print(open('/proc/self/maps').read().count('libtinygpu'), 'triton' in sys.modules)"],
                          capture_output=True, text=True, check=True).stdout
    assert said.split() == ["0", "False"]


def test_runs_and_counts():
    with gen5.gpu("b200") as run:
        out = gen5.zeros(32, np.int32)
        launch(COUNT, "count", out.data_ptr(), 0)
        np.testing.assert_array_equal(out.numpy(), np.arange(32))
    assert run.launches == 1 and run.cycles > 0 and run.diagnoses == []


def test_fault_is_an_exception_and_the_process_goes_on():
    with pytest.raises(gen5.DiagnosisError, match="illegal-address") as raised:
        with gen5.gpu("b200") as run:
            out = gen5.zeros(32, np.int32)
            launch(COUNT, "count", out.data_ptr(), 4)
    assert raised.value.code == "illegal-address" == run.diagnoses[0].code
    assert run.diagnoses[0].kernel == "count" and run.diagnoses[0].severity == "error"
    place = run.diagnoses[0].places[0]
    assert place["kernel"] == "count" and place["cta"] == [0, 0, 0] and place["ptx"].startswith("st.global"), place
    with gen5.gpu("b200"):
        launch(COUNT, "count", out.data_ptr(), 0)  # memory of before is still there
        np.testing.assert_array_equal(out.numpy(), np.arange(32))


def test_deadlock():
    with pytest.raises(gen5.DiagnosisError, match="deadlock|stuck|spin"):
        with gen5.gpu("b200"):
            launch(STUCK, "stuck")


def test_max_cycles():
    loop = COUNT.replace("ret;", "again:\n  add.s64 %d1, %d1, 1;\n  setp.ne.s64 %p0, %d1, 0;\n  @%p0 bra again;\n  ret;").replace(
        ".reg .b32 %r<2>;", ".reg .b32 %r<2>; .reg .pred %p0;")
    with pytest.raises(gen5.DiagnosisError, match="max-cycles"):
        with gen5.gpu("b200", max_cycles=10_000):
            launch(loop, "count", output(), 0)


def test_exception_of_the_program_comes_through():
    with pytest.raises(KeyError):
        with gen5.gpu("b200"):
            raise KeyError("mine")


def test_refused_call_explains_itself():
    with pytest.raises(_library.CudaError) as raised:
        with gen5.gpu("b200"):
            launch(COUNT.replace("mul.wide.u32", "mul.wide.u33"), "count", 0, 0)
    if sys.version_info >= (3, 11):  # exceptions have notes
        assert "mul has no modifier '.u33'" in raised.value.__notes__[0]


def test_refused_call_that_the_program_survives_is_a_warning():
    with pytest.warns(gen5.DiagnosisWarning, match="module-not-loaded") as caught:
        with gen5.gpu("b200"):
            try:
                launch("nonsense", "count")
            except _library.CudaError:
                pass
    assert caught[0].filename == __file__


def test_a_warning_at_the_end_names_the_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""import ctypes, gen5
gen5.install("b200")
from gen5 import _library
try:
    _library.call("cuModuleLoadData", ctypes.byref(ctypes.c_void_p()), b"nonsense")
except _library.CudaError:
    pass
""")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True)
    assert "sys:1" not in done.stderr and f"{program}:1: DiagnosisWarning" in done.stderr, done.stderr


def test_check_off_lets_reports_pass():
    """A fault still raises."""
    with pytest.raises(gen5.DiagnosisError):
        with gen5.gpu("b200", check=False):
            launch(COUNT, "count", output(), 4)


@pytest.mark.parametrize("options, message", [({"order": "early"}, "timed, late or seeded"), ({"check": "fast"}, "True, False or 'races'"),
                                              ({"machine": "b300x"}, "b300x"), ({"machine": "h200"}, "start another one")])
def test_bad_options(options, message):
    with gen5.gpu("b200"):
        pass
    with pytest.raises(ValueError, match=message):
        with gen5.gpu(**options):
            pass


def test_profile_and_trace(tmp_path):
    with gen5.gpu("b200", profile=True, trace=True) as run:
        launch(COUNT, "count", output(), 0)
        run.trace(tmp_path / "inside.json")
        launch(COUNT, "count", output(), 0)
    assert [(k["kernel"], k["launches"]) for k in run.profile()] == [("count", 2)]
    run.trace(tmp_path / "after.json")
    for name in ("inside", "after"):
        assert json.loads((tmp_path / f"{name}.json").read_text())["traceEvents"]


def test_profile_must_be_asked_for():
    with gen5.gpu("b200") as run:
        with pytest.raises(RuntimeError, match="profile=True"):
            run.profile()


def test_nested_stretches():
    with gen5.gpu("b200") as outer:
        launch(COUNT, "count", output(), 0)
        with gen5.gpu("b200", order="late") as inner:
            launch(COUNT, "count", output(), 0)
    assert inner.launches == 1 and not outer.diagnoses


def script(tmp_path, text, *options, code=0):
    (tmp_path / "script.py").write_text(text)
    (tmp_path / "kernel.py").write_text(open(sys.modules["kernel"].__file__).read())
    done = subprocess.run([sys.executable, "-m", "gen5", *options, "script.py", "one", "--two"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    return done


def test_module_runs_scripts(tmp_path):
    done = script(tmp_path, "import gen5, sys, numpy as np\nfrom kernel import *\no = gen5.zeros(32, np.int32)\n"
                  "launch(COUNT, 'count', o.data_ptr(), 0)\nprint(o.numpy().sum(), sys.argv[1:], __name__)", "--order", "late", "--profile",
                  "--trace", "t.json")
    assert done.stdout == "496 ['one', '--two'] __main__\n" and "count" in done.stderr and (tmp_path / "t.json").exists()


def test_module_has_the_options_of_gen5_run(tmp_path):
    text = "import gen5, numpy as np\nfrom kernel import *\no = gen5.zeros(32, np.int32)\nlaunch(COUNT, 'count', o.data_ptr(), 0)\n"
    done = script(tmp_path, text, "--counters", "--report", "r.html")
    assert "tinygpu counters: count" in done.stderr and (tmp_path / "r.html").exists()
    assert "timed|late|seeded" in script(tmp_path, text, "--order", "early", code=2).stderr.replace("'", "").replace(", ", "|")
    assert "GEN5_SEED=x: write a whole number" in script(tmp_path, text, "--seed", "x", code=1).stderr


def test_module_fails_where_a_kernel_does(tmp_path):
    done = script(tmp_path, "import gen5, numpy as np\nfrom kernel import *\no = gen5.zeros(32, np.int32)\nlaunch(COUNT, 'count', o.data_ptr(), 4)", code=1)
    assert "DiagnosisError" in done.stderr and "illegal-address" in done.stderr


def test_install_after_cuda(tmp_path):
    """A program that has loaded NVIDIA's library already gets a message."""
    fake = tmp_path / "libcuda.so.1"
    fake.write_bytes((_library.folder() / "libcuda.so.1").read_bytes())
    (tmp_path / "libtinygpu.so").symlink_to(_library.folder() / "libtinygpu.so")
    done = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL('{fake}'); import gen5; gen5.install()"], capture_output=True,
                          text=True)
    assert done.returncode and "call gen5.install() before" in done.stderr


@pytest.mark.gen5_orders("timed")
def test_first_use_is_quick():
    """Import and machine, without a front end: far less than the second that a user notices."""
    code = "import numpy, time; t = time.process_time(); import gen5; gen5.install(); gen5.zeros(4); print(time.process_time() - t)"
    assert float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout) < 1


TRITON_KERNEL = """
import numpy, triton, triton.language as tl
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
"""
COMPILED = """
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
triton.compile(ASTSource(fn=add, signature=signature, constexprs={"BLOCK": 256}), target=GPUTarget("cuda", 100, 32)).asm["ptx"]
"""
LAUNCHED = """
x, y, out = gen5.full(1000, 1.0), gen5.full(1000, 2.0), gen5.empty(1000)
add[(4,)](x, y, out, 1000, BLOCK=256)
assert out.numpy().sum() == 3000
"""


@pytest.mark.gen5_orders("timed")
def test_first_launch_is_quick(tmp_path):
    """Of a Triton kernel: at most a second more than Triton takes to import itself and to compile it. Processor time, the children's
    too, the least of three, nothing in Triton's cache."""
    seconds = []
    for name, text in ("compiled", TRITON_KERNEL + COMPILED), ("launched", "import gen5\ngen5.install()" + TRITON_KERNEL + LAUNCHED):
        (tmp_path / f"{name}.py").write_text(text)
        runs = []
        for i in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, tmp_path / f"{name}.py"], check=True, env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path / f"{name}{i}")})
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            runs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        seconds.append(min(runs))
    print(f"{seconds[0]:.2f} s to compile, {seconds[1]:.2f} s with tinygpu and the launch")
    assert seconds[1] - seconds[0] < 1


def test_an_error_goes_to_another_process():
    d = gen5.Diagnosis("data-race", "error", "why", "help", "k", "a.py", 3, 1, [], "all of it")
    back = pickle.loads(pickle.dumps(gen5.DiagnosisError([d])))
    assert type(back) is gen5.DiagnosisError and back.diagnoses == [d] and (back.code, back.line, str(back)) == ("data-race", 3, "all of it")


def test_an_assert_has_the_words_of_cuda():
    d = gen5.Diagnosis("device-assert", "error", "why", "help", "k", "a.py", 3, 1, [], "all of it")
    assert str(gen5.DiagnosisError([d])) == "all of it\nCUDA error: device-side assert triggered"
