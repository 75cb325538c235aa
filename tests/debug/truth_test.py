#!/usr/bin/env python3
"""What the views say at random moments is what the kernel has stored by then, and the same however the moment is reached.

  truth_test.py BUILD NAME [MOMENTS]    words, cells, moments
"""
import random
import re
import subprocess
import sys

from session import Build, expect, position_in

build = Build(sys.argv[1])
MOMENTS = int(sys.argv[3]) if len(sys.argv) > 3 else 12
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


def moments():
    """Every view at a moment is the same whether the run comes to it from before or from behind, and so is the end."""
    programs = [
        ("ring", build.program("01_mbarrier", "--part", "ring"), ()),
        ("smallest", build.program("05_mma", "--part", "smallest"), ()),
        ("ring", build.program("01_mbarrier", "--part", "ring"), ("--machine", "h200", "--seed", "5")),
    ]
    looks = ["where", "show warps", "registers /x", "show barriers", "show inflight", "show shared 0x400 2048", "show tmem 0 128 0 8", "show tile box", "show tile d", "why"]
    for kernel, program, options in programs:
        positions = moments_of(kernel, program, options, MOMENTS, f"{program[-1]} {options}")
        seen, ends = {}, []
        for order in (sorted(positions), random.Random(2).sample(positions, len(positions))):
            commands = [c for p in order for c in (f"goto {p}", *looks)] + ["run"]
            answers = run_piped(program, options, commands)
            for k, p in enumerate(order):
                # What a program prints stands where it is printed first.
                views = answers[k * (1 + len(looks)) + 1 : (k + 1) * (1 + len(looks))]
                for name, text in zip(looks, views):
                    expect(seen.setdefault((p, name), text) == text, f"{name} at {p} depends on the way there", seen[p, name], "and", text)
            ends.append(re.search(r"exit code \d+, after [\d,]+ steps", answers[-2])[0])
        expect(ends[0] == ends[1] and "exit code 0" in ends[0], "the ends differ", *ends)
        print(f"{kernel} {' '.join(options)}: {len(positions)} moments, {len(looks)} views each, from two sides")


if __name__ == "__main__":
    globals()[sys.argv[2]]()
