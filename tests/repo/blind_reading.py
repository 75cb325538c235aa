#!/usr/bin/env python3
"""A blind reading: passages of each note as they were and as they are, for readers who do not know which is which.

  blind_reading.py make --before COMMIT FOLDER   writes FOLDER/passages.md (pairs A and B), FOLDER/key.json (which of them is the new one)
                                                 and FOLDER/verdicts.json, where a reader writes "A", "B" or "=" for each pair
  blind_reading.py judge FOLDER                  how often the new passage was the better one; exits with 1 below 90 % of the pairs

A pair is a paragraph and the one on the same subject that has taken its place: they share words, and neither is the other. The seed decides which
of them is A (--seed); the same commits and seed give the same pages.
"""
import argparse
import difflib
import json
import pathlib
import random
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
A_NOTE, ALIKE, CHANGED, WORDS, ASKED = 5, 0.25, 0.8, 25, 0.9


def paragraphs(markdown):
    """Paragraphs and items of lists, without code, tables, pictures and headings."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", markdown, flags=re.S)
    text = re.sub(r"(?m)^(\||#|!\[|    ).*$", "", text)
    blocks = (" ".join(b.split()) for b in re.split(r"\n\s*\n|\n(?=[-*] |\d+\. )", text))
    return [b for b in blocks if len(b.split()) >= WORDS]


def stems(paragraph):
    return {w[:6] for w in re.findall(r"[a-z0-9_.:]{4,}", paragraph.lower())}


def pairs(before, after):
    """[(old, new)], in the new page's order: those that share most words, each paragraph once."""
    old, new = paragraphs(before), paragraphs(after)
    scored = []
    for i, o in enumerate(old):
        for k, n in enumerate(new):
            shared = len(stems(o) & stems(n)) / max(1, len(stems(o) | stems(n)))
            if shared >= ALIKE and difflib.SequenceMatcher(None, o.split(), n.split()).ratio() < CHANGED:
                scored.append((shared, i, k))
    chosen, used = [], (set(), set())
    for _, i, k in sorted(scored, reverse=True):
        if i not in used[0] and k not in used[1] and len(chosen) < A_NOTE:
            used[0].add(i), used[1].add(k)
            chosen.append((k, old[i], new[k]))
    return [(o, n) for _, o, n in sorted(chosen)]


def make(before, seed, folder):
    names = sorted(p.relative_to(root).as_posix() for p in (root / "notes").glob("*.md"))
    dice, key, page = random.Random(seed), {}, ["# Which of the two is easier to understand?", ""]
    for name in ["README.md", *names]:
        was = subprocess.run(["git", "show", f"{before}:{name}"], cwd=root, capture_output=True, text=True)
        if "invalid object name" in was.stderr:
            sys.exit(f"blind_reading: there is no commit {before}")
        for old, new in pairs(was.stdout, (root / name).read_text()) if was.returncode == 0 else []:
            number, swapped = str(len(key) + 1), dice.random() < 0.5
            key[number] = {"page": name, "new": "A" if swapped else "B"}
            first, second = (new, old) if swapped else (old, new)
            page += [f"## {number}", "", f"**A.** {first}", "", f"**B.** {second}", ""]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "passages.md").write_text("\n".join(page))
    (folder / "key.json").write_text(json.dumps({"before": before, "seed": seed, "pairs": key}, indent=1) + "\n")
    (folder / "verdicts.json").write_text(json.dumps(dict.fromkeys(key, ""), indent=1) + "\n")
    print(f"{len(key)} pairs of {len({k['page'] for k in key.values()})} pages are in {folder}/passages.md")


def judge(folder):
    key = json.loads((folder / "key.json").read_text())["pairs"]
    verdicts = json.loads((folder / "verdicts.json").read_text())
    if wrong := [n for n in verdicts if n not in key or verdicts[n] not in ("A", "B", "=", "")]:
        sys.exit(f"blind_reading: pair {wrong[0]}: a verdict is A, B or =")
    if missing := [n for n in key if not verdicts.get(n)]:
        sys.exit(f"blind_reading: {len(missing)} of {len(key)} pairs have no verdict yet, the first is {missing[0]}")
    better = [n for n in key if verdicts[n] == key[n]["new"]]
    worse = [n for n in key if verdicts[n] not in ("=", key[n]["new"])]
    print(f"the new passage is the better one in {len(better)} of {len(key)} pairs, {100 * len(better) / len(key):.0f} %; the old one in {len(worse)}")
    for n in worse:
        print(f"  pair {n}, {key[n]['page']}")
    return len(better) >= ASKED * len(key)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = options.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make")
    making.add_argument("--before", required=True)
    making.add_argument("--seed", type=int, default=1)
    making.add_argument("folder", type=pathlib.Path)
    commands.add_parser("judge").add_argument("folder", type=pathlib.Path)
    given = options.parse_args()
    if given.command == "make":
        make(given.before, given.seed, given.folder)
    else:
        sys.exit(0 if judge(given.folder) else 1)
