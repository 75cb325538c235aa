#!/usr/bin/env python3
"""learn_test.py BUILD: scripts/learn as a reader uses it, in a folder of its own."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import judge
import machine
import projects

build = pathlib.Path(sys.argv[1])
learn = judge.root / "scripts" / "learn"


def fail(what, text):
    sys.exit(f"{what}; it said:\n{text}")


def run(folder, *words):
    environment = dict(os.environ, GEN5_LEARN=str(folder), GEN5_LEARN_BUILD=str(build))
    done = subprocess.run([learn, "--no-setup", *words], capture_output=True, text=True, env=environment, timeout=300)
    return done.returncode, done.stdout + done.stderr


def expect(condition, what, text):
    if not condition:
        fail(what, text)


def watched(folder, exercise, number, *words):
    """Starts to watch with these words, solves the exercise that comes, and sees it go on to the one behind it."""
    log = folder / "log"
    environment = dict(os.environ, GEN5_LEARN=str(folder), GEN5_LEARN_BUILD=str(build), PYTHONUNBUFFERED="1")
    with log.open("w") as out:
        process = subprocess.Popen([learn, "--no-setup", *words], stdout=out, stderr=subprocess.STDOUT, env=environment)
    try:

        def until(said):
            end = time.monotonic() + 120
            while said not in log.read_text():
                expect(time.monotonic() < end and process.poll() is None, f"watching never says {said!r}", log.read_text())
                time.sleep(0.1)

        # The file as it came is not judged: its diagnosis would tell the answer.
        until("waiting for you")
        text, copy = log.read_text(), folder / f"{exercise.name}.cu"
        for said in (exercise.task[:40], "scripts/run 01_mbarrier --part phases", "is as it came, so it is not judged"):
            expect(said in text, f"an untouched exercise is shown without {said!r}", text)
        expect("deadlock" not in text, "an untouched exercise is judged", text)
        # A first attempt that changes nothing: the line, what happened there and the cause come first, and the fix does not come.
        copy.write_text(exercise.text + "// an attempt\n")
        until(f"scripts/learn --hint {exercise.name[:2]}")
        text = log.read_text()
        places = [text.find(said) for said in (f"[not yet] {exercise.title}: deadlock", f"  line:  {copy}:", "  there: ", "  cause: ", "error[deadlock]")]
        expect(places == sorted(places) and places[0] >= 0, f"what is wrong does not come first: {places}", text)
        expect(not re.search(r"(?m)^ +=? ?fix: ", text), "the fix is shown without asking", text)
        copy.write_text(exercise.solved())
        until(f"[right] {exercise.title}")
        until(f"== {number + 1} of ")
        text = " ".join(log.read_text().split())
        for said in (f"You know now: {exercise.knows}", f"Remember: {exercise.remember}"):
            expect(said in text, f"success is told without {said!r}", text)
    finally:
        process.kill()
        process.wait()


def project(folder):
    """scripts/learn project: the list, the task, a milestone, the leaderboard, the approaches."""
    status, text = run(folder, "project")
    expect(status == 0 and all(p.title in text for p in projects.all_projects()), "the projects", text)
    gemm = projects.all_projects()[0]
    status, text = run(folder, "project", "gemm", "--once")
    copy = folder / "gemm.cu"
    expect(status == 1 and copy.read_text() == gemm.skeleton.read_text(), "a project begins with its skeleton", text)
    for said in ("# Your own GEMM", f"  1. {gemm.milestones[0].name}: ", "[not yet] milestone 1 of 5", "  value: d[0][0] is NaN and should be "):
        expect(said in text, f"a skeleton is judged without {said!r}", text)
    copy.write_text(gemm.solution(gemm.references[0]).read_text())
    status, text = run(folder, "project", "gemm", "--once", "--milestone", "1")
    expect(status == 0 and "[right] milestone 1 of 5" in text, "a milestone that is reached", text)
    status, text = run(folder, "project", "gemm", "--board")
    expect(status == 0 and gemm.baseline["name"] in text, "--board", text)
    status, text = run(folder, "project", "gemm", "--approaches")
    expect(status == 0 and gemm.references[0]["what"] in text, "--approaches", text)
    for words, said in ((("nonsense",), "there is no project nonsense: gemm, mlp, decode"), (("gemm", "--milestone", "9"), "gemm has milestones 1 to 5")):
        status, text = run(folder, "project", *words)
        expect(status != 0 and said in text, f"{words} is refused", text)
    status, text = run(folder, "project", "gemm", "--reset")
    expect(status == 0 and copy.read_text() == gemm.skeleton.read_text(), "--reset of a project", text)


def debugged(folder, exercise):
    """An exercise whose answer is a place and a time: without an answer, with a wrong one, with what the debugger finds in the reader's program."""
    status, text = run(folder, "--once", exercise.name)
    expect(status == 1 and "[not yet]" in text and "no answer" in text, "an exercise without an answer", text)
    program = folder / "programs" / exercise.name
    expect(f"debug {program}" in text, "the command that debugs it is not told", text)
    found = machine.find(judge.Tools(build).gen5, [program], exercise.session)
    for answer, ends in ((found | {"position": "1"}, "[not yet]"), (found, "[right]")):
        copy = folder / f"{exercise.name}.cu"
        copy.write_text(judge.ANSWER.sub(lambda m: f"// answer: {m[1]} = {answer[m[1]]}", exercise.text))
        status, text = run(folder, "--once", exercise.name)
        expect(status == (ends != "[right]") and f"{ends} {exercise.title}" in text, f"the answer {answer}", text)
    status, text = run(folder, "--solution", exercise.name)
    expect(status == 0 and "(gen5) " in text, "--solution of a session", text)


def main():
    exercises = judge.all_exercises()
    first, second = exercises[:2]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        status, text = run(folder, "--list")
        expect(status == 0 and f"0 of {len(exercises)} solved" in text and f"[ ] {first.name}" in text, "--list at first", text)
        watched(folder, first, 1)
        status, text = run(folder, "--list")
        expect(f"1 of {len(exercises)} solved" in text and f"[x] {first.name}" in text, "--list behind the first", text)
        status, text = run(folder, "--hint")
        expect(" ".join(text.split()) == " ".join(second.hint.split()), "the hint is the next exercise's", text)
        status, text = run(folder, "--solution", second.name)
        expect(status == 0 and "\n+" in text, "--solution", text)
        copy = folder / f"{second.name}.cu"
        copy.write_text("this is no CUDA\n")
        status, text = run(folder, "--once")
        expect(status == 1 and "does not compile" in text, "what does not compile", text)
        status, text = run(folder, "--reset", second.name)
        expect(status == 0 and not copy.exists(), "--reset", text)
        status, text = run(folder, "--reset", "all")
        status, text = run(folder, "--list")
        expect(f"0 of {len(exercises)} solved" in text, "--reset all", text)
        # The fix that the last diagnosis named comes with the hint.
        status, text = run(folder, "--once", first.name)
        expect(status == 1 and "[not yet]" in text, "--once judges an untouched file", text)
        status, text = run(folder, "--hint", first.name)
        expect("The diagnosis says: " in text, "--hint behind a diagnosis", text)
        project(folder)
        # A reader who begins with the third is not sent back to the first.
        watched(folder, exercises[2], 3, exercises[2].name)
        debugged(folder, next(e for e in exercises if e.session))
        status, text = run(folder, "nonsense")
        expect(status != 0 and "names 0 exercises" in text, "a name that is not there", text)
    print("scripts/learn picks, judges, goes on, lists and resets")


if __name__ == "__main__":
    main()
