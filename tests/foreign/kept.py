"""Tables of notes that come from data: what runs of other people's programs said lies as JSON beside the test that runs them, and a block of a note
(<!-- NAME --> to <!-- end NAME -->, or ```text below <!-- NAME -->) is made of it."""

import json
import pathlib
import re

import fetch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load(path):
    return json.loads(path.read_text()) if path.exists() else {}


def save(path, data):
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def renewed(note, blocks):
    """The note's text with each block's lines in it."""
    text = note.read_text()
    for name, lines in blocks.items():
        here = rf"<!-- {re.escape(name)} -->\n"
        block = re.compile(rf"({here}```text\n).*?(```)|({here}).*?(<!-- end {re.escape(name)} -->)", re.DOTALL)
        text, found = block.subn(lambda m: (m[1] or m[3]) + "\n".join([*lines, ""]) + (m[2] or m[4]), text)
        if found != 1:
            raise SystemExit(f"{note.relative_to(ROOT)} has {found} blocks {name}, not one")
    return text


def settle(note, blocks, write, script):
    """Writes the blocks, or compares them. What sys.exit() takes: nothing, or what is wrong."""
    text = renewed(note, blocks)
    if write:
        note.write_text(text)
    elif note.read_text() != text:
        return f"{note.relative_to(ROOT)} has another table: {pathlib.Path(script).resolve().relative_to(ROOT)} --write-note"
    return 0


def add_options(parser, *more):
    """--table, --write-note and --check-note, and others that take no value."""
    for option in ("--table", "--write-note", "--check-note", *more):
        parser.add_argument(option, action="store_true")


def answer(options, note, blocks, script):
    """What the three options ask for; `blocks()` has the lines of each block by its name. None if none of them is there, else what sys.exit() takes:
    nothing, or what is wrong."""
    if options.table:
        print("\n\n".join("\n".join(lines) for lines in blocks().values()))
    elif options.write_note or options.check_note:
        return settle(note, blocks(), options.write_note, script)
    else:
        return None
    return 0


def differ(ran, path):
    """Whether one of `ran` (name, what it said now, what the file has) ended otherwise; prints each that did. Exit code 77 if nothing ran."""
    ran = list(ran)
    if not ran:
        fetch.skip("none of them has run")
    others = [(name, now, then) for name, now, then in ran if now["verdict"] != (then or {}).get("verdict")]
    for name, now, then in others:
        print(f"{name}: {now['verdict']} {now['why']}; {path.name} has {then}")
    return bool(others)
