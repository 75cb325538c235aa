"""Tables of notes that come from data: what runs of other people's programs said lies as JSON beside the test that runs them, and a block of a note
(<!-- NAME --> to <!-- end NAME -->) is made of it."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load(path):
    return json.loads(path.read_text()) if path.exists() else {}


def save(path, data):
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def renewed(note, name, lines):
    """The note's text with these lines in its block."""
    block = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    text, found = block.subn(lambda m: m[1] + "\n".join(lines) + "\n" + m[2], note.read_text())
    if found != 1:
        raise SystemExit(f"{note.relative_to(ROOT)} has {found} blocks {name}, not one")
    return text


def write_note(note, name, lines):
    note.write_text(renewed(note, name, lines))


def check_note(note, name, lines, script):
    """What sys.exit() takes: nothing, or what is wrong."""
    if note.read_text() != renewed(note, name, lines):
        return f"{note.relative_to(ROOT)} has another table: {pathlib.Path(script).resolve().relative_to(ROOT)} --write-note"
    return 0
