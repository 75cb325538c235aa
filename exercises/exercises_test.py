#!/usr/bin/env python3
"""exercises_test.py BUILD: every exercise fails as it says before its solution, and is right behind it; so are other right solutions of
the longer ones, and the usual wrong ones end as they say.

Judged by exercises/judge.py as scripts/learn judges them, with fewer random orders; compiled together (combine.py).
"""
import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile

import judge
import machine

SEEDS = 1


def faults(tools, programs, exercise):
    """Sentences about what is not as promised."""
    out = []
    unsolved = judge.judge(tools, exercise, [programs / "exercises_unsolved", exercise.name], 0)
    if not set(exercise.says.split(", ")) <= set(unsolved.ends.split(", ")):
        out.append(f"{exercise.name}: unsolved it should end in {exercise.says}, and ends in {unsolved.ends}\n{unsolved.text}")
    if exercise.session:
        out += answers_judged(tools, exercise, [programs / "exercises_unsolved", exercise.name])
        solved = judge.Verdict("right", "")
    else:
        solved = judge.judge(tools, exercise, [programs / "exercises_solved", exercise.name], SEEDS)
    if solved.ends != "right":
        out.append(f"{exercise.name}: its solution ends in {solved.ends}\n{solved.text}")
    elif exercise.budget and solved.cycles > 0.97 * exercise.budget:
        out.append(f"{exercise.name}: its solution takes {solved.cycles} cycles: the budget of {exercise.budget} leaves no room")
    sentences = len(re.findall(r"[.!?](?:\s|$)", exercise.task))
    if not 2 <= sentences <= 5:
        out.append(f"{exercise.name}: a task has about three sentences, and this has {sentences}")
    return out


# Where the standard has what exercises use; exercise.h has <vector>.
HEADERS = {"bit": ("bit_cast",), "cmath": ("abs", "exp2", "isinf", "isnan", "ldexp"), "algorithm": ("max", "min", "ranges"), "cstdio": ("printf",), "vector": ("vector",)}


def missing_headers(exercise):
    """A reader compiles an exercise alone, and not joined with the others as here: it includes what it uses."""
    header = {name: h for h, names in HEADERS.items() for name in names}
    included = set(re.findall(r"^#include <(\w+)>", exercise.text, re.M)) | {"vector"}
    out = []
    for name in sorted(set(re.findall(r"\bstd::(\w+)", exercise.text))):
        if name not in header:
            out.append(f"{exercise.name}: std::{name} is new here: which header has it?")
        elif header[name] not in included:
            out.append(f"{exercise.name}: std::{name} needs #include <{header[name]}>")
    return out


def as_told(tools, programs, variant):
    """The same of another solution: a right one is right, and a wrong one ends as it says, in words that help."""
    command = [programs / "exercises_others", variant.name]
    if variant.right:
        verdict = judge.judge(tools, variant.exercise, command, SEEDS)
        return [] if verdict.ends == "right" else [f"{variant.name}: right, and ends in {verdict.ends}\n{verdict.summary(variant.title)}{verdict.text}"]
    verdict = judge.judge(tools, variant.exercise, command, 0)
    told = verdict.summary(variant.title) + verdict.text
    out = []
    if not set(variant.says.split(", ")) <= set(verdict.ends.split(", ")):
        out.append(f"{variant.name}: it should end in {variant.says}, and ends in {verdict.ends}\n{told}")
    elif not re.search(variant.tells, told):
        out.append(f"{variant.name}: its reader is not told {variant.tells!r}\n{told}")
    if re.search(r"(?m)^ +=? ?fix: ", told):
        out.append(f"{variant.name}: its reader is shown the fix without asking\n{told}")
    return out


def answers_judged(tools, exercise, command):
    """The solution's session finds the right answers; other answers are wrong, and a sentence says so."""
    try:
        found = machine.find(tools.gen5, command, exercise.session)
    except machine.Wrong as fault:
        return [f"{exercise.name}: the session of its solution fails: {fault}"]

    def verdict(**other):
        return judge.judge(tools, exercise, command, text=judge.ANSWER.sub(lambda m: f"// answer: {m[1]} = {(found | other)[m[1]]}", exercise.text))

    out = [] if (right := verdict()).ends == "right" else [f"{exercise.name}: {found} should be right: {right.ends}: {right.text}"]
    for name in judge.answers(exercise.text):
        beside = [int(found[name]) + 1, int(found[name]) - 1, 10**9] if found[name].isdigit() else [0, 1]
        for other in [*beside, "word"]:
            wrong = verdict(**{name: other})
            if wrong.ends != "wrong answer" or not re.match(r"[A-Z`].*[.?]\n$", wrong.text, re.S):
                out.append(f"{exercise.name}: {name} = {other} instead of {found[name]} is answered by {wrong.ends}: {wrong.text}")
    changed = judge.judge(tools, exercise, command, text=exercise.text.replace("__global__ void ", "__global__ void other_", 1))
    if changed.ends != "another program":
        out.append(f"{exercise.name}: a changed kernel is answered by {changed.ends}: {changed.text}")
    return out


def unreadable(exercise):
    """What `read:` names and is not there: parts of chapters, steps of chapter 13, files."""
    out = []
    for place, number, parts in judge.places(exercise):
        folders = sorted((judge.root / "chapters").glob(f"{number}_*")) if number else []
        chapter = "\n".join(f.read_text() for folder in folders for f in folder.iterdir() if f.suffix in (".cu", ".cpp", ".h"))
        if number and not folders:
            out.append(f"{exercise.name}: there is no chapter {number}")
        for match in re.finditer(r"(?:notes|chapters|common)/[\w/.]+\.\w+", place):
            if not (judge.root / match[0]).is_file():
                out.append(f"{exercise.name}: there is no {match[0]}")
        out += [f"{exercise.name}: chapter has no part {part}: {exercise.read}" for part in parts if f'part("{part}"' not in chapter]
    if any(parts for _, _, parts in judge.places(exercise)) and not judge.commands(exercise):
        out.append(f"{exercise.name}: what it says to read makes no command")
    return out


def endless(exercise):
    """A program that never ends is ended with all that it has started, and run again with few cycles."""
    first, judge.FIRST = judge.FIRST, 1
    with tempfile.TemporaryDirectory() as folder:
        pid = pathlib.Path(folder) / "pid"
        lines = {judge.MAX_CYCLES: ["bash", "-c", f"sleep 300 & echo $! > {pid}; wait"], exercise.most: ["echo", "few cycles"]}
        done = judge.run_to_its_end(exercise, lines.get, 60)
        alive = pathlib.Path(f"/proc/{pid.read_text().strip()}/stat")
        out = [] if done == (0, "few cycles\n", "") else [f"a program that never ends ends in {done}"]
        if alive.exists() and alive.read_text().split()[2] != "Z":
            out.append("a program that took too long is still there")
    judge.FIRST = first
    return out


def main():
    build = pathlib.Path(sys.argv[1])
    tools, exercises = judge.Tools(build), judge.all_exercises()
    numbers = [int(e.name.split("_")[0]) for e in exercises]
    out = [] if numbers == list(range(1, len(exercises) + 1)) else [f"exercises are not numbered from 1 on: {numbers}"]
    out += [fault for e in exercises for fault in unreadable(e)]
    out += [fault for e in exercises for fault in missing_headers(e)]
    out += endless(exercises[0])
    if len(exercises) < 40:
        out.append(f"there are {len(exercises)} exercises")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(lambda e: faults(tools, build / "bin", e), exercises):
            out += found
        others = [v for e in exercises for v in e.variants()]
        for found in pool.map(lambda v: as_told(tools, build / "bin", v), others):
            out += found
    longer = {v.exercise.name for v in others}
    if not 6 <= len(longer) <= 10:
        out.append(f"{len(longer)} exercises have others.txt")
    for name in longer:
        mine = [v for v in others if v.exercise.name == name]
        if sum(v.right for v in mine) < 1 or sum(not v.right for v in mine) < 3:
            out.append(f"{name}: a longer exercise has another right solution and three wrong ones")
    ring = next(e for e in exercises if e.name == "07_stuck_ring")
    drawn = judge.timeline(tools, ring, [build / "bin" / "exercises_unsolved", ring.name])
    for lane in ("warp 0 cp.async.bulk load +0+\\n +1+\\n +2+\\n", "warp 1 +w *w *w\\n"):
        if not re.search(lane, drawn):
            out.append(f"the timeline of a ring that stands still has no {lane!r}:\n{drawn}")
    print("\n".join(out) or f"{len(exercises)} exercises fail as they say, and their solutions are right")
    return 1 if out else 0


if __name__ == "__main__":
    sys.exit(main())
