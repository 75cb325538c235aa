#!/usr/bin/env python3
"""scripts/predict's arithmetic, on a list of its own: errors, percentiles, and what ncu and the program printed."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(root / "scripts"))  # where it finds its own modules
loader = importlib.machinery.SourceFileLoader("predict", str(root / "scripts/predict"))
predict = importlib.util.module_from_spec(importlib.util.spec_from_loader("predict", loader))
loader.exec_module(predict)


def expect(what, truth):
    if not truth:
        sys.exit(f"failed: {what}")
    print(f"holds: {what}")


expect("the 90th percentile of ten is the ninth", predict.percentile(range(1, 11), 90) == 9)
expect("that of one is itself", predict.percentile([7], 90) == 7)


def refused(which):
    try:
        predict.share([1, 2], which)
    except SystemExit as e:
        return "write I/N" in str(e)


names = list(range(10))
expect("shares have each name once", sorted(n for i in range(1, 5) for n in predict.share(names, f"{i}/4")) == names)
expect("a share that is none is refused", all(refused(w) for w in ("0/4", "5/4", "x", "1/0")))

expect("a family is a problem without the tile", predict.family("cutlass/tile:64x128x64/m:4/n:8/k:2") == "cutlass m:4 n:8 k:2")
expect("a kernel that is no product has none", predict.family("softmax/rows:4/columns:8") is None)
variants = [f"p/tile:{i}/m:1/n:1/k:1" for i in range(10)]
silicon = {n: {"cycles": 100 + i, "mhz": 1980} for i, n in enumerate(variants)}
expect("the same order", predict.ranking({n: i for i, n in enumerate(variants)}, silicon, variants) == {"p m:1 n:1 k:1": (10, 1, 0, 0)})
rows, tau, first, three = predict.ranking({n: -i for i, n in enumerate(variants)}, silicon, variants)["p m:1 n:1 k:1"]
expect("the reverse order: the first is the worst", (rows, tau) == (10, -1) and abs(first - 0.09) < 1e-12 and abs(three - 0.07) < 1e-12)
# Of 45 pairs one is a tie, 43 agree and one does not: 42 / sqrt(44 * 45).
tied = predict.ranking(dict(zip(variants, [1, 1, 2, 3, 4, 5, 6, 7, 9, 8])), silicon, variants)["p m:1 n:1 k:1"][1]
expect("ties in one order", abs(tied - 0.94388) < 1e-5)
expect("eight variants are too few", predict.ranking({n: 1 for n in variants[:8]}, silicon, variants) == {})

with tempfile.TemporaryDirectory() as name:
    predict.folder = pathlib.Path(name)
    (predict.folder / "held_out.txt").write_text("# why\na/n:1 | copies | others\na/n:2 | copies | others\nb | products | tensor cores\n")
    mine, theirs = {"a/n:1": 110, "a/n:2": 70, "b": 95}, {n: {"cycles": 100, "mhz": 1980} for n in ("a/n:1", "a/n:2", "b")}
    lines = predict.table(predict.errors(mine, theirs)).splitlines()
    expect("a group's line", "| copies | 2 | 20.0% | 30.0% | -10.0% | -30% `a/n:2` |" in lines)
    expect("tensor cores stand first, by themselves", lines[2] == "| **tensor cores** | 1 | 5.0% | 5.0% | -5.0% | -5% `b` |")

    theirs["b"]["slowest"] = 90
    expect("the slowest clock's cycles count where they were measured", abs(predict.errors(mine, theirs)["b"] - 5 / 90) < 1e-12)

    # Two kernels, a first launch and three of each, and a memset between them.
    table = ['"ID","Kernel Name","' + '","'.join(predict.NCU.values()) + '"', '"","","cycle","cycle","us","Kbyte","byte","byte","inst"']
    slowest = lambda cycles: int(str(cycles).replace(",", "")) - 1
    for i, (kernel, cycles) in enumerate([("f", 900), ("f", "1,001"), ("memset", 5), ("f", 1003), ("f", 1002), ("g", 1), ("g", 50), ("g", 70), ("g", 60)]):
        table.append(f'"{i}","{kernel}","{cycles}","{slowest(cycles)}","2","3","4","5","6"')
    (predict.folder / "ncu.csv").write_text("==PROF== says\n" + "\n".join(table))
    (predict.folder / "ncu.jsonl").write_text("==PROF== Connected\n" + "\n".join(json.dumps({"name": n, "microseconds": [1]}) for n in ("a/n:1", "b")))
    (predict.folder / "events.jsonl").write_text(json.dumps({"name": "b", "microseconds": [3, 1, 2]}))
    (predict.folder / "machine.csv").write_text("timestamp, name, driver_version, clocks.max.sm [MHz], clocks.max.memory [MHz]\n2030/01/02 03:04:05, X, 1.2, 9 MHz, 8 MHz\n")
    predict.silicon(predict.folder)
    kept = json.loads((predict.folder / "h200.json").read_text())
    row = kept["rows"]["a/n:1"]
    expect("the median of the launches behind the first", (row["cycles"], row["least"], row["greatest"]) == (1002, 1001, 1003))
    expect("the slowest clock's too", row["slowest"] == 1001)
    expect("units are turned into bytes and nanoseconds", (row["nanoseconds"], row["dram_read_bytes"], row["dram_write_bytes"]) == (2000, 3000, 4))
    expect("date, driver and clocks are kept", (kept["date"], kept["driver"], kept["highest_sm_clock"]) == ("2030-01-02", "1.2", "9 MHz"))
    expect("times by events, where there are some", kept["rows"]["b"]["microseconds_by_events"] == 2 and "microseconds_by_events" not in row)
    (predict.folder / "ncu.jsonl").write_text(json.dumps({"name": "a/n:1", "microseconds": [1]}))
    try:
        predict.silicon(predict.folder)
        expect("launches too many are an error", False)
    except SystemExit as e:
        expect(f"launches too many are an error: {e}", "launches" in str(e))
