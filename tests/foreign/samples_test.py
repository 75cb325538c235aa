#!/usr/bin/env python3
"""samples.py and samples_small.py: what a sample said is judged, a smaller size in its source is made and kept with what it said."""

import pathlib
import tempfile

import samples
import samples_small


def expect(what, got, wanted):
    assert got == wanted, f"{what}: {got!r} instead of {wanted!r}"


def stopped(call):
    try:
        call()
    except SystemExit as stop:
        return str(stop)
    raise AssertionError("it went on")


expect("right", samples.verdict(0, "Test passed"), ("right", ""))
expect("its own comparison, which its exit code does not tell", samples.verdict(0, "x\nmismatch i=3 result_hD=1 result_host=2"),
       ("wrong", "mismatch i=3 result_hD=1 result_host=2"))
expect("declines", samples.verdict(2, "requires compute capability 8"), ("declines", "requires compute capability 8"))

small = "in the source `NUM_REPS 1` for `NUM_REPS 100`"
changed = samples_small.described("simplePitchLinearTexture")
expect("changes", f"in the source {changed}", small)
right = {"verdict": "right", "why": "", "codes": []}
for what, runs, wanted in (("as published", {"b200": right, "h200": right}, ""),
                           ("on both", {"b200": right | {"changed": changed}, "h200": right | {"changed": changed}}, small),
                           ("on one", {"b200": right, "h200": right | {"changed": changed}}, small + " (h200)")):
    expect(what, samples.asked("simplePitchLinearTexture", runs), wanted)
expect("arguments besides", samples.asked("UnifiedMemoryPerf", {"b200": right | {"changed": changed}}), f"`-kernel-iterations=1`; {small} (b200)")

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "main.cu").write_text("#define NUM_REPS 100 // number\n")
    samples_small.change(folder, "simplePitchLinearTexture")
    expect("the copy", (folder / "main.cu").read_text(), "#define NUM_REPS 1 // number\n")
    expect("once", stopped(lambda: samples_small.change(folder, "simplePitchLinearTexture")),
           "simplePitchLinearTexture: '#define NUM_REPS 100' stands in 0 files")
