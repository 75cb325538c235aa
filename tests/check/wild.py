#!/usr/bin/env python3
"""notes/wild.md: what other people's kernels did against the manual, from the lists that tests keep.

  wild.py [--table]     the page's tables
  wild.py --write-note  renews them in the page
  wild.py --check-note  whether the page holds them

Bugs come from tests/check/wild and wild_second, a file each; what running published programs found, from wild_found.json; what is relied on and
right on hardware, from base/relied_on.h."""

import argparse
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests/foreign"))

import kept  # noqa: E402

NOTE = ROOT / "notes/wild.md"
RELIED = re.compile(r"inline constexpr ReliedOn \w+\{(.*?)\};", re.DOTALL)
HEADERS = ("kernel:", "says:", "check:", "run:")


def read(path):
    """The comments that a file begins with: address, sentences, and fields by name."""
    said, fields, address = [], {}, ""
    for line in path.read_text().splitlines():
        if not line.startswith("// "):
            break
        text = line[3:].strip()
        key = next((h for h in HEADERS if text.startswith(h)), None)
        if text.startswith("https://"):
            address = text
        elif key:
            fields[key[:-1]] = text[len(key):].strip()
        else:
            said.append(text)
    missing = [h for h in ("says", "check", "run") if h not in fields]
    if not address or not said or missing:
        sys.exit(f"{path.name} does not begin with a report's address, a sentence and its fields")
    return address, " ".join(said), fields


def name_of(address):
    """owner/repository#number, as GitHub writes it."""
    words = address.removeprefix("https://").split("/")
    return f"{words[1]}/{words[2]}#{words[-1]}" if len(words) >= 5 and words[-1].isdigit() else "/".join(words[1:3])


def on_silicon(name):
    """What an H200 did with the bug, beside its twin (wild_h200.json, which wild_h200.py writes)."""
    kernels = json.loads((HERE / "wild_h200.json").read_text())["kernels"]
    bug, twin = kernels[f"{name}.bug"], kernels[f"{name}.twin"]
    if "not_compiled" in bug:
        return "–"
    if "outputs" not in twin:
        sys.exit(f"wild_h200.json: the twin of {name} did not end: {twin}")
    if "hangs" in bug:
        return "hangs"
    if "error" in bug:
        return f"`{bug['error']}`"
    return "as the twin" if set(bug["outputs"]) == set(twin["outputs"]) else "other results"


def bugs(folder):
    lines = ["| report | what went wrong | told as | `gen5 check` | `gen5 run` | H200 |", "|---|---|---|---|---|---|"]
    for path in sorted((HERE / folder).glob("*.ptx")):
        address, said, fields = read(path)
        lines.append(f"| [{name_of(address)}]({address}) | {said.replace('|', chr(92) + '|')} | `{fields['says']}` | {fields['check']} | {fields['run']} | {on_silicon(path.stem)} |")
    return lines


def found():
    """Of each program: its repository and commit, the file and line, what it does, how `gen5 check` tells it, and what a GPU shows."""
    lines = ["| program | what it does | told as | on a GPU |", "|---|---|---|---|"]
    for e in json.loads((HERE / "wild_found.json").read_text())["found"]:
        if set(e) != {"program", "repository", "commit", "file", "line", "does", "told", "shows"}:
            sys.exit(f"wild_found.json: {e.get('program')} has not its eight fields")
        place = f"https://github.com/{e['repository']}/blob/{e['commit']}/{e['file']}#L{e['line']}"
        told = ", ".join(f"`{code}`" for code in e["told"]) or "not run"
        lines.append(f"| {e['program']}, [`{pathlib.PurePath(e['file']).name}:{e['line']}`]({place}) | {e['does']} | {told} | {e['shows']} |")
    return lines


def relied_on():
    lines = ["| what a kernel relies on | who does so |", "|---|---|"]
    for body in RELIED.findall((ROOT / "common/tinygpu/base/relied_on.h").read_text()):
        what, kernels = pieces(body)
        lines.append(f"| {what} | {kernels} |")
    return lines


def pieces(body):
    """The two strings of an entry: pieces that stand side by side are one, a comma is between the two."""
    strings = [""]
    for text, comma in re.findall(r'"((?:[^"\\]|\\.)*)"|(,)', body):
        if comma:
            strings.append("")
        else:
            strings[-1] += text
    if len(strings) != 2:
        sys.exit(f"relied_on.h: not two strings: {body}")
    return strings


TABLES = {"wild": lambda: bugs("wild"), "wild_second": lambda: bugs("wild_second"), "found": found, "relied_on": relied_on}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kept.add_options(parser)
    options = parser.parse_args()
    options.table |= not (options.write_note or options.check_note)
    return kept.answer(options, NOTE, lambda: {name: lines() for name, lines in TABLES.items()}, __file__)


if __name__ == "__main__":
    sys.exit(main())
