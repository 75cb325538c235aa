"""What `pip install .` tells of its progress."""

import pathlib
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python/backend"))

import gen5_progress  # noqa: E402

pytestmark = pytest.mark.gen5_orders("timed")


def ninja(folder):
    folder.mkdir()
    (folder / "build.ninja").write_text("rule CXX_COMPILER__a\n  command = touch $out\nrule link\n  command = touch $out\n"
                                        "build one.o: CXX_COMPILER__a\nbuild two.o: CXX_COMPILER__a\nbuild all: link one.o two.o\n")
    return folder


def test_steps(tmp_path):
    folder = ninja(tmp_path / "build")
    assert gen5_progress.steps(folder) == (0, 0), "it has not begun"
    subprocess.run(["ninja", "-C", folder, "one.o"], check=True, capture_output=True)
    assert gen5_progress.steps(folder) == (1, 2)
    subprocess.run(["ninja", "-C", folder, "all"], check=True, capture_output=True)
    assert gen5_progress.steps(folder) == (2, 2), "what links is no file that is compiled"


def test_told(tmp_path):
    folder = ninja(tmp_path / "build")
    with gen5_progress.told(folder, every=0.01, terminal=tmp_path / "terminal"):
        subprocess.run(["ninja", "-C", folder, "all"], check=True, capture_output=True)
        until = time.monotonic() + 10
        while "2 of 2 files are compiled" not in (tmp_path / "terminal").read_text() and time.monotonic() < until:
            time.sleep(0.02)
    assert "2 of 2 files are compiled" in (tmp_path / "terminal").read_text()


def test_without_a_terminal(tmp_path):
    with gen5_progress.told(ninja(tmp_path / "build"), terminal=tmp_path):  # a folder cannot be written
        pass
