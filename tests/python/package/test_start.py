"""GEN5_MACHINE in the environment (python/gen5.pth, which pip installs beside the package)."""

import os
import pathlib
import subprocess
import sys

import pytest

PTH = pathlib.Path(__file__).resolve().parents[3] / "python"

pytestmark = pytest.mark.gen5_orders("timed")


def python(tmp_path, text, **variables):
    """As where the package is installed: the folder of gen5.pth is one of those that site.py reads."""
    (tmp_path / "sitecustomize.py").write_text(f"import site\nsite.addsitedir({str(PTH)!r})\n")
    (tmp_path / "program.py").write_text(text)
    environment = {k: v for k, v in os.environ.items() if k not in ("GEN5_MACHINE", "LD_LIBRARY_PATH")}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environment.get("PYTHONPATH", "")])
    return subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, env=environment | variables)


DEVICE = "import ctypes; n = ctypes.create_string_buffer(99); c = ctypes.CDLL('libcuda.so.1'); c.cuInit(0); c.cuDeviceGetName(n, 99, 0); print(n.value.decode())\n"


@pytest.mark.parametrize("machine", ["b200", "h200"])
def test_every_process_runs_on_it(tmp_path, machine):
    """This one, one that it starts, and one of multiprocessing's; none of them says a word of gen5."""
    done = python(tmp_path, f"""import multiprocessing, subprocess, sys
def name(_):
    {DEVICE.replace('; print', '; return').strip()}
if __name__ == "__main__":
    print(name(0))
    subprocess.run([sys.executable, "-c", {DEVICE!r}], check=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(*pool.map(name, [0]))
""".replace("return(", "return ("), GEN5_MACHINE=machine)
    assert done.returncode == 0 and done.stdout.count(machine) == 3 == len(done.stdout.splitlines()), done.stdout + done.stderr


def test_options_come_from_the_environment(tmp_path):
    done = python(tmp_path, "print('on')", GEN5_MACHINE="b200", GEN5_ORDER="early")
    assert done.returncode and not done.stdout and "Traceback" not in done.stderr
    assert "GEN5_ORDER=early: write timed, late or seeded" in done.stderr.splitlines()[0]


def test_a_wrong_machine_is_a_sentence(tmp_path):
    done = python(tmp_path, "print('on')", GEN5_MACHINE="b300x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gen5: GEN5_MACHINE=b300x: ") and "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_library_that_is_missing_is_a_sentence(tmp_path):
    done = python(tmp_path, "print('on')", GEN5_MACHINE="b200", GEN5_LIBRARIES=str(tmp_path))
    assert done.returncode == 2 and f"no libtinygpu.so in {tmp_path}" in done.stderr and "Traceback" not in done.stderr


def test_without_it_nothing_is_loaded(tmp_path):
    done = python(tmp_path, "import sys; print([m for m in sys.modules if m.startswith('gen5')], 'numpy' in sys.modules)")
    assert done.stdout == "[] False\n"


def test_gen5_run_keeps_its_machine(tmp_path):
    """Its program finds the libraries of `gen5 run`; a second machine would be refused."""
    from gen5 import _library
    done = python(tmp_path, "print(open('/proc/self/maps').read().count('libtinygpu'))", GEN5_MACHINE="h200", LD_LIBRARY_PATH=str(_library.folder()))
    assert done.stdout == "0\n"


def test_the_module_has_its_own_options(tmp_path):
    (tmp_path / "script.py").write_text(DEVICE)
    done = python(tmp_path, f"import subprocess, sys; subprocess.run([sys.executable, '-m', 'gen5', '--machine', 'h200', {str(tmp_path / 'script.py')!r}], check=True)",
                  GEN5_MACHINE="b200")
    assert "h200" in done.stdout, done.stderr
