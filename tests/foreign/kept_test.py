#!/usr/bin/env python3
"""kept.py: blocks of a note are renewed and compared, each by its name, and what is wrong is said."""

import argparse
import contextlib
import io
import pathlib
import tempfile

import kept


def expect(what, got, wanted):
    assert got == wanted, f"{what}: {got!r} instead of {wanted!r}"


def printed(call):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = call()
    return code, out.getvalue()


def answer(note, *words):
    parser = argparse.ArgumentParser()
    kept.add_options(parser, "--other")
    return kept.answer(parser.parse_args(words), note, lambda: {"a": ["1", "2"], "b_c": ["3"]}, kept.ROOT / "tests/x.py")


with tempfile.TemporaryDirectory() as folder:
    kept.ROOT = pathlib.Path(folder).resolve()
    note = kept.ROOT / "note.md"
    note.write_text("Before\n<!-- a -->\nold\n<!-- end a -->\nbetween\n<!-- b_c -->\n<!-- end b_c -->\nbehind\n")
    expect("another table", answer(note, "--check-note"), "note.md has another table: tests/x.py --write-note")
    expect("write", answer(note, "--write-note"), 0)
    expect("the note", note.read_text(), "Before\n<!-- a -->\n1\n2\n<!-- end a -->\nbetween\n<!-- b_c -->\n3\n<!-- end b_c -->\nbehind\n")
    expect("check", answer(note, "--check-note"), 0)
    expect("table", printed(lambda: answer(note, "--table")), (0, "1\n2\n\n3\n"))
    expect("none of them", (answer(note), answer(note, "--other")), (None, None))
    note.write_text("<!-- x.py --table -->\n```text\nold\n```\nbehind\n<!-- x.py --table --all -->\n```text\nall\n```\n")
    expect("text", kept.renewed(note, {"x.py --table": ["1", "2"]}), note.read_text().replace("old", "1\n2"))
    for text, blocks in (("no block", 0), ("<!-- a -->\n<!-- end a -->\n" * 2, 2)):
        note.write_text(text)
        try:
            answer(note, "--write-note")
        except SystemExit as stop:
            expect("blocks", str(stop), f"note.md has {blocks} blocks a, not one")
        else:
            raise AssertionError("it wrote")
        expect("nothing is written", note.read_text(), text)

said = pathlib.Path("said.json")
right, wrong = {"verdict": "right", "why": ""}, {"verdict": "wrong", "why": "x is 2"}
expect("as before", printed(lambda: kept.differ([("x", right, right)], said)), (False, ""))
expect("otherwise", printed(lambda: kept.differ([("x", wrong, right), ("y", right, None)], said)),
       (True, f"x: wrong x is 2; said.json has {right}\ny: right ; said.json has None\n"))
try:
    printed(lambda: kept.differ([], said))
except SystemExit as stop:
    expect("nothing has run", stop.code, 77)
else:
    raise AssertionError("it compared nothing")
