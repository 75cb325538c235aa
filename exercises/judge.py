"""Exercises and their judge: what scripts/learn and the tests share.

An exercise is a folder exercises/NN_topic with these files. Its answer is code, or a place and a time that one finds with gen5 debug.

exercise.cu   a comment with the title, the task, and if need be a table behind it; a kernel with a hole; judge(), the host's check
solution.txt  fields, one a line, and the solution as a diff or as a session of the debugger:
                read:      what a reader should have read before
                hint:      one or two sentences
                says:      how the unsolved exercise ends: a diagnosis's code, `wrong numbers`, `too slow` or `no answer`
                cycles:    (optional) the budget of all launches together, as timed
                knows:     what a reader knows who has solved it
                remember:  and the rule to keep, each in a sentence
                @@         from here on lines with -, + or a space, as in chapters/*/mistakes.txt
                session:   from here on commands of `gen5 debug`, and behind a command what is taken from its answer:
                           NAME = PATTERN, or NAME is VALUE where PATTERN (machine.py)
judge.py      (with a session) verdict(machine, answer), which judges what stands in lines `// answer: NAME = VALUE` of the reader's exercise.cu
others.txt    (optional, of longer exercises) other right solutions and the usual wrong ones, for the tests:
                right NAME: what it does otherwise, or wrong NAME: what is wrong
                says:      how a wrong one ends
                tells:     a regular expression that what its reader is shown matches
                from:      `hole`: the diff changes exercise.cu, and not the solution
                @@         as above
"""
import importlib.util
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "cmake"))
import make_mistakes  # noqa: E402  how a diff is applied

import machine  # noqa: E402

FIELDS = ("read", "hint", "says", "cycles", "knows", "remember")
VARIANT_FIELDS = ("says", "tells", "from")


MAX_CYCLES = 20_000_000_000  # ten seconds of a B200: a deadlock is told as such after two
MOST_OF_A_RUN = 120  # seconds
FIRST = 30  # seconds of the clock for a run; one that takes longer is run again with few cycles


class Error(Exception):
    pass


def changed(lines, hunks, name):
    """The text of `lines` (text, path, number) with the diffs applied."""
    for hunk in hunks:
        try:
            lines, _, _ = make_mistakes.apply(hunk, lines)
        except make_mistakes.Error as error:
            raise Error(f"{name}: {error}")
    return "\n".join(text for text, _, _ in lines) + "\n"


def numbered(text, path):
    return [(line, path, i) for i, line in enumerate(text.splitlines(), 1)]


class Reader:
    """Reads fields, one a line, and diffs behind @@, or a session of the debugger behind `session:`."""

    def __init__(self, path, names):
        self.path, self.names, self.fields, self.hunks, self.session = path, names, {}, [], []
        self.field = self.hunk = None

    def take(self, line, number):
        if line == "@@":
            self.hunk = make_mistakes.Hunk("exercise.cu", "it", number)
            self.hunks.append(self.hunk)
        elif self.hunk is not None:
            if line and line[0] not in " +-":
                raise Error(f"{self.path}:{number}: a line of a diff begins with a space, + or -")
            self.hunk.rows.append((line[:1] or " ", line[1:], number))
        elif line == "session:":
            self.field = "session"
        elif self.field == "session":
            self.step(line, number)
        elif match := re.fullmatch(r"([a-z]+): *(.*)", line):
            self.field = match[1]
            if self.field not in self.names:
                raise Error(f"{self.path}:{number}: no such field: {self.field}")
            self.fields[self.field] = match[2]
        elif self.field and line.startswith(" "):
            self.fields[self.field] += " " + line.strip()
        elif line:
            raise Error(f"{self.path}:{number}: not understood: {line}")

    def step(self, line, number):
        """A command of a session, or behind it what to take from its answer."""
        take = re.fullmatch(r"    (\w+)(?: is (\S+) where| =) (.+)", line)
        if take and self.session:
            self.session[-1][1].append(take.groups())
        elif line.startswith("  ") and line[2:3].strip():
            self.session.append((line.strip(), []))
        else:
            raise Error(f"{self.path}:{number}: neither a command nor what is taken from its answer: {line}")

    def done(self, needed):
        for name in needed:
            if not self.fields.get(name):
                raise Error(f"{self.path} lacks `{name}:`")
        if bool(self.hunks) == bool(self.session):
            raise Error(f"{self.path} has no diff and no session, or both")


class Variant:
    """Another solution of an exercise: `right`, or wrong and what is said of it."""

    def __init__(self, exercise, right, name, title, reader):
        self.exercise, self.right, self.short, self.title = exercise, right, name, title
        self.name = f"{exercise.name}.{name}"
        self.says, self.tells = reader.fields.get("says", ""), reader.fields.get("tells", "")
        self.text = changed(numbered(exercise.text if reader.fields.get("from") == "hole" else exercise.solved(), exercise.source), reader.hunks, self.name)


class Exercise:
    """One folder, read. Throws Error where its files are not as described above."""

    def __init__(self, folder):
        self.folder, self.name = folder, folder.name
        self.source = folder / "exercise.cu"
        self.text = self.source.read_text()
        lines = self.text.splitlines()
        end = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
        comment = [line[2:].removeprefix(" ").rstrip() for line in lines[:end]]
        if len(comment) < 3 or comment[1]:
            raise Error(f"{self.source} does not begin with a title, an empty line and a task")
        last = comment.index("", 2) if "" in comment[2:] else len(comment)
        self.title, self.task = comment[0].rstrip("."), " ".join(line for line in comment[2:last] if not line.startswith("answer: "))
        self.table = "\n".join(comment[last + 1 :])  # shown as it stands
        reader = Reader(folder / "solution.txt", FIELDS)
        for number, line in enumerate(reader.path.read_text().splitlines(), 1):
            reader.take(line, number)
        reader.done(("read", "hint", "says", "knows", "remember"))
        self.fields, self.hunks, self.session = reader.fields, reader.hunks, reader.session
        if self.session and not answers(self.text):
            raise Error(f"{self.source} has no line `// answer: NAME = ?`")
        self.budget = int(self.fields.get("cycles", "0"))
        # A loop that nothing ends is told after so many cycles; the slowest solution without a budget takes 60,000.
        self.most = max(300_000, 10 * self.budget)

    def __getattr__(self, name):
        if name in FIELDS:
            return self.fields[name]
        raise AttributeError(name)

    def solved(self):
        """The source with the hole filled."""
        return changed(numbered(self.text, self.source), self.hunks, self.name)

    def variants(self):
        """Other right solutions, and the usual wrong ones."""
        path, found = self.folder / "others.txt", []
        if not path.exists():
            return []
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := re.fullmatch(r"(right|wrong) ([a-z-]+): (.+)", line):
                found.append((*match.groups(), Reader(path, VARIANT_FIELDS)))
            elif line or (found and found[-1][3].hunk):
                if not found:
                    raise Error(f"{path}:{number}: not understood: {line}")
                found[-1][3].take(line, number)
        for kind, name, _, reader in found:
            for hunk in reader.hunks:
                while hunk.rows and not hunk.rows[-1][1].strip():  # the empty line before the next
                    hunk.rows.pop()
            reader.done(("says", "tells") if kind == "wrong" else ())
        return [Variant(self, kind == "right", name, title, reader) for kind, name, title, reader in found]

    def words(self):
        """Answers that may be words."""
        return [name for _, takes in self.session for name, value, _ in takes if value and not value.isdigit()]

    def judge_module(self):
        spec = importlib.util.spec_from_file_location(f"judge_of_{self.name}", self.folder / "judge.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def solution(self):
        """The solution as a reader sees it."""
        if self.session:
            shown = [(f"(gen5) {line}", [f"  {name}: {value or 'in the answer'}" for name, value, _ in takes if name in answers(self.text)]) for line, takes in self.session]
            return "\n".join("\n".join([line, *takes]) for line, takes in shown)
        return "\n".join("\n".join((sign + text).rstrip() for sign, text, _ in h.rows) for h in self.hunks)


ANSWER = re.compile(r"^// answer: (\w+) = *(.*?) *$", re.M)


def answers(text):
    """What a reader has written down, by name: numbers, words, or None where there is a question mark still."""

    def value(text):
        number = re.sub(r"[,'_]", "", text)
        return None if text in ("", "?") else int(number, 0) if re.fullmatch(r"-?(0x[0-9a-fA-F]+|0|[1-9]\d*)", number) else text

    return {name: value(text) for name, text in ANSWER.findall(text)}


def places(exercise):
    """What `read:` names: (text, number of the chapter or None, its parts) for each place, in order."""
    found, number = [], None
    for place in exercise.read.replace(";", ",").split(","):
        if match := re.search(r"chapter (\d\d)", place):
            number = match[1]
        parts = re.search(r"parts? ([a-z_0-9]+)(?: and ([a-z_0-9]+))?", place)
        found.append((place.strip(), number, [p for p in parts.groups() if p] if parts else []))
    return found


def commands(exercise):
    """The parts of chapters that `read:` names, as a reader runs them; of chapter 13's steps, what each adds in code (from the second on)."""
    out = []
    for place, number, parts in places(exercise):
        if number == "13" and (steps := re.search(r"steps? (\d)(?:( and | to )(\d))?", place)):
            first, last = int(steps[1]), int(steps[3] or steps[1])
            out += [f"scripts/run gemm --diff {step}" for step in range(max(2, first), last + 1)]
        for folder in sorted((root / "chapters").glob(f"{number}_*")) if parts else []:
            out += [f"scripts/run {folder.name} --part {part}" for part in parts]
    return out


def all_exercises():
    return [Exercise(f) for f in sorted((root / "exercises").glob("[0-9]*_*")) if f.is_dir()]


class Tools:
    """How this build compiles, links and checks; made by exercises/CMakeLists.txt."""

    def __init__(self, build):
        known = json.loads((build / "exercises" / "build.json").read_text())
        self.compile_line, self.link_line, self.gen5 = known["compile"], known["link"], known["gen5"]

    def build(self, source, program):
        """Returns what the compiler said, or None when there is a program."""
        made = pathlib.Path(str(program) + ".o")
        for line in ([*self.compile_line, "-o", str(made), str(source)], [self.link_line[0], "-o", str(program), str(made), *self.link_line[1:]]):
            run = subprocess.run(line, capture_output=True, text=True)
            if run.returncode != 0:
                return run.stdout + run.stderr
        return None


class Finding:
    """What a diagnosis says, as a reader needs it: the sentence, what was seen there, the place, and apart from these the fix."""

    def __init__(self, result):
        place = result["locations"][0] if result.get("locations") else {}
        physical = place.get("physicalLocation", {})
        self.code, self.cause = result["ruleId"], result["properties"]["message"]
        self.seen = place.get("properties", {}).get("label", "")
        self.file = pathlib.Path("/" + physical.get("artifactLocation", {}).get("uri", "").removeprefix("file://").lstrip("/"))
        if physical.get("artifactLocation", {}).get("uriBaseId"):
            self.file = root / physical["artifactLocation"]["uri"]
        self.line = physical.get("region", {}).get("startLine", 0)
        self.fix = result["properties"].get("help", "")


def without_coverage(text):
    """Without what gen5 check has not put to the test: sizes are the exercise's, and no matter of its reader's."""
    return re.sub(r"(?ms)^Not put to the test.*?(?:\n\n|\Z)", "", text)


def without_fixes(text):
    """What gen5 check has said, without the lines that name a fix: a reader asks for these with --hint."""
    lines, inside = [], False
    for line in text.splitlines():
        inside = bool(re.match(r"[ |]+=? ?fix: ", line)) or (inside and bool(re.match(r"[ |]{8,}[^ |=]", line)))
        if not inside:
            lines.append(line)
    return "\n".join(lines) + "\n"


class Verdict:
    """`ends`: "right", or how it ends instead, as in `says:` (codes in alphabetical order). `seen`: the value that is wrong, `cause`: why.
    `text`: all that was said, without fixes; `fixes`: these."""

    def __init__(self, ends, text, cycles=None, findings=(), seen="", cause=""):
        self.ends, self.text, self.cycles, self.seen, self.cause = ends, without_fixes(text), cycles, seen, cause
        self.file, self.line, self.fixes = None, 0, [f.fix for f in findings if f.fix]
        if findings:
            first = findings[0]
            self.seen, self.cause, self.file, self.line = first.seen, first.cause, first.file, first.line

    def summary(self, title):
        """The wrong value, the line and the cause."""
        lines = [f"[not yet] {title}: {self.ends}"]
        if self.seen and not self.line:
            lines.append(f"  value: {self.seen}")
        if self.line and self.file.is_file():
            code = "".join(self.file.read_text().splitlines()[self.line - 1 : self.line]).strip()
            lines.append(f"  line:  {from_here(self.file)}:{self.line}:  {code}")
        if self.seen and self.line:
            lines.append(f"  there: {self.seen}")
        if self.cause:
            lines.append(f"  cause: {self.cause}")
        return "\n".join(lines) + "\n"


def from_here(path):
    """As one writes it in this folder, if it lies in it or below."""
    path = pathlib.Path(path)
    return path.relative_to(pathlib.Path.cwd()) if path.is_relative_to(pathlib.Path.cwd()) else path


def run(line, seconds):
    """Its exit code, what it printed, what it printed on stderr. Ends what it has started, too, where that takes too long."""
    process = subprocess.Popen([str(w) for w in line], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out, err
    except BaseException as fault:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(fault, subprocess.TimeoutExpired):
            return -1, f"no end after {seconds} s\n", ""
        raise


def run_to_its_end(exercise, line, seconds):
    """The same of `line(most cycles)`. A wait that nothing ends is told as a deadlock, in far off cycles that take no time; a loop that works
    and never ends takes all the time there is, and is told after `exercise.most` cycles."""
    done = run(line(MAX_CYCLES), FIRST)
    return done if done[0] != -1 else run(line(exercise.most), seconds)


def timeline(tools, exercise, command, seconds=120):
    """What happened in its last launch, drawn; empty where nothing has a lane."""
    _, drawn, _ = run_to_its_end(exercise, lambda most: [tools.gen5, "run", "--max-cycles", most, *command, "--timeline"], seconds)
    at = drawn.find("  What happened")
    return drawn[at:] if at >= 0 else ""


def check(tools, exercise, command, seeds, seconds=120):
    """Runs it as timed, late and in `seeds` random orders with every check. Returns what was found, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log.sarif"
        options = ["--werror", "--seeds", seeds, "--sarif", log]
        status, text, err = run_to_its_end(exercise, lambda most: [tools.gen5, "check", "--max-cycles", most, *options, *command], seconds)
        text = without_coverage(text + err)
        findings = []
        if log.exists():
            results = json.loads(log.read_text())["runs"][0].get("results", [])
            # Errors first: a warning of the same run often follows from one.
            for level in ("error", "warning"):
                findings += [Finding(r) for r in results if r.get("level") == level]
    if findings:
        return ", ".join(sorted({f.code for f in findings})), text, findings
    if re.search(r"^ +\S.* signal \d+ ", text, re.M):
        return "a crash of the program", text, findings
    if "__global__" not in exercise.text:  # of host code alone: there was nothing to check
        status, text, err = run(command, seconds)
        text += err
    return ("wrong numbers" if status != 0 else "right"), text, findings


def wrong_value(tools, exercise, command, text, name):
    """What the program's own comparison says. gen5 check quotes the end of its output, where notes may have displaced the sentence: then the
    program runs again, in one order after the other until it says it."""
    value = sentence(text, name)
    for order in () if value else ([], ["--order", "late"], ["--seed", 1]):
        _, out, _ = run_to_its_end(exercise, lambda most: [tools.gen5, "run", "--max-cycles", most, *order, *command], 120)
        if value := sentence(out, name):
            break
    return value


def sentence(text, name):
    found = re.search(rf"^[ |]*(?:{re.escape(name)}(?:\.[a-z-]+)?|exercise|project): (?!right$)(.+)$", text, re.M)
    return found[1] if found else ""


def profile(tools, command, seconds=120):
    """A run as timed, without checks: each kernel's profile."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "profile.json"
        run([tools.gen5, "run", "--profile-json", file, "--max-cycles", MAX_CYCLES, *command], seconds)
        return json.loads(file.read_text()) if file.exists() else []


def waits(kernels):
    """Where the time of the longest kernel went, by role."""
    kernel = max(kernels, key=lambda k: k["cycles"])
    lines = []
    for role in kernel["roles"]:
        total = max(1, role["cycles"])
        lines.append(f"  {role['role']} ({role['warps']} warp{'s' if role['warps'] > 1 else ''}): issuing {100 * role['issuing'] // total} % of its time")
        for wait in role["waits"][:3]:
            lines.append(f"    {100 * wait['cycles'] // total:3} %  waits for {wait['for']} at {wait['at']}")
    return "\n".join(lines)


def longest_wait(kernels):
    """The one wait that takes most of a role's time, in a sentence."""
    kernel = max(kernels, key=lambda k: k["cycles"])
    found = [(wait["cycles"] / max(1, role["cycles"]), role, wait) for role in kernel["roles"] for wait in role["waits"][:1]]
    if not found:
        return ""
    share, role, wait = max(found, key=lambda f: f[0])
    return f"{role['role']} waits for {wait['for']} at {wait['at']} in {100 * share:.0f} % of its time"


def cause_of_wrong_numbers(seen, kernel=True):
    """Without a diagnosis. `kernel`: a kernel has run. `seen`: an element with its place, or a sentence."""
    if not kernel:
        return ""
    element = re.match(r"[^;]*\] is .* and should be ", seen)
    return "no rule of the machine is broken, so an index, a size or a value is wrong" + (
        ": follow this element from where it is stored back to where it was read" if element else "")


def judge_answer(tools, exercise, command, text):
    """The answers in a reader's file, put to the machine that runs `command`."""
    wanted, given = answers(exercise.text), answers(text)
    if ANSWER.sub("", text) != ANSWER.sub("", exercise.text):
        return Verdict("another program", "Change the lines `// answer:` only. scripts/learn --reset gives the file back as it was.\n")
    if missing := [name for name in wanted if given.get(name) is None]:
        _, out, err = run_to_its_end(exercise, lambda most: [tools.gen5, "run", "--max-cycles", most, *command], MOST_OF_A_RUN)
        names = " and ".join(f"`{name}`" for name in missing)
        return Verdict("no answer", f"{out}{err}No answer yet for {names}. Look for it:\n  {from_here(tools.gen5)} debug {' '.join(str(from_here(w)) for w in command)}\n")
    if words := [name for name in wanted if isinstance(given[name], str) and name not in exercise.words()]:
        return Verdict("wrong answer", f"`{words[0]}` is a number, and {given[words[0]]} is none.\n")
    try:
        with machine.Machine(tools.gen5, command) as asked:
            wrong = exercise.judge_module().verdict(asked, given)
    except machine.Wrong as fault:
        wrong = str(fault)
    return Verdict("wrong answer", wrong + "\n") if wrong else Verdict("right", "")


def judge(tools, exercise, command, seeds=5, text=None):
    """`command` runs the exercise once and exits with 0 if its numbers are right. `text`: the reader's file, where answers stand in it."""
    if exercise.session:
        return judge_answer(tools, exercise, command, text or exercise.text)
    ends, text, findings = check(tools, exercise, command, seeds)
    if ends == "wrong numbers":
        seen = wrong_value(tools, exercise, command, text, exercise.name)
        return Verdict(ends, text, seen=seen, cause=cause_of_wrong_numbers(seen, "__global__" in exercise.text))
    if ends != "right":
        return Verdict(ends, text, findings=findings)
    kernels = profile(tools, command)
    cycles = sum(k["cycles"] for k in kernels)
    if exercise.budget and cycles > exercise.budget:
        return Verdict(
            "too slow",
            f"Right in every order. Where the cycles went:\n{waits(kernels)}\n",
            cycles,
            seen=f"{cycles:,} cycles; the budget is {exercise.budget:,}",
            cause=longest_wait(kernels),
        )
    return Verdict("right", text, cycles)
