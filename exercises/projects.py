"""Projects, for scripts/learn: larger pieces with milestones, judged by behaviour, and a leaderboard of predicted cycles.

A project is a folder projects/NN_name:

task.md          what is to be made, milestone by milestone
skeleton.cu      the file that a reader begins with (projects/project.h)
project.json     its title, its milestones, the size of the leaderboard, and the reference solutions with their cycles
approaches.md    how others might do it: shown by --approaches, with the reference solutions' cycles
solutions/*.cu   the reference solutions, which the tests run and which nothing shows by itself
"""
import argparse
import datetime
import json
import pathlib
import shutil
import tempfile
import time

import judge

PROJECTS = judge.root / "projects"


class Milestone:
    """One step of a project: arguments of its program, each run with all checks if `check`, and a budget of cycles or 0."""

    def __init__(self, fields):
        self.name, self.what = fields["name"], fields["what"]
        self.runs, self.check, self.budget = [r.split() for r in fields["runs"]], fields.get("check", False), fields.get("cycles", 0)
        self.most = max(3_000_000, 10 * self.budget)
        self.text = "__global__"  # judge.check: there is a kernel to check


class Project:
    def __init__(self, folder):
        known = json.loads((folder / "project.json").read_text())
        self.folder, self.name, self.short = folder, folder.name, folder.name.split("_", 1)[1]
        self.title, self.board, self.baseline = known["title"], known["board"], known.get("baseline")
        self.milestones = [Milestone(m) for m in known["milestones"]]
        self.references = known["references"]
        self.skeleton = folder / "skeleton.cu"

    def solution(self, reference):
        return self.folder / "solutions" / f"{reference['name']}.cu"


def all_projects():
    return [Project(f) for f in sorted(PROJECTS.glob("[0-9]*_*")) if f.is_dir()]


def measure(tools, command, seconds=600):
    """Runs it once as timed: whether its numbers are right, what it said, and each kernel's profile."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "profile.json"
        status, out, err = judge.run([tools.gen5, "run", "--profile-json", file, "--max-cycles", judge.MAX_CYCLES, *command], seconds)
        return status == 0, out + err, json.loads(file.read_text()) if file.exists() else []


def cycles_of(kernels):
    return sum(k["cycles"] for k in kernels)


def judge_milestone(tools, milestone, command, seeds=2):
    """A judge.Verdict of all runs of a milestone."""
    cycles = 0
    for words in milestone.runs:
        line = [*command, *words]
        if milestone.check:
            ends, text, findings = judge.check(tools, milestone, line, seeds)
            if ends != "right":
                seen = judge.wrong_value(tools, milestone, line, text, "project") if ends == "wrong numbers" else ""
                return judge.Verdict(ends, f"With {' '.join(words)}:\n{text}", findings=findings, seen=seen, cause=judge.cause_of_wrong_numbers(seen) if seen else "")
            continue
        right, text, kernels = measure(tools, line)
        if not right:
            return judge.Verdict("wrong numbers", f"With {' '.join(words)}:\n{text}", seen=judge.sentence(text, "project"), cause=judge.cause_of_wrong_numbers(judge.sentence(text, "project")))
        cycles = cycles_of(kernels)
        if milestone.budget and cycles > milestone.budget:
            seen = f"{cycles:,} cycles; the budget is {milestone.budget:,}"
            return judge.Verdict("too slow", f"With {' '.join(words)}:\n{judge.waits(kernels)}\n", cycles, seen=seen, cause=judge.longest_wait(kernels))
    return judge.Verdict("right", "", cycles)


# ---- The leaderboard: a file of the reader's own


def board_entries(work):
    try:
        return json.loads((work / "leaderboard.json").read_text())
    except (OSError, ValueError):
        return []


def enter(work, project, who, cycles):
    """Adds a run, unless it is no better than what `who` has there. True if it is the best of all."""
    entries = board_entries(work)
    mine = [e for e in entries if e["project"] == project.name]
    best = min((e["cycles"] for e in mine), default=None)
    if not any(e["name"] == who and e["cycles"] <= cycles for e in mine):
        entries = [e for e in entries if not (e["project"] == project.name and e["name"] == who)]
        entries.append({"project": project.name, "name": who, "cycles": cycles, "date": datetime.date.today().isoformat()})
        (work / "leaderboard.json").write_text(json.dumps(entries, indent=1) + "\n")
    return best is None or cycles < best


def board(work, project):
    rows = [(e["cycles"], e["name"], e["date"]) for e in board_entries(work) if e["project"] == project.name]
    if project.baseline:
        rows.append((project.baseline["cycles"], project.baseline["name"], ""))
    lines = [f"{project.title}: predicted cycles of {project.board['what']}", ""]
    lines += [f"  {place:2}  {cycles:>11,}  {name:32} {date}".rstrip() for place, (cycles, name, date) in enumerate(sorted(rows), 1)]
    return "\n".join(lines if rows else [*lines, "  no run yet"])


def approaches(project):
    """The write-up, and what the reference solutions take."""
    lines = [(project.folder / "approaches.md").read_text().rstrip(), "", f"Predicted cycles of {project.board['what']}:", ""]
    for r in sorted(project.references, key=lambda r: r["cycles"]):
        lines.append(f"  {r['cycles']:>11,}  {r['what']}; passes {r['milestones']} of {len(project.milestones)} milestones")
    return "\n".join(lines)


# ---- scripts/learn project


def pick(name):
    found = [p for p in all_projects() if name in (p.name, p.short, p.name.split("_")[0]) or p.short.startswith(name)]
    if len(found) != 1:
        raise judge.Error(f"there is no project {name}: " + ", ".join(p.short for p in all_projects()))
    return found[0]


def judge_file(tools, project, file, work, who, one=None, shown=str):
    """Judges the milestones in order until one is not reached. True if all asked for are."""
    program = work / "programs" / project.name
    program.parent.mkdir(parents=True, exist_ok=True)
    said = tools.build(file, program)
    if said is not None:
        print(f"{said}\n[not yet] {shown(file)} does not compile")
        return False
    reached = True
    for place, milestone in enumerate(project.milestones, 1):
        if one and place != one:
            continue
        begin = time.monotonic()
        verdict = judge_milestone(tools, milestone, [program])
        title = f"milestone {place} of {len(project.milestones)}, {milestone.name}"
        if verdict.ends != "right":
            print(verdict.summary(title))
            print(verdict.text)
            print(f"[not yet] {title}: {milestone.what}")
            reached = False
            break
        taken = f", {verdict.cycles:,} cycles" + (f" of {milestone.budget:,}" if milestone.budget else "") if verdict.cycles else ""
        print(f"[right] {title}{taken} ({time.monotonic() - begin:.0f} s)", flush=True)
    # What is right but slow may stand on the leaderboard.
    if not one and (reached or verdict.ends == "too slow"):
        right, _, kernels = measure(tools, [program, *project.board["run"].split()])
        if right:
            best = enter(work, project, who, cycles_of(kernels))
            print(f"\n{board(work, project)}" + ("\n\nThat is the best of your runs so far." if best else ""))
    return reached


def main(words, work, tools_of, shown=str):
    options = argparse.ArgumentParser(
        prog="scripts/learn project",
        description="Larger pieces: " + "; ".join(f"{p.short}: {p.title}" for p in all_projects()) + ". Copies a skeleton to learn/, judges its milestones each time you save, "
        "and keeps a leaderboard of predicted cycles in learn/leaderboard.json.",
    )
    options.add_argument("name", nargs="?", help="which; without one, all are listed")
    options.add_argument("--once", action="store_true", help="judge the file as it is now and exit: 0 if all milestones are reached")
    options.add_argument("--milestone", type=int, help="judge this one alone")
    options.add_argument("--board", action="store_true", help="the leaderboard")
    options.add_argument("--as", dest="who", default="you", help="the name on the leaderboard")
    options.add_argument("--approaches", action="store_true", help="how others might do it, and what that takes")
    options.add_argument("--reset", action="store_true", help="the file as it was at first")
    arguments = options.parse_args(words)
    if not arguments.name:
        for p in all_projects():
            print(f"  {p.short:10} {p.title}: {len(p.milestones)} milestones")
        print("\nscripts/learn project NAME begins one")
        return 0
    project = pick(arguments.name)
    file = work / f"{project.short}.cu"
    if arguments.milestone and not 1 <= arguments.milestone <= len(project.milestones):
        raise judge.Error(f"{project.short} has milestones 1 to {len(project.milestones)}")
    if arguments.approaches or arguments.board:
        print(approaches(project) if arguments.approaches else board(work, project))
        return 0
    work.mkdir(parents=True, exist_ok=True)
    if arguments.reset or not file.exists():
        shutil.copyfile(project.skeleton, file)
        if arguments.reset:
            print(f"{shown(file)} is as it was")
            return 0
    print((project.folder / "task.md").read_text())
    for place, m in enumerate(project.milestones, 1):
        print(f"  {place}. {m.name}: {m.what}" + (f", at most {m.budget:,} cycles" if m.budget else ""))
    print(f"\n  file: {shown(file)}\n")
    tools = tools_of()
    if arguments.once:
        return 0 if judge_file(tools, project, file, work, arguments.who, arguments.milestone, shown) else 1
    last = None
    while True:
        stamp = file.stat().st_mtime_ns if file.exists() else None
        if stamp is not None and stamp != last:
            last = stamp
            if file.read_text() == project.skeleton.read_text():
                print(f"{shown(file)} is as it came, so it is not judged.")
            elif judge_file(tools, project, file, work, arguments.who, arguments.milestone, shown):
                return 0
            print(f"\nwaiting for you to change {shown(file)} …", flush=True)
        time.sleep(0.3)
