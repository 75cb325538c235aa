"""The command `gen5` of an installed package: the program that lies in it."""

import os
import sys

from gen5 import _library


def main() -> None:
    program = str(_library.program())
    os.execv(program, [program, *sys.argv[1:]])  # by its whole name: its machines are found beside it
