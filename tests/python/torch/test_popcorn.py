"""gen5 popcorn, on a problem of our own (popcorn_problem): what passes, what fails and why, the leaderboard, bad input."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from gen5 import popcorn

pytestmark = pytest.mark.gen5_orders("timed")
PROBLEM = pathlib.Path(__file__).parent / "popcorn_problem"
SUBMISSION = (PROBLEM / "submission.py").read_text()


@pytest.fixture
def run(gen5_run, tmp_path):
    """Runs the command on a copy of the problem with these submissions: exit code, standard output, standard error."""
    folder = tmp_path / "problem"
    shutil.copytree(PROBLEM, folder)

    def command(*arguments, **submissions):
        for name, text in submissions.items():
            (folder / f"{name}.py").write_text(text)
        done = subprocess.run([sys.executable, "-m", "gen5.popcorn", str(folder), *(str(folder / f"{s}.py") for s in submissions),
                               "--machine", gen5_run.machine, *map(str, arguments)], capture_output=True, text=True, env=os.environ)
        return done.returncode, done.stdout, done.stderr

    command.folder = folder
    return command


def test_a_right_one(run, tmp_path):
    code, out, err = run("--report", tmp_path / "report.html", "--profile")
    assert code == 0 and out.count("  pass  ") == 2, out + err
    small, large = re.findall(r"^  n \d+ +([\d.]+) +([\d,]+) +([\d.]+)([* ]) +(\d+)%", out, re.M)
    assert small[2:4] == ("1.25", "*") and large[3] == " " and 0 < float(small[0]) < float(large[0])
    assert re.search(r"ranked by the geometric mean +[\d.]+", out) and "twice: " in out and "<html" in (tmp_path / "report.html").read_text()[:200]


def test_what_fails_says_why(run):
    wrong = SUBMISSION.replace("2 * tl.load", "3 * tl.load")
    code, out, err = run("--benchmarks", 0, submission=wrong)
    assert code == 1 and re.search(r"fail  n 100: 100 elements are wrong", out), out + err
    fault = SUBMISSION.replace("mask=i < n)\n", "mask=i < n + 1024)\n")
    code, out, err = run("--tests", 1, "--benchmarks", 0, submission=fault)
    assert code == 1 and "fail  n 100: tinygpu error[illegal-address]" in out and "Traceback" not in out + err
    code, out, err = run("--tests", 1, "--benchmarks", 1, submission="def custom_kernel(data):\n    data[1].copy_(2 * data[0])\n    return data[1]\n")
    assert code == 1 and "pass  n 100" in out and "fail: it launched no kernel: torch's own operators" in out
    code, out, err = run("--tests", 1, "--benchmarks", 0, submission="def other(data): pass\n")
    assert code == 1 and "AttributeError: submission.py has no custom_kernel" in out
    code, out, err = run("--tests", 1, "--benchmarks", 0, submission="import os\nos._exit(3)\n")
    assert code == 1 and "its process ended with 3" in out


def test_one_that_hangs_does_not_stop_the_rest(run):
    hangs = SUBMISSION + "\nright = custom_kernel\n\ndef custom_kernel(data):\n    import time\n    time.sleep(600 if data[0].numel() == 100 else 0)\n    return right(data)\n"
    code, out, err = run("--seconds", 45, "--benchmarks", 0, submission=hangs)
    assert code == 1 and "fail  n 100: it took longer than 45 s (--seconds)" in out and "pass  n 1000" in out, out + err


def test_operators_beside_kernels_are_told(run):
    more = SUBMISSION.replace("    return y", "    return y + 0")
    code, out, err = run("--tests", 0, "--benchmarks", 1, submission=more)
    assert code == 0 and "2 of torch's own operators take none of this time" in out or "1 of torch's own operators" in out, out + err


def test_leaderboard(run):
    slow = SUBMISSION.replace("1024", "64")
    code, out, err = run("--leaderboard", "--tests", 1, slow=slow, fast=SUBMISSION, wrong=SUBMISSION.replace("2 * tl.load", "3 * tl.load"))
    board = out[out.index("leaderboard"):].splitlines()
    assert code == 1 and re.match(r"  1\. fast\.py +[\d.]+ µs", board[1]) and re.match(r"  2\. slow\.py", board[2]) and "wrong.py" in board[3] and "it fails" in board[3], out + err


@pytest.mark.parametrize("change, message", [
    (lambda f: (f / "task.yml").unlink(), "there is no task.yml in it"),
    (lambda f: (f / "task.yml").write_text("files: ["), "task.yml: while parsing"),
    (lambda f: (f / "task.yml").write_text("files:\n  - {name: a}\n"), "task.yml: 'source': write it as GPU MODE's reference-kernels have it"),
    (lambda f: (f / "task.yml").write_text("files: []\n"), "no reference.py among its files"),
    (lambda f: (f / "task.yml").write_text("lang: cu\nfiles: []\n"), "lang: cu: gen5 popcorn runs submissions in Python"),
    (lambda f: (f / "submission.py").unlink(), "submission.py: there is no such submission"),
    (lambda f: (f / "reference.py").unlink(), r"reference.py: there is no such file \(task.yml names it as reference.py\)"),
])
def test_bad_folders(tmp_path, capsys, change, message):
    shutil.copytree(PROBLEM, tmp_path / "p")
    change(tmp_path / "p")
    assert popcorn.main([str(tmp_path / "p")]) == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("options, message", [(["--machine", "b300x"], "b300x"), (["a.py", "b.py"], "2 submissions: --leaderboard compares several")])
def test_bad_options(capsys, options, message):
    assert popcorn.main([str(PROBLEM), *options]) == 2
    assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        popcorn.main([str(PROBLEM), "--tests", "many"])
    assert "'many': write all, or how many" in capsys.readouterr().err


def test_without_yaml(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert popcorn.main([str(PROBLEM)]) == 2 and "pip install pyyaml" in capsys.readouterr().err


def test_speed_of_light_in_a_description():
    rows = popcorn.read_light("words\n  M    N    K   L time[us]\n  128 7168 16384 1 8.994\n  128 4096 7168  1 2.354\n\nother 1 2 3 4\n"
                              "G M_values N_values time[us]\n2 [192, 320] [3072, 3072] 2.4\n")
    assert rows == [{"m": 128, "n": 7168, "k": 16384, "l": 1, "us": 8.994}, {"m": 128, "n": 4096, "k": 7168, "l": 1, "us": 2.354},
                    {"g": 2, "m": [192, 320], "n": [3072, 3072], "us": 2.4}]
    assert popcorn.light_of({"m": 128, "n": 4096, "k": 7168, "seed": 3}, rows) == 2.354
    assert popcorn.light_of({"g": 2, "m": [192, 320], "n": [3072, 3072]}, rows) == 2.4 and popcorn.light_of({"m": 1}, rows) is None


def test_what_ranks():
    result = popcorn.Result("a", benchmarks=[{"us": 1.0}, {"us": 4.0}, {"us": 16.0}])
    assert [result.score(r) for r in ("geom", "mean", "last")] == pytest.approx([4, 7, 16])
    result.tests.append({"error": "wrong"})
    assert result.score("geom") is None
