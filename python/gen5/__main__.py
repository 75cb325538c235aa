"""python -m gen5 [OPTIONS] script.py ARGS…: runs a script, with its kernels on tinygpu."""

from __future__ import annotations

import argparse
import os
import pathlib
import runpy
import sys

import gen5
from gen5 import _library


def parser() -> argparse.ArgumentParser:
    """Takes the options of `gen5 run`, and `--check off`."""
    made = argparse.ArgumentParser(prog="python -m gen5", description=__doc__)
    for o in _library.options():
        if not o["flag"]:
            continue
        kind: dict[str, object] = {"metavar": o["values"]}
        if not o["values"]:
            kind = {"action": "store_const", "const": "1"}
        elif o["values"].islower() and "|" in o["values"]:
            kind = {"choices": o["values"].split("|") + (["off"] if o["key"] == "check" else [])}
        made.add_argument(o["flag"], dest=o["variable"], help=f"{o['help']} [{o['variable']}]".replace("%", "%%"), **kind)
    made.add_argument("-m", dest="module", action="store_true", help="the script is the name of a module")
    made.add_argument("script")
    made.add_argument("arguments", nargs=argparse.REMAINDER)
    return made


def main() -> None:
    options = parser().parse_args()
    check: bool | str = True
    for name, value in vars(options).items():
        if name == "GEN5_CHECK" and value == "off":
            check = False
        elif name.startswith("GEN5_") and value is not None:
            os.environ[name] = value
    run = gen5.install(check=check)
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


if __name__ == "__main__":
    main()
