#!/usr/bin/env python3
"""scripts/calibrate without a GPU: it gives the profile of the H200 back from the H200's rows, moves a number with its row, and
says what is wrong with what it is given."""

import json
import pathlib
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
results = sorted((root / "probes/results/h200").glob("*.json"))


def calibrate(*arguments):
    return subprocess.run([root / "scripts/calibrate", *map(str, arguments)], capture_output=True, text=True)


def expect(what, truth):
    if not truth:
        sys.exit(f"failed: {what}")
    print(f"holds: {what}")


done = calibrate(*results, "--check")
expect(f"h200.json has what its rows give, within their spread: {done.stdout.strip()}", done.returncode == 0)

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    # Another machine: its mbarriers answer later, everything else is the same.
    rows = json.loads((root / "probes/results/h200/01_mbarrier.json").read_text())
    for b in rows["benchmarks"]:
        if b["name"] == "arrive_relaxed":
            b.update(median=9, min=9, max=9)
    rows.update(gpu="NVIDIA X", date="2030-01-02")
    (folder / "01_mbarrier.json").write_text(json.dumps(rows))
    done = calibrate(folder / "01_mbarrier.json", "--no-fit", "--name", "x")
    made = json.loads(done.stdout)
    place = made["numbers"]["mbarrier.arrive"]
    expect("a row moves its number", made["name"] == "x" and place["value"] == 9)
    expect("its source names GPU, date, runs and row", all(t in place["source"] for t in ("X, 2030-01-02", "64 runs", "arrive_relaxed 9")))
    old = json.loads((root / "probes/machines/h200.json").read_text())
    expect("what no row gives stays", made["numbers"]["tma.bytes_per_cycle"] == old["numbers"]["tma.bytes_per_cycle"])
    done = calibrate(folder / "01_mbarrier.json", "--check")
    expect("--check tells of the number that is another", done.returncode == 1 and "mbarrier.arrive is 6; the rows give 9" in done.stdout)

    # What a probe prints itself, twice: medians of all of it.
    raw = {"context": {"executable": "./probe_01_mbarrier", "date": "2030-01-02T00:00:00"}, "benchmarks": []}
    for value in (5, 8, 8):
        raw["benchmarks"].append({"name": "arrive_relaxed/iterations:1/manual_time", "run_type": "iteration", "cycles": value})
    (folder / "raw.json").write_text(json.dumps(raw))
    done = calibrate(folder / "raw.json", "--no-fit")
    expect("rows of a probe's own output are taken by their median", json.loads(done.stdout)["numbers"]["mbarrier.arrive"]["value"] == 8)

    # Rows that this GPU has not, and readings of power too rare for a short row: both are left out.
    raw["benchmarks"].append({"name": "of_another_gpu", "run_type": "iteration", "error_occurred": True, "error_message": "needs another"})
    raw["benchmarks"].append({"name": "idle", "run_type": "iteration", "cycles": 1, "mhz": 1980.2, "begin": 10.0, "end": 10.2})
    (folder / "raw.json").write_text(json.dumps(raw))
    (folder / "smi.csv").write_text("timestamp, power.draw.average [W]\n2030/01/02 00:00:00.000, 100.0 W\n")
    subprocess.run([root / "scripts/probe_results", folder / "raw.json", "--out", folder / "made", "--smi", folder / "smi.csv", "--gpu", "X",
                    "--driver", "1", "--sm-mhz", "1980", "--memory-mhz", "3201"], check=True)
    made = {b["name"]: b for b in json.loads((folder / "made/01_mbarrier.json").read_text())["benchmarks"]}
    expect("probe_results leaves out what a GPU has not", set(made) == {"arrive_relaxed", "idle"} and made["idle"]["mhz"] == 1980)
    expect("power that was not read is no number", "watts" not in made["idle"])
    done = calibrate(folder / "raw.json", "--no-fit")
    expect("so does calibrate", json.loads(done.stdout)["numbers"]["mbarrier.arrive"]["value"] == 8)

    (folder / "none.json").write_text(json.dumps({"program": "99", "gpu": "X", "date": "", "benchmarks": []}))
    done = calibrate(folder / "none.json")
    expect("no row that gives a number is an error", done.returncode != 0 and "none of these rows" in done.stderr)
