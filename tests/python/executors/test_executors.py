"""gen5.search() on clusters of two workers, one of which is killed; Kernel Tuner on its files."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import threading
import time

import pytest

import gen5

# Not the stand-in of this package, which asks GEN5_NVCC.
NVCC = os.environ.get("GEN5_NVCC") or shutil.which("nvcc", path=os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if "gen5" not in p) + os.pathsep + "/usr/local/cuda/bin")
pytestmark = [pytest.mark.gen5_orders("timed"),
              pytest.mark.skipif(not NVCC, reason="no nvcc")]
PROBLEM = {"m": 256, "n": 512, "k": 512, "machine": "h200", "proof": False}
POINTS = [f"tile=64x{n} block=128 stages={stages} schedule=serial consumers=1" for n in (64, 128) for stages in (2, 3, 4)]


@pytest.fixture(scope="module")
def by_one(tmp_path_factory):
    """By one process; its folder has the programs, so that the others need not compile them."""
    folder = tmp_path_factory.mktemp("one")
    return gen5.search(**PROBLEM, points=POINTS, workers=1, cache=folder), folder


@pytest.fixture
def folder(by_one, tmp_path):
    shutil.copytree(by_one[1], tmp_path / "cache")
    (tmp_path / "cache/results.jsonl").unlink()
    return tmp_path / "cache"


def slow_compiler(tmp_path, folder, monkeypatch):
    """Points whose programs are not there take a while, so that a worker can be killed in one."""
    script = tmp_path / "nvcc"
    script.write_text(f'#!/bin/sh\necho x >> {tmp_path}/started\nsleep 2\nexec {NVCC} "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("GEN5_NVCC", str(script))
    for program in folder.iterdir():
        if program.is_file() and not program.suffix:
            program.unlink()


def kill_when_started(tmp_path, pids):
    """Kills one of the processes once two compilers have started."""
    killed = []

    def wait():
        started = tmp_path / "started"
        for _ in range(6000):
            if started.exists() and len(started.read_text()) >= 4:
                killed.append(list(pids())[0])
                os.kill(killed[0], signal.SIGKILL)
                return
            time.sleep(0.02)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread, killed


def children(parent, command):
    """A process's children with this word in their command."""
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"\nPPid:\t{parent}\n" in (entry / "status").read_text() and command in (entry / "cmdline").read_bytes():
                yield int(entry.name)
        except OSError:  # it has ended
            continue


def test_processes(by_one, folder):
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        assert gen5.search(**PROBLEM, points=POINTS, cache=folder, executor=pool) == by_one[0]


def test_a_killed_process(by_one, folder, tmp_path, monkeypatch):
    slow_compiler(tmp_path, folder, monkeypatch)
    thread, killed = kill_when_started(tmp_path, lambda: children(os.getpid(), b"spawn_main"))
    assert gen5.search(**PROBLEM, points=POINTS, cache=folder, workers=2) == by_one[0]
    thread.join()
    assert killed


def test_dask(by_one, folder, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    slow_compiler(tmp_path, folder, monkeypatch)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path / "dask")) as cluster, \
            distributed.Client(cluster) as client:
        client.wait_for_workers(2)
        pids = client.run(os.getpid)
        assert len(set(pids.values())) == 2
        thread, killed = kill_when_started(tmp_path, lambda: pids.values())
        assert gen5.search(**PROBLEM, points=POINTS, cache=folder, executor=client.get_executor()) == by_one[0]
        thread.join()
        assert killed


class RayExecutor(concurrent.futures.Executor):
    """Ray's tasks as futures: it starts a task anew where its worker has died."""

    def __init__(self, ray):
        self.ray = ray

    def submit(self, function, /, *args, **kwargs):
        return self.ray.remote(max_retries=3, num_cpus=1)(function).remote(*args, **kwargs).future()


def test_ray(by_one, folder, tmp_path, monkeypatch):
    ray = pytest.importorskip("ray")
    slow_compiler(tmp_path, folder, monkeypatch)
    ray.init(num_cpus=2, include_dashboard=False, configure_logging=False, runtime_env={"env_vars": {"PYTHONPATH": os.environ["PYTHONPATH"]}})
    try:
        raylet = ray._private.worker._global_node.all_processes["raylet"][0].process.pid
        thread, killed = kill_when_started(tmp_path, lambda: children(raylet, b"ray::_time"))
        assert gen5.search(**PROBLEM, points=POINTS, cache=folder, executor=RayExecutor(ray)) == by_one[0]
        thread.join()
        assert killed
    finally:
        ray.shutdown()


def test_kernel_tuner_reads_what_is_written(by_one, tmp_path):
    """Its simulation mode takes our predictions for measurements, and its strategies find the best of them."""
    kernel_tuner, jsonschema = pytest.importorskip("kernel_tuner"), pytest.importorskip("jsonschema")
    from kernel_tuner.file_utils import output_file_schema
    result = by_one[0]
    result.kernel_tuner_cache(tmp_path / "cache.json")
    results, _ = kernel_tuner.tune_cache(str(tmp_path / "cache.json"), strategy="brute_force", quiet=True)
    assert len(results) == len(POINTS)
    best = min(results, key=lambda r: r["time"])
    assert best["tile"] == result.best[0].parameters["tile"] and best["time"] == pytest.approx(result.best[0].us / 1e3)
    # Strategies that begin by chance ask for some of them and get the same times.
    for strategy in ("greedy_mls", "genetic_algorithm"):
        found, _ = kernel_tuner.tune_cache(str(tmp_path / "cache.json"), strategy=strategy, quiet=True)
        assert found and {r["time"] for r in found} <= {r["time"] for r in results}, strategy
    result.t4(tmp_path / "t4.json")
    jsonschema.validate(json.loads((tmp_path / "t4.json").read_text()), output_file_schema("results")[1])
    # And what it writes itself.
    from kernel_tuner.file_utils import store_output_file
    store_output_file(str(tmp_path / "theirs.json"), results, {name: None for name in result.best[0].parameters})
    assert gen5.read_kernel_tuner(tmp_path / "theirs.json") == {c.point: pytest.approx(c.us / 1e3) for c in result.best}
