"""python -m gen5 [OPTIONS] script.py ARGS…: runs a script whose kernels run on tinygpu."""

from __future__ import annotations

import argparse
import pathlib
import runpy
import sys

import gen5


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m gen5", description=__doc__)
    parser.add_argument("--machine", help="machine profile: b200 (default), h200, a path")
    parser.add_argument("--order", choices=["timed", "late", "seeded"], help="when asynchronous effects land")
    parser.add_argument("--seed", type=int, help="a random legal order, chosen by this seed")
    parser.add_argument("--check", choices=["quick", "races", "off"], default="quick", help="what is looked for; off: only faults stop")
    parser.add_argument("--profile", action="store_true", help="print where each kernel's cycles went")
    parser.add_argument("--trace", metavar="FILE", help="write a timeline for ui.perfetto.dev")
    parser.add_argument("-m", dest="module", action="store_true", help="the script is the name of a module")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    check: bool | str = {"quick": True, "races": "races", "off": False}[options.check]
    run = gen5.install(options.machine, order=options.order, seed=options.seed, check=check, profile=options.profile,
                       trace=bool(options.trace))
    sys.argv = [options.script, *options.arguments]
    try:
        if options.module:
            runpy.run_module(options.script, run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = str(pathlib.Path(options.script).resolve().parent)  # as Python does it
            runpy.run_path(options.script, run_name="__main__")
        run.after_launch()
    except BaseException as failed:
        run.after_launch(failed=failed)
        raise
    finally:
        if options.trace:
            run.trace(options.trace)
        if options.profile:
            for k in run.profile():
                print(f"{k['kernel']}: {k['cycles']:,} cycles in {k['launches']} launches", file=sys.stderr)


if __name__ == "__main__":
    main()
