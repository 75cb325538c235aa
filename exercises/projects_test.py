#!/usr/bin/env python3
"""projects_test.py BUILD [--all] [--write]: reference solutions reach the milestones that they are said to reach, and no more, in the
cycles that are said.

Without --all: the milestones that run under all checks, of the last reference solution of each project. With it, all milestones of
all, the cycles of the leaderboard's size, and the baseline. --write puts the cycles into project.json instead of comparing them.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import judge
import projects

TOLERANCE = 0.05  # of cycles: they follow every number of the machine's profile


def near(got, said):
    return abs(got - said) <= TOLERANCE * said


def quick(tools, project, command):
    """The last reference solution under all checks, and what a skeleton is told."""
    out = []
    for place, milestone in enumerate(project.milestones, 1):
        if milestone.check:
            verdict = projects.judge_milestone(tools, milestone, command, 0)
            if verdict.ends != "right":
                out.append(f"{project.name}, milestone {place}: {verdict.ends}\n{verdict.summary(milestone.name)}{verdict.text}")
    return out


def thorough(tools, project, reference, command):
    reached = 0
    for milestone in project.milestones:
        verdict = projects.judge_milestone(tools, milestone, command, 2)
        if verdict.ends != "right":
            print(f"{project.name}, {reference['name']}: {milestone.name} ends in {verdict.ends}: {verdict.seen}", flush=True)
            break
        reached += 1
    right, said, kernels = projects.measure(tools, [*command, *project.board["run"].split()])
    return reached, projects.cycles_of(kernels), [] if right else [f"{project.name}, {reference['name']}: wrong at the board's size\n{said}"]


def baseline(build, project):
    """What the chapter's program says that it takes."""
    words = project.baseline["program"].split()
    done = subprocess.run([build / "bin" / words[0], *words[1:], "--json"], capture_output=True, text=True, env={"GEN5_DEVICE": "tinygpu"})
    found = re.search(rf'"{re.escape(project.baseline["key"])}": ([0-9.]+)', done.stdout)
    return int(float(found[1])) if found else 0


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("--all", action="store_true")
    options.add_argument("--write", action="store_true")
    arguments = options.parse_args()
    tools, out = judge.Tools(arguments.build), []
    program = arguments.build / "bin" / "projects_solved"
    for project in projects.all_projects():
        for reference in project.references if arguments.all else []:
            reached, cycles, faults = thorough(tools, project, reference, [program, f"{project.name}.{reference['name']}"])
            out += faults
            print(f"{project.name}, {reference['name']}: {cycles:,} cycles, {reached} milestones", flush=True)
            if arguments.write:
                reference["cycles"], reference["milestones"] = cycles, reached
            elif reached != reference["milestones"] or not near(cycles, reference["cycles"]):
                out.append(f"{project.name}, {reference['name']}: said are {reference['cycles']:,} cycles and {reference['milestones']} milestones")
        if arguments.all and project.baseline:
            cycles = baseline(arguments.build, project)
            print(f"{project.name}: {project.baseline['name']} takes {cycles:,} cycles", flush=True)
            if arguments.write:
                project.baseline["cycles"] = cycles
            elif not near(cycles, project.baseline["cycles"]):
                out.append(f"{project.name}: said are {project.baseline['cycles']:,} cycles for {project.baseline['name']}")
        if arguments.write:
            file = project.folder / "project.json"
            text = file.read_text()
            for entry in [*project.references, *([project.baseline] if project.baseline else [])]:
                text = re.sub(rf'("name": "{re.escape(entry["name"])}".*?"cycles": )\d+', rf"\g<1>{entry['cycles']}", text)
                if "milestones" in entry:
                    text = re.sub(rf'("name": "{re.escape(entry["name"])}".*?"milestones": )\d+', rf"\g<1>{entry['milestones']}", text)
            file.write_text(text)
        if not arguments.all:
            out += quick(tools, project, [program, f"{project.name}.{project.references[-1]['name']}"])
        if not any(r["milestones"] == len(project.milestones) for r in project.references):
            out.append(f"{project.name}: no reference solution is said to reach all milestones")
        if sum(not m.check for m in project.milestones) < 1 or len(project.milestones) < 4:
            out.append(f"{project.name}: too few milestones")
        if {f.stem for f in (project.folder / "solutions").glob("*.cu")} != {r["name"] for r in project.references}:
            out.append(f"{project.name}: project.json and solutions/ differ")
    out += leaderboard(tools)
    print("\n".join(out) or "the projects' reference solutions do what is said of them")
    return 1 if out else 0


def leaderboard(tools):
    """Two names, of whom one gets better and then worse."""
    project, out = projects.all_projects()[0], []
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        best = [projects.enter(work, project, who, cycles) for who, cycles in (("ann", 900), ("bob", 800), ("ann", 700), ("ann", 950))]
        if best != [True, True, True, False]:
            out.append(f"the best so far: {best}")
        rows = re.findall(r"(?m)^ +\d+ +([\d,]+)  (\w+)", projects.board(work, project))
        if [r for r in rows if r[1] in ("ann", "bob")] != [("700", "ann"), ("800", "bob")]:
            out.append(f"the leaderboard is {rows}")
        (work / "leaderboard.json").write_text("no json")
        if projects.board_entries(work):
            out.append("a broken leaderboard is read")
    said = projects.approaches(project)
    for reference in project.references:
        if f"{reference['cycles']:,}  {reference['what']}" not in said:
            out.append(f"--approaches lacks {reference['name']}")
    return out


if __name__ == "__main__":
    sys.exit(main())
