"""The machine that judges exercises whose answer is a place and a time: `gen5 debug`, asked line by line.

exercises/NN_topic/judge.py has a function verdict(machine, answer). `machine` is the Machine below, at the end of the program; `answer` has
what the reader wrote down, by name. It returns a sentence about what is not right, or None. It compares what the machine shows at the
reader's moment with what it shows a step before: so it knows no answer itself.
"""
import re
from typing import NamedTuple

from prompt import Prompt

MOST = 120  # seconds for all questions together


class Wrong(Exception):
    """A sentence for the reader."""


class Barrier(NamedTuple):
    name: str
    offset: int
    phase: int
    missing: int
    expected: int
    bytes: int


class Machine(Prompt):
    def __init__(self, gen5, command):
        super().__init__(gen5, command, MOST)
        self.output = self.ask("run")
        ended = re.search(r"after ([\d,]+) steps", self.output)
        if not ended:
            raise Wrong(f"the program does not come to its end in the debugger:\n{self.output}")
        self.last = int(ended[1].replace(",", ""))

    def ask(self, line):
        try:
            return super().ask(line)
        except EOFError:
            raise Wrong("the debugger has ended")

    def number(self, pattern, text):
        """A number in a text: its first group."""
        found = re.search(pattern, text)
        if not found:
            raise Wrong(f"the debugger says nothing of the kind:\n{text}")
        return int(found[1].replace(",", ""), 0)

    def printed(self, pattern):
        """A number that the program prints."""
        return self.number(pattern, self.output)

    def at(self, position):
        """Itself, at that position."""
        if not 1 <= position <= self.last:
            raise Wrong(f"There is no position {position:,}: the program has positions 1 to {self.last:,}.")
        self.here = self.ask(f"goto {position}")
        return self

    def warp(self):
        """The warp that took the step to the position at which it stands."""
        return self.number(r"CTA \(\d+,\d+,\d+\), warp (\d+)", self.here)

    def words(self, space, address, count):
        shown = self.ask(f"show {space} {address:#x} {4 * count}")
        digits = "".join(line.split(" ", 1)[1] for line in shown.splitlines() if line.startswith("0x")).replace(" ", "")
        return [int.from_bytes(bytes.fromhex(digits[k : k + 8]), "little") for k in range(0, len(digits), 8)]

    def cell(self, lane, column):
        """A cell of Tensor Memory; None where nothing has been written."""
        found = re.search(rf"^ +{lane} +(0x\w+)$", self.ask(f"show tmem {lane} 1 {column} 1 /x"), re.M)
        return int(found[1], 16) if found else None

    def barriers(self):
        row = r"mbarrier (?:(\S+) \()?(0x\w+)\)?: phase (\d+) .*?, (\d+) of (\d+) arrivals missing, (-?\d+) bytes"
        return [Barrier(name, int(offset, 16), *map(int, rest)) for name, offset, *rest in re.findall(row, self.ask("show barriers"))]

    def barrier(self, name):
        """None where it is not initialised, or no CTA runs."""
        return next((b for b in self.barriers() if b.name == name), None)

    def first(self, holds):
        """The first position at which holds() is true, if it stays true from there on."""
        low, high = 0, self.last
        while high - low > 1:
            middle = (low + high) // 2
            self.at(middle)
            low, high = (low, middle) if holds() else (middle, high)
        return high

    @staticmethod
    def differs(answer, right):
        """A sentence about the first of these that is another one."""
        wrong = next((name for name in right if str(answer[name]) != str(right[name])), None)
        return f"The position is right. `{wrong}` is not {answer[wrong]}: look at this step again." if wrong else None


def find(gen5, command, session):
    """The answers that a solution's session finds. `session`: (command, takes) by line; a take is (name, value or None, pattern). Without a value
    the pattern's first group is taken. {name} stands for what has been taken before, {name + 4} for that and four."""
    found = {}

    def put(match):
        text = found[match[1]].replace(",", "")
        sum_of = int(text, 0) + int((match[2] or "0").replace(" ", ""))
        return hex(sum_of) if text.startswith("0x") else str(sum_of)

    def filled(text):
        return re.sub(r"\{(\w+)( [+-] \d+)?\}", put, text)

    with Machine(gen5, command) as machine:
        machine.at(1)
        for line, takes in session:
            said = machine.ask(filled(line))
            for name, value, pattern in takes:
                match = re.search(filled(pattern), machine.output if line == "run" else said)
                if not match:
                    raise Wrong(f"{line}: nothing in the answer is {pattern}\n{said}")
                found[name] = value or match[1].replace(",", "")
    return found
