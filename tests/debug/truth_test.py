#!/usr/bin/env python3
"""What the views say at random moments is what the kernel has stored by then, and the same however the moment is reached.

  truth_test.py BUILD NAME [MOMENTS [KERNELS]]

  words, cells    words that a kernel of programs.cu stores in shared, global and Tensor Memory, worked out here
  instrumented    what a kernel of kernels.py that is changed to print what it reads prints, MOMENTS of each of the first KERNELS of them
  moments         the same views, the same end, whether the run comes to a moment from before or from behind: as many moments
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import instrument
from kernels import KERNELS
from session import Build, Prompt, expect, position_in

build = Build(sys.argv[1])
MOMENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 10
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else len(KERNELS)
THREADS = 128


def sequence(cta, thread, rounds):
    """The words that a thread of programs.cu stores, worked out here."""
    x, out = (cta * 1000003 + thread * 7919 + 12345) & 0xFFFFFFFF, []
    for _ in range(rounds):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(x)
    return out


def bytes_in(answer):
    return bytes.fromhex("".join(line.split(" ", 1)[1].replace(" ", "") for line in answer.splitlines() if line.startswith("0x")))


def words_in(answer):
    raw = bytes_in(answer)
    return [int.from_bytes(raw[k : k + 4], "little") for k in range(0, len(raw), 4)]


def moments_of(kernel, program, options, count, seed):
    """Random positions inside a kernel's run."""
    ends = build.session(f"break {kernel}", "run", "delete 1", "run", program=program, options=options, code=0)
    first, last = position_in(ends[1]), int(re.search(r"after ([\d,]+) steps", ends[3])[1].replace(",", ""))
    return random.Random(seed).sample(range(first + 1, last), min(count, last - first - 1))


def look_at_words(kernel, looks, judge):
    """`looks(cta, log)`: commands at each moment; `judge(cta, stored, answers)`."""
    for machine, options in (("b200", ()), ("h200", ("--machine", "h200")), ("b200", ("--order", "late"))):
        if kernel == "cells" and machine == "h200":
            continue
        program = build.program("debug_programs", kernel)
        shown = "".join(build.session("run", program=program, options=options, code=0, all_of_it=True))
        log, ctas, rounds = (int(v, 0) for v in re.search(r"log at (0x\w+), (\d+) CTAs, (\d+) rounds", shown).groups())
        wanted = [[sequence(c, t, rounds) for t in range(THREADS)] for c in range(ctas)]
        commands, per = [], 1 + ctas * (2 + len(looks))
        all_of_them = moments_of(kernel, program, options, MOMENTS, f"{kernel} {machine}")
        for position in all_of_them:
            commands.append(f"goto {position}")
            for cta in range(ctas):
                commands += [f"cta {cta}", f"show global {log + cta * rounds * THREADS * 4:#x} {rounds * THREADS * 4}", *looks]
        # A CTA that has ended, or not begun, has no views: its commands fail, and a script goes on only from a pipe.
        answers = run_piped(program, options, commands)
        seen = 0
        for k, position in enumerate(all_of_them):
            at = answers[k * per : (k + 1) * per]
            for cta in range(ctas):
                chosen, logged, *rest = at[1 + cta * (2 + len(looks)) : 1 + (cta + 1) * (2 + len(looks))]
                if "not resident" in chosen or "no grid" in chosen:
                    continue
                words = words_in(logged)
                stored = []  # rounds that each warp has logged
                for warp in range(THREADS // 32):
                    of_lane = {
                        sum(words[r * THREADS + t] != 0 for r in range(rounds)) for t in range(warp * 32, warp * 32 + 32)
                    }
                    expect(len(of_lane) == 1, f"{machine} at {position}: lanes of a warp store together", of_lane)
                    stored.append(of_lane.pop())
                for t in range(THREADS):
                    n = stored[t // 32]
                    expect([words[r * THREADS + t] for r in range(n)] == wanted[cta][t][:n], f"{machine} at {position}: global memory of thread {t}")
                judge(f"{machine} {options} at {position}, CTA {cta}", wanted[cta], stored, rest)
                seen += 1
        expect(seen >= len(all_of_them) // 2, "too few moments with a CTA", seen)
        print(f"{kernel}, {machine} {' '.join(options)}: {seen} CTAs at {len(all_of_them)} moments")


def run_piped(program, options, commands):
    run = subprocess.run([build.gen5, "debug", *options, *program], input="\n".join(commands) + "\nquit\n", capture_output=True, text=True, timeout=3000)
    answers = re.split(r"^\(gen5\) .*\n", run.stdout, flags=re.M)[1:]
    expect(len(answers) == len(commands) + 1, "an answer for each command", len(answers), len(commands), run.stderr[-500:])
    return answers


def one_of(values, n):
    """The value behind `n` rounds that are logged, or that of the next round, which is stored before it is logged."""
    return values[max(0, n - 1) : n + 1]


def words():
    """Shared and global memory."""

    def judge(where, wanted, stored, answers):
        kept = words_in(answers[0])
        for warp, n in enumerate(stored):
            lanes = range(warp * 32, warp * 32 + 32)
            got = [kept[t] for t in lanes]
            candidates = [[wanted[t][r] for t in lanes] for r in range(max(0, n - 1), min(n + 1, len(wanted[0])))]
            if n == 0:
                expect(got in candidates or not any(v in one_of(wanted[t], 1) for v, t in zip(got, lanes)), f"{where}: warp {warp} has stored nothing, or all", got)
            else:
                expect(got in candidates, f"{where}: shared memory of warp {warp} behind {n} rounds", got, candidates)

    look_at_words("words", ["show shared 0x400 512"], judge)


def cells():
    """Tensor Memory: each column holds what was stored there last, and nothing where nothing was."""

    def judge(where, wanted, stored, answers):
        rows = {}
        for line in answers[0].splitlines():
            if found := re.match(r" +(\d+)((?: +(?:0x\w+|-))+)$", line):
                rows[int(found[1])] = found[2].split()
        if not rows:
            return  # not allocated yet, or freed
        for warp, n in enumerate(stored):
            for t in (warp * 32, warp * 32 + 13, warp * 32 + 31):
                for column in range(32):
                    legal = set()
                    for done in (n, n + 1):  # the store of the next round may have landed
                        rounds = [r for r in range(min(done, len(wanted[t]))) if r % 32 == column]
                        legal.add(f"{wanted[t][rounds[-1]]:#x}" if rounds else "-")
                    expect(rows[t][column] in legal, f"{where}: lane {t}, column {column} behind {n} rounds", rows[t][column], legal)

    look_at_words("cells", ["show tmem 0 128 0 32 /x"], judge)


def kernels():
    """(kernel, command line, environment) of those that can be had here."""
    skipped = []
    for kernel in KERNELS[:COUNT]:
        try:
            yield kernel, *kernel.command(build)
        except SystemExit:  # its reason has been printed
            skipped.append(kernel)
    if skipped:
        print("left out:", *skipped, sep="\n  ")


class Truth:
    """One program, as it is and changed to print what it reads."""

    MOST_SITES = {"registers": 12, "shared": 6, "global": 6, "tmem": 6}
    MOST_VISITS = 8  # stops behind each other in one session

    def __init__(self, kernel, command, environment, folder):
        self.kernel, self.command, self.environment, self.folder = kernel, [str(w) for w in command], environment, folder
        self.random = random.Random(str(kernel))
        self.modules = {}  # file: its lines
        profile = folder / "profile.json"
        self.run("--profile-json", profile, GEN5_DUMP_PTX=str(folder / "ptx"))
        launched = {self.simple(k["kernel"]) for k in json.loads(profile.read_text())}
        entries = []  # (file, sites of a kernel that may be a launched one)
        for file in sorted((folder / "ptx").glob("*.ptx")):
            lines = self.modules[file.name] = file.read_text().split("\n")
            for entry, opened, closed in instrument.bodies(lines):
                sites = instrument.sites_in(lines, opened, closed)
                if sites and any(entry == name or f"{len(name)}{name}" in entry for name in launched):
                    entries.append((file.name, sites))
        self.cta = self.random.choice(self.ctas())
        # Templates have many kernels of one name: the one that prints is the one that runs.
        self.sites = [(file, sites[0]) for file, sites in entries]
        runs = {number for number, _ in self.printed("timed")}
        sites = [(file, site) for number, (file, all_of_it) in enumerate(entries) if number in runs for site in all_of_it]
        self.random.shuffle(sites)
        self.sites = []
        for kind, most in self.MOST_SITES.items():
            self.sites += [s for s in sites if s[1].kind == kind][:most]

    @staticmethod
    def simple(name):
        """ring, of "void a::(anonymous namespace)::ring<4, false>(unsigned int*)"."""
        return re.search(r"(\w+)(?:[<(].*)?$", re.sub(r"[<(].*", "", name.replace("(anonymous namespace)", "")))[1]

    def run(self, *options, **more):
        line = [build.gen5, "run", "--machine", self.kernel.machine, "--exit-code", "0", *options, *self.command]
        return subprocess.run(list(map(str, line)), capture_output=True, text=True, errors="replace", env=self.environment | more, timeout=600).stdout

    def prompt(self):
        return Prompt(build.gen5, self.command, 900, ["--machine", self.kernel.machine], self.environment)

    def ctas(self):
        """CTAs that are resident when the first kernel begins."""
        with self.prompt() as prompt:
            prompt.ask("until cycle 0")
            prompt.ask("stepi")
            found = re.findall(r"^CTA \((\d+),(\d+),(\d+)\)", prompt.ask("show warps"), re.M)
        expect(found, f"{self.kernel}: no CTA is resident when its kernel begins")
        return sorted({tuple(map(int, cta)) for cta in found})

    def printed(self, order):
        """What the CTA prints, by (site, thread)."""
        replaced = self.folder / "replaced"
        shutil.rmtree(replaced, ignore_errors=True)
        replaced.mkdir()
        for name, lines in self.modules.items():
            sites = {number: site for number, (file, site) in enumerate(self.sites) if file == name}
            if sites:
                (replaced / name).write_text(instrument.instrumented(lines, sites, self.cta))
        words = instrument.printed(self.run("--order", order, GEN5_REPLACE_PTX=str(replaced)))
        expect(words, f"{self.kernel}: CTA {self.cta} prints nothing at {self.sites}")
        return words

    def lanes_of(self, answer):
        """A register's words by lane."""
        if uniform := re.search(r" = (0x\w+) in all lanes", answer):
            return dict.fromkeys(range(32), int(uniform[1], 16))
        values = re.findall(r" (0x\w+|\.)(?= |$)", "\n".join(re.findall(r"^ +\d+:.*$", answer, re.M)), re.M)
        return {lane: int(v, 16) for lane, v in enumerate(values) if v != "."}

    def shown(self, prompt, site, lanes):
        """What the views say of the word that the site reads, by lane; None: the register has no value there."""
        answer = prompt.ask(f"lanes {site.address or site.register} /x")
        if "has no value here" in answer:
            return None
        known = self.lanes_of(answer)
        if not site.address:
            return {lane: known[lane] for lane in lanes}
        out = {}
        for lane in {lanes[0], lanes[len(lanes) // 2], lanes[-1]}:
            if site.kind == "tmem":
                row, column = (known[lane] >> 16) + lane, known[lane] & 0xFFFF
                found = re.search(rf"^ +{row} +(0x\w+|-)$", prompt.ask(f"show tmem {row} 1 {column} 1 /x"), re.M)
                out[lane] = int(found[1], 16) if found and found[1] != "-" else None
            else:
                words = words_in(prompt.ask(f"show {site.kind} {known[lane] + site.offset:#x} 4"))
                out[lane] = words[0] if words else None
        return out

    def judge(self, count):
        """`count` moments; returns how many of each kind."""
        late = self.printed("late")
        words = {key: found for key, found in self.printed("timed").items() if late.get(key) == found}  # what the order of completion does not change
        done, without = dict.fromkeys(self.MOST_SITES, 0), 0
        by_kind = {kind: [m for m in {(number, thread // 32) for number, thread in words} if self.sites[m[0]][1].kind == kind] for kind in done}
        moments = [m for round in range(10 * count) for some in by_kind.values() if some for m in [self.random.choice(sorted(some))]]
        with self.prompt() as prompt:
            for number, warp in moments:
                if sum(done.values()) >= count:
                    break
                file, site = self.sites[number]
                prompt.ask("goto 1")
                where = " && ".join([f"warp == {warp}", *(f"cta.{axis} == {at}" for axis, at in zip("xyz", self.cta))])
                breakpoint = re.search(r"breakpoint (\d+)", prompt.ask(f"break ptx {site.line} if {where}"))[1]
                visited = dict.fromkeys(range(32), 0)
                lanes = []
                for _ in range(self.random.randint(1, self.MOST_VISITS)):
                    stop = re.search(rf"^breakpoint {breakpoint}: (.*)", prompt.ask("run"), re.M)
                    if not stop:
                        break
                    lanes, waits = self.mask(stop[1]), "waits for" in stop[1]
                    for lane in lanes:
                        visited[lane] += 1
                    stopped = prompt.position
                if not lanes or waits:  # what waits for a barrier is not about to read yet
                    prompt.ask(f"delete {breakpoint}")
                    continue
                prompt.ask(f"goto {stopped}")
                lanes = [lane for lane in lanes if (number, warp * 32 + lane) in words]
                shown = self.shown(prompt, site, lanes) if lanes else None
                prompt.ask(f"delete {breakpoint}")
                if shown is None:
                    without += 1
                    continue
                for lane, word in shown.items():
                    wanted = words[number, warp * 32 + lane]
                    at = f"{self.kernel}, {site}, CTA {self.cta}, warp {warp}, lane {lane}, visit {visited[lane]}, position {stopped}"
                    expect(visited[lane] <= len(wanted), f"{at}: the changed kernel comes there {len(wanted)} times")
                    expect(word == wanted[visited[lane] - 1], f"{at}: the view says {word:#x}, and the changed kernel has read {wanted[visited[lane] - 1]:#x}")
                done[site.kind] += 1
        expect(sum(done.values()) >= count, f"{self.kernel}: only {done} moments; registers without a value at {without}", self.sites)
        return done

    @staticmethod
    def mask(answer):
        """Lanes that a stop names: "lanes 0 to 3, 8"."""
        named = re.search(r"lanes ((?:\d+(?: to \d+)?(?:, (?=\d))?)+)", answer)[1]
        out = []
        for part in named.split(", "):
            first, _, last = part.partition(" to ")
            out += range(int(first), int(last or first) + 1)
        return out


def instrumented():
    """A view of a word that an instruction is about to read says what the same kernel, changed to print that word, prints."""
    total = {}
    for kernel, command, environment in kernels():
        with tempfile.TemporaryDirectory() as folder:
            done = Truth(kernel, command, environment, pathlib.Path(folder)).judge(MOMENTS)
        print(f"{kernel}: " + ", ".join(f"{n} of {kind}" for kind, n in done.items() if n), flush=True)
        for kind, n in done.items():
            total[kind] = total.get(kind, 0) + n
    print(f"{sum(total.values())} moments:", total)


LOOKS = ("where", "show warps", "registers /x", "show barriers", "show inflight", "show shared 0x400 2048", "show tmem 0 128 0 8", "show tile box", "show tile d", "why")


def moments():
    """Every view at a moment is the same whether the run comes to it from before or from behind, and so is the end."""
    for n, (kernel, program, environment) in enumerate(kernels()):
        # Orders of completion take turns.
        options = ["--machine", kernel.machine, *((), ("--order", "late"), ("--seed", "5"))[n % 3]]
        seen, ends = {}, []
        with Prompt(build.gen5, program, 900, options, environment) as prompt:
            whole = prompt.ask("run")
            last = int(re.search(r"after ([\d,]+) steps", whole)[1].replace(",", ""))
            positions = random.Random(str(kernel)).sample(range(1, last), min(MOMENTS, last - 1))
            for order in (sorted(positions), random.Random(2).sample(positions, len(positions))):
                for p in order:
                    prompt.ask(f"goto {p}")
                    for look in LOOKS:
                        text = prompt.ask(look)
                        expect(seen.setdefault((p, look), text) == text, f"{kernel}: {look} at {p} depends on the way there", seen[p, look], "and", text)
                # What the program prints stands where it is printed first.
                ends.append(re.search(r"exit code \d+, after [\d,]+ steps", prompt.ask("run"))[0])
        expect(ends[0] == ends[1] and ends[0] in whole and "exit code 0" in ends[0], f"{kernel}: the ends differ", *ends)
        print(f"{kernel} {' '.join(options[2:])}: {len(positions)} moments, {len(LOOKS)} views each, from two sides", flush=True)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
