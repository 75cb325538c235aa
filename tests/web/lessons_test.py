#!/usr/bin/env python3
"""lessons_test.py BUILD MODULE.wasm [CHAPTER …]: what book/lessons.py records of each chapter runs in the module, in Node: parts end without a
diagnosis, and mistakes with the one that their text promises. Exit code 77 where there is no module (scripts/web) or no node."""
import base64
import collections
import gzip
import json
import pathlib
import re
import shutil
import sys
import tempfile

import same_test

root = same_test.root
sys.path.insert(0, str(root / "book"))
import lessons  # noqa: E402


def requests(text):
    """(launch, request) of a lesson's script, as web/page/lesson.js makes them."""
    chapter = json.loads(gzip.decompress(base64.b64decode(re.search(r', "(.*)"\);', text)[1])))
    data = chapter["data"]
    for launch in chapter["launches"]:
        yield launch, {**launch, "do": "run", "ptx": chapter["ptx"][launch["ptx"]], "packed": data[launch["packed"]], "sources": chapter["sources"], "timeline": True,
                       "memory": [{**m, "data": data[m["data"]]} for m in launch["memory"]], "variables": [{**v, "data": data[v["data"]]} for v in launch["variables"]]}


# Parts whose right kernels leave something out on purpose, for the reader to see what is said of it.
LESS_THAN_NEEDED = ("table: A, then B",)


def fault_of(launch, answer):
    """What is not as the page promises; nothing if it is."""
    promised = re.search(r"What is said of it: (.*)\.$", launch["says"])
    # Of a right kernel something may be worth a note.
    codes = {d["code"] for d in answer.get("diagnoses", []) if promised or d["severity"] != "note"}
    if not promised:
        return f"{answer['status']} {answer.get('message', '')} {sorted(codes)}" if answer["status"] != "done" or (codes and launch["group"] not in LESS_THAN_NEEDED) else ""
    if answer["status"] not in ("done", "fault"):
        return f"{answer['status']} {answer.get('message', '')}"
    if promised[1] in ("wrong numbers", "not diagnosed yet"):
        return ""
    return "" if codes & set(re.split(r", ?|\|", promised[1])) else f"{promised[1]} is promised, and {sorted(codes)} said"


def main():
    if not shutil.which("node") or not pathlib.Path(sys.argv[2]).exists():
        print("skipped: needs node and scripts/web")
        return 77
    side, faults, count = same_test.Side("node", root / "web/page/node.js", sys.argv[2]), [], 0
    with tempfile.TemporaryDirectory() as made:
        out = pathlib.Path(made)
        lessons.main(pathlib.Path(sys.argv[1]), out, sys.argv[3:])
        for path in sorted(out.glob("*.js")):
            ends = collections.Counter()
            for launch, request in requests(path.read_text()):
                side.ask(request)
                answer = side.answer()
                count += 1
                ends[answer["status"]] += 1
                if fault := fault_of(launch, answer):
                    faults.append(f"{path.stem}, {launch['group']}, {launch['title']}: {fault}")
            print(f"{path.stem}: {dict(ends)}")
    print("\n".join(faults))
    print(f"{count} launches, {len(faults)} end otherwise than the page says")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
