"""gen5 check leaves no folder and no process behind when it is told to end, and sees its runs end whatever its starter ignored."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

gen5, answer = sys.argv[1:]


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def told_to_end(number, jobs):
    with tempfile.TemporaryDirectory() as folder:
        runs, temporary = pathlib.Path(folder, "runs"), pathlib.Path(folder, "tmp")
        runs.mkdir()
        temporary.mkdir()
        # Each run prints its process, and waits for longer than this test.
        process = subprocess.Popen([gen5, "check", "--seeds", "0", "--jobs", str(jobs), "sh", "-c", f"touch {runs}/$$; exec sleep 1000"],
                                   env={**os.environ, "TMPDIR": str(temporary)}, stdout=subprocess.DEVNULL)
        wait_for(lambda: len(list(runs.iterdir())) == jobs)
        assert list(temporary.iterdir()), "the test looks for a folder where there is none"
        process.send_signal(number)
        assert process.wait(20) == -number, (number, process.returncode)
        assert not list(temporary.iterdir()), (number, list(temporary.iterdir()))
        left = [run.name for run in runs.iterdir() if alive(run.name)]
        assert not left, (number, left)


def nobody_reads():
    """As with `| head`: what it prints finds no reader."""
    with tempfile.TemporaryDirectory() as temporary:
        process = subprocess.Popen([gen5, "check", "--seeds", "0", answer], env={**os.environ, "TMPDIR": temporary},
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, restore_signals=True)
        process.stdout.close()
        assert process.wait(60) != 0
        assert not os.listdir(temporary), os.listdir(temporary)


def started_by_one_who_ignores(number):
    process = subprocess.run([gen5, "check", "--seeds", "0", answer], stdout=subprocess.PIPE, text=True, timeout=60,
                             preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    assert process.returncode == 0 and "2 runs" in process.stdout, (number, process)


for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    told_to_end(number, 1)
told_to_end(signal.SIGINT, 2)
nobody_reads()
started_by_one_who_ignores(signal.SIGCHLD)
started_by_one_who_ignores(signal.SIGINT)
print("all right")
