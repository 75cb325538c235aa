"""The exercises in PTX that pages judge (web/page/judge.js): what book/make.py and the tests read.

An exercise is a folder web/exercises/NN_topic with two files.

exercise.ptx  at its head, as comments: `//! title:`, the task in `//! says:` lines, and the launch (web/page/launch.js). The page shows
              title, task and launch beside the editor; the editor has the lines below them.
solution.txt  fields, one a line, then the solution as a diff, then typical wrong solutions:
                read:    (optional) the lesson that explains it
                hint:    one or two sentences
                says:    how the untouched file ends: a diagnosis's code, `wrong numbers` or `too slow`
                sees:    words of the sentence that a reader then sees
                knows:   what the page says of the solved exercise
                want:    BUFFER[i] = EXPRESSION, in Python, over i and the buffers as the launch fills them
                uses:    (optional) the opcode that a solution has to use
                cycles:  (optional) the budget, as timed
                @@       lines with -, + or a space, as in chapters/*/mistakes.txt
                wrong NAME: how it ends; then `sees:` and a diff, which is against the untouched file
"""
import math
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "cmake"))
import make_mistakes  # noqa: E402  how a diff is applied

FIELDS = ("read", "hint", "says", "sees", "knows", "want", "uses", "cycles")
NEEDED = ("hint", "says", "sees", "knows", "want")


class Error(Exception):
    pass


def filled(count, pattern):
    """The numbers of a buffer, by the patterns whose numbers are plain (web/machine/buffers.h)."""
    side = math.isqrt(count)
    if match := re.fullmatch(r"mod([1-9]\d*)", pattern):
        return [i % int(match[1]) for i in range(count)]
    known = {"zero": lambda i: 0, "one": lambda i: 1, "index": lambda i: i, "alternating": lambda i: -1 if i % 2 else 1, "identity": lambda i: int(i // side == i % side)}
    if pattern not in known:
        raise Error(f"an exercise's buffer may not be filled by {pattern}")
    return [known[pattern](i) for i in range(count)]


class Attempt:
    """Text of a reader's: how it ends (`says`), with which words (`sees`)."""

    def __init__(self, name, says):
        self.name, self.says, self.sees, self.hunks, self.text = name, says, "", [], ""


class Exercise:
    """One folder, read. Throws Error where its files are not as described above."""

    def __init__(self, folder):
        self.name, self.fields, self.wrong = folder.name, {}, []
        lines = (folder / "exercise.ptx").read_text().splitlines()
        head = [line for line in lines if line.startswith("//!")]
        if lines[: len(head)] != head:
            raise Error(f"{self.name}: the lines with //! stand at the head")
        self.title = next(line.split(":", 1)[1].strip() for line in head if line.startswith("//! title:"))
        self.task = " ".join(line.split(":", 1)[1].strip() for line in head if line.startswith("//! says:"))
        self.launch = "\n".join(line for line in head if not re.match(r"//! (title|says):", line))
        self.text = "\n".join(lines[len(head) :]) + "\n"
        self.buffers = {m[1]: filled(int(m[2]), m[3]) for m in re.finditer(r"^//! buffer (\w+): \w+\[(\d+)\] = (\w+)$", self.launch, re.M)}
        self.solution = Attempt("solution", "right")
        self.read_solution(folder / "solution.txt")
        for attempt in (self.solution, *self.wrong):
            attempt.text = self.changed(attempt)

    def read_solution(self, path):
        attempt = self.solution
        field = hunk = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := re.fullmatch(r"wrong (\w+): (.+)", line):
                attempt, hunk, field = Attempt(match[1], match[2]), None, None
                self.wrong.append(attempt)
            elif line == "@@":
                hunk = make_mistakes.Hunk("exercise.ptx", "it", number)
                attempt.hunks.append(hunk)
            elif hunk is not None:
                if line and line[0] not in " +-":
                    raise Error(f"{path}:{number}: a line of a diff begins with a space, + or -")
                hunk.rows.append((line[:1] or " ", line[1:], number))
            elif (match := re.fullmatch(r"([a-z]+): *(.*)", line)) and match[1] in FIELDS:
                field = match[1]
                if attempt is not self.solution:
                    attempt.sees = match[2]
                else:
                    self.fields[field] = match[2]
            elif line:
                raise Error(f"{path}:{number}: not understood: {line}")
        if missing := [f for f in NEEDED if f not in self.fields] + ["a solution"] * (not self.solution.hunks):
            raise Error(f"{path} lacks {', '.join(missing)}")

    def changed(self, attempt):
        lines = [(text, None, i) for i, text in enumerate(self.text.splitlines(), 1)]
        for hunk in attempt.hunks:
            try:
                lines, _, _ = make_mistakes.apply(hunk, lines)
            except make_mistakes.Error as error:
                raise Error(f"{self.name}, {attempt.name}: {error}")
        return "\n".join(text for text, _, _ in lines) + "\n"

    def diff(self):
        """The solution as a reader sees it."""
        return "\n".join("\n".join((sign + text).rstrip() for sign, text, _ in h.rows) for h in self.solution.hunks)

    def wanted(self):
        """(buffer, its numbers in the end)."""
        name, expression = re.fullmatch(r"(\w+)\[i\] = (.+)", self.fields["want"]).groups()
        code = compile(expression, self.name, "eval")
        return name, [eval(code, {**self.buffers, "i": i}) for i in range(len(self.buffers[name]))]

    def page(self):
        """What the page's judge knows of it."""
        name, values = self.wanted()
        return {"name": self.name, "title": self.title, "launch": self.launch, "text": self.text, "knows": self.fields["knows"],
                "want": {"buffer": name, "values": values}, "uses": self.fields.get("uses", ""), "budget": int(self.fields.get("cycles", 0))}


def all_exercises():
    return [Exercise(f) for f in sorted((root / "web" / "exercises").glob("[0-9]*_*")) if f.is_dir()]
