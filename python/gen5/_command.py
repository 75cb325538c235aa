"""The command `gen5` of an installed package: the program in it, and the subcommands written in Python."""

import os
import sys

from gen5 import _library


def main() -> None:
    if sys.argv[1:2] == ["popcorn"]:
        from gen5 import popcorn
        sys.exit(popcorn.main(sys.argv[2:]))
    program = str(_library.program())
    os.execv(program, [program, *sys.argv[1:]])  # by its whole name: its machines are found beside it
