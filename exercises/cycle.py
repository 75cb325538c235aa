#!/usr/bin/env python3
"""cycle.py [BUILD] [NAME…]: what one round of scripts/learn takes: compile, link, judge a solved exercise.

Prints seconds of the clock, and of the processor (all processes together), which depend less on what else the machine does. A benchmark,
not a test.
"""
import pathlib
import resource
import sys
import tempfile
import time

import judge

DEFAULT = ("01_arrive_once", "17_swizzled_read", "31_along_k", "52_stage_not_given_back", "58_sixty_percent")


def spent(work):
    """(seconds of the clock, of the processor), and what `work` returns."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    result = work()
    clock, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, result


def main():
    build = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else judge.root / "build" / "default"
    tools, names = judge.Tools(build), sys.argv[2:] or DEFAULT
    print(f"{'exercise':32} {'build, clock':>13} {'processor':>10} {'judge, clock':>13} {'processor':>10}")
    for name in names:
        exercise = judge.Exercise(judge.root / "exercises" / name)
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder) / "exercise.cu", pathlib.Path(folder) / "exercise"
            source.write_text(exercise.solved())
            built, building, said = spent(lambda: tools.build(source, program))
            if said:
                sys.exit(f"{name} does not compile:\n{said}")
            judged, judging, verdict = spent(lambda: judge.judge(tools, exercise, [program]))
        print(f"{name:32} {built:11.1f} s {building:8.1f} s {judged:11.1f} s {judging:8.1f} s  {verdict.ends}", flush=True)


if __name__ == "__main__":
    main()
