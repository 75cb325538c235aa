#!/usr/bin/env python3
"""Breaks kernels one thing at a time and asks what tinygpu says.

  run.py [--program NAME …] [--sample N] [--jobs N]   makes and runs mutants, appends to RESULTS
  run.py --foreign                                    the same of programs that others wrote (FOREIGN)
  run.py --table [--foreign]                          what was found, by kind, of all that RESULTS has
  run.py --not-found                                  every mutant that nothing told of, with its lines
  run.py --write-note, --check-note                   the tables in notes/mistakes.md of what RESULTS has: renews them, or says whether they hold
  run.py --check sample.txt                           runs the mutants that the file lists; exit 1 unless each is diagnosed as it says
  run.py --list                                       the programs

Each mutant runs as timed, late and under two seeds, until something is found. It is
  diagnosed    a diagnosis that the program itself does not have; named, if one of its places is the changed line's, or, as what is
               dropped is no place any more, if its words or its fix name what is missing or does not fit
  result       nothing was diagnosed, and in every order of completion the program says that its results are wrong, or ends otherwise than it
               should: no order is missing, the program computes something else, and its own comparison tells
  by order     the same in some of the orders alone: a race without a diagnosis
  nothing      neither
  not reached  the changed instruction is not executed (with `trap` in its place nothing changes)
  not legal    the PTX is refused
Of those that nothing tells of, or whose results differ, equivalent.txt names the ones that break no rule, with the reason. Instructions
that a compiler has made several of, from one CUDA line, are changed together.
"""

import argparse
import collections
import concurrent.futures
import functools
import importlib.util
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "foreign")]
import kept
import mutate

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ORDERS = (("timed", {"GEN5_ORDER": "timed"}), ("late", {"GEN5_ORDER": "late"}),
          ("seed 1", {"GEN5_ORDER": "seeded", "GEN5_SEED": "1"}), ("seed 2", {"GEN5_ORDER": "seeded", "GEN5_SEED": "2"}))
SECONDS = 60
UNTOLD = ("result", "by order", "nothing")  # what no diagnosis tells of
NOTE = ROOT / "notes" / "mistakes.md"


def chapter(name, *parts):
    return {f"{name} {part}": [name, "--part", part] for part in parts}


def gemm(side, *steps):
    size = ["--m", side, "--n", side, "--k", "704", "--timeline", "off"]
    return {f"13_gemm step {step}": ["13_gemm", "--step", str(step), *size] for step in steps}


# What a diagnosis must speak of to name what is missing, or what does not fit, of each kind of mutant.
NAMED = {
    "drop: fence.proxy.async": "fence.proxy.async", "alter: proxy": "fence.proxy.async", "drop: fence.mbarrier_init": "initialis",
    "drop: fence": "release|acquire|fence", "drop: tcgen05.fence::before_thread_sync": "tcgen05.fence",
    "drop: tcgen05.fence::after_thread_sync": "tcgen05.fence", "drop: tcgen05.wait::ld": "wait::ld", "drop: tcgen05.wait::st": "wait::st",
    "drop: tcgen05.commit": "commit|arriv|mbarrier", "drop: tcgen05.dealloc": "dealloc", "drop: bar.sync": "barrier|meet|bar.sync|initialis",
    "drop: bar.warp.sync": "lanes|bar.warp.sync", "drop: barrier.cluster.arrive": "cluster", "drop: barrier.cluster.wait": "cluster",
    "drop: mbarrier expect_tx": "bytes|expect|arriv", "drop: mbarrier.arrive": "arriv", "drop: mbarrier.init": "initialis",
    "drop: mbarrier wait": "wait|phase", "drop: commit_group": "commit_group|wait", "drop: wait_group": "wait", "drop: bulk load": "bytes|written",
    "drop: wgmma.fence": "wgmma.fence", "drop: wgmma.commit_group": "wgmma|wait", "drop: wgmma.wait_group": "wait",
    "drop: cp.async.mbarrier.arrive": "arriv", "drop: griddepcontrol.wait": "griddepcontrol", "drop: setmaxnreg": "setmaxnreg",
    "alter: bytes": "bytes|expect", "alter: count": "arriv|count", "alter: parity": "parity|phase|wait", "alter: .relaxed": "relaxed",
    "alter: scope": "scope", "alter: group + 1": "wait", "alter: .read": "wait", "alter: mask": "mask|bytes|arriv",
    "alter: descriptor": "descriptor|operand", "alter: instruction descriptor": "descriptor", "alter: columns": "columns",
    "alter: cta_group": "cta_group",
}

PROGRAMS = {
    **chapter("01_mbarrier", "phases", "arrivals", "transactions", "ring", "remote"),
    **chapter("02_bulk_tensor", "load", "multicast", "store", "linear", "stages"),
    **chapter("03_tmem_alloc", "smallest", "share", "pair"),
    **chapter("04_tmem_ld_st", "smallest", "maps"),
    **chapter("05_mma", "smallest", "accumulate", "commit"),
    **chapter("06_mma_operands", "tmem", "chain"),
    **chapter("07_tmem_cp_shift", "feed", "shift"),
    **chapter("08_mma_block_scaled", "rows"),
    **chapter("09_mma_sparse", "codes"),
    **chapter("10_mma_ws", "stationary"),
    **chapter("11_cta_pair", "addresses", "hand_over", "multicast", "halves", "signals"),
    **chapter("12_launch_control", "request", "tasks"),
    **gemm("256", 1, 2, 3, 4),
    **gemm("512", 5, 6, 7, 8),
    "13_gemm_hopper": ["13_gemm_hopper", "--m", "512", "--n", "512", "--k", "704"],
}
# Where a CTA takes tile after tile: on a machine of two SMs it takes several of a small product, and comes back to what it has used.
PERSISTENT = re.compile(r"13_gemm step [5-8]|13_gemm_hopper")
# Programs that others wrote, by their names in tests/foreign/run.py; they have to be fetched.
# With arguments of their own where their problems are larger than needed.
FOREIGN = {
    "cutlass.mma": ["256", "256", "128"], "cutlass.mma_tma": ["256", "256", "128"], "cutlass.mma_multicast": ["512", "1024", "128"],
    "cutlass.mma_pair": ["512", "1024", "128"], "cutlass.mma_epilogue": ["512", "1024", "128"], "cutlass.wgmma": ["128", "128", "128"],
    "cutlass.wgmma_tma": ["256", "128", "256"], "deepgemm.scaled": None, "deepgemm.hopper_scaled": None, "triton.matmul_fp16": None, "triton.matmul_descriptor": None, "triton.attention": None,
}


class Program:
    def __init__(self, name, build, folder):
        self.name, self.folder = name, folder
        self.environment, self.expect = {}, ""
        self.traps = {}  # (file, PTX line) -> whether a trap there is executed
        if name in FOREIGN:
            self.command, machine, self.environment = foreign().command_of(name)
            if FOREIGN[name]:
                self.command[1:] = FOREIGN[name]
            self.command = [str(build / "bin" / "gen5"), "run", "--exit-code", "0", *self.command]
            self.expect = foreign().PROGRAMS[name].expect
        else:
            self.command = [str(build / "bin" / PROGRAMS[name][0]), *PROGRAMS[name][1:]]
            machine = "h200" if "hopper" in name else "b200"
        self.machine = {"GEN5_MACHINE": machine}
        if PERSISTENT.fullmatch(name):
            profile = json.loads((ROOT / "probes" / "machines" / f"{machine}.json").read_text())
            profile["device"]["sms"]["value"] = 2
            (folder / f"{machine}.json").write_text(json.dumps(profile))
            self.machine["GEN5_MACHINE_DIR"] = str(folder)
        dump = folder / "ptx"
        first = self.run({"GEN5_DUMP_PTX": str(dump), "GEN5_COUNTERS": "1"}, folder / "first.sarif")
        if self.wrong(first):
            sys.exit(f"{name} does not pass as it is:\n{first.stdout[-2000:]}{first.stderr[-2000:]}")
        self.kernels = set(re.findall(r"^tinygpu counters: (\S+)", first.stderr, re.M))
        self.texts = {p.name: p.read_text() for p in sorted(dump.iterdir())}
        self.known = set()
        for order, environment in ORDERS:
            log = folder / f"known {order}.sarif"
            self.run(environment, log)
            self.known |= {key for key, _ in findings(log)}

    def run(self, environment, log):
        """stdout and stderr of one run; its findings go to `log`. A run that takes too long counts as failed."""
        env = {**os.environ, **self.environment, "GEN5_DEVICE": "tinygpu", "GEN5_THREADS": "1", "GEN5_CHECK": "races", "GEN5_SARIF": str(log), **self.machine, **environment}
        try:
            return subprocess.run(self.command, capture_output=True, text=True, errors="replace", env=env, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(self.command, 124, "", "too long")

    def wrong(self, done):
        return done.returncode != 0 or not re.search(self.expect, done.stdout, re.M)

    def mutants(self):
        for file, text in self.texts.items():
            lines, first = lines_of(text), {}
            for m in mutate.mutants(text, self.kernels):
                key = m.kernel, m.kind, lines[m.line] or m.line
                if key in first:
                    first[key].copies.append(m)
                else:
                    first[key] = m
            yield from ((file, m) for m in first.values())

    def reached(self, file, mutant):
        """Whether the changed instruction is executed: a trap in its place changes how the program ends."""
        key = file, mutant.line
        if key not in self.traps:
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                (pathlib.Path(folder) / file).write_text(mutant.trapped().apply(self.texts[file]))
                self.traps[key] = self.wrong(self.run({"GEN5_REPLACE_PTX": folder}, pathlib.Path(folder) / "trap.sarif"))
        return self.traps[key]

    def judge(self, file, mutant):
        """What becomes of the program with this mutant in it."""
        if self.name in FOREIGN and not self.reached(file, mutant):  # much of a template is not: first, then
            return {"found": "not reached"}
        text = self.texts[file]
        verdict = self.judge_with({file: mutant.apply(text)}, lambda r: names_line(r, mutant, text) or names_it(r, (mutant.kind,)))
        return verdict if verdict["found"] != "nothing" or self.reached(file, mutant) else {"found": "not reached"}

    def judge_with(self, files, names, key=lambda key: key):
        """What becomes of the program with other PTX. `names`: whether a finding is of what has been changed; `key`: what of a finding's
        key says that the program itself has it too."""
        known = {key(k) for k in self.known}
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            folder = pathlib.Path(folder)
            limit = {"GEN5_REPLACE_PTX": str(folder)}  # and no limit of cycles: it would be told of instead of what is missing
            for file, text in files.items():
                (folder / file).write_text(text)
            wrong, told = [], None
            for order, environment in ORDERS:
                log = folder / f"{order}.sarif"
                done = self.run({**environment, **limit}, log)
                if re.search(r"\[(module-not-loaded|kernel-not-decoded|not-modelled)\]", done.stderr):
                    return {"found": "not legal"}
                new = [r for k, r in findings(log) if key(k) not in known]
                if new:
                    codes = sorted({r["ruleId"] for r in new})
                    at = any(map(names, new))
                    if not at and order != ORDERS[-1][0]:
                        told = told or {"found": "diagnosed", "codes": codes, "order": order, "line": False}
                        continue  # another order may say more
                    return {"found": "diagnosed", "codes": codes, "order": order, "line": at}
                if self.wrong(done):
                    wrong.append(order)
            if told:
                return told
            if wrong:
                return {"found": "result" if len(wrong) == len(ORDERS) else "by order", "order": ", ".join(wrong)}
            return {"found": "nothing"}


def foreign():
    """tests/foreign/run.py."""
    folder = HERE.parent / "foreign"
    if "foreign_run" not in sys.modules:
        sys.path.insert(0, str(folder))
        spec = importlib.util.spec_from_file_location("foreign_run", folder / "run.py")
        sys.modules["foreign_run"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["foreign_run"])
    return sys.modules["foreign_run"]


def findings(log):
    """(key, result) of each diagnosis in a SARIF log that names an instruction, or is more than a note."""
    try:
        results = json.loads(log.read_text())["runs"][0]["results"]
    except (OSError, ValueError):
        return
    for r in results:
        p = r["locations"][0].get("properties", {})
        if r["level"] != "note" or "ptxLine" in p:
            yield (r["ruleId"], r["level"], p.get("kernel"), p.get("ptxLine")), r


@functools.lru_cache(maxsize=64)
def lines_of(text):
    """The .loc in force at each PTX line: (file, line), and behind it those that it was inlined into, up to the kernel's own."""
    now, into, out = None, {}, [None]
    for line in text.split("\n"):
        loc = re.match(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)", line)
        if loc:
            caller = re.search(r"inlined_at (\d+) (\d+) (\d+)", line)
            into[loc.groups()] = caller and caller.groups()
            chain = [loc.groups()]
            while into.get(chain[-1]) and into[chain[-1]] not in chain:
                chain.append(into[chain[-1]])
            now = tuple(place[:2] for place in chain)
        out.append(now)
    return out


def names_line(result, mutant, text):
    """One of the places is the changed instruction, or the CUDA line that it comes from."""
    locs = lines_of(text)
    for l in result["locations"] + result.get("relatedLocations", []):
        ptx = l.get("properties", {}).get("ptxLine", 0)
        if any(ptx == m.line for m in (mutant, *mutant.copies)) or (0 < ptx < len(locs) and locs[ptx] and locs[mutant.line] and locs[ptx][-1] == locs[mutant.line][-1]):
            return True
    return False


def names_it(result, kinds):
    """Its words, or its fix, speak of what is missing in mutants of these kinds."""
    text = "\n".join(m["message"]["text"] for m in (result, *result["locations"], *result.get("relatedLocations", [])) if "message" in m)
    return any(k.startswith(kind) and re.search(words, text) for k in kinds for kind, words in NAMED.items())


def source_of(text, line):
    """The CUDA line that a PTX line comes from, or ""."""
    at = lines_of(text)[line]
    if not at:
        return ""
    at = at[-1]
    name = re.search(rf'^\s*\.file\s+{at[0]}\s+"([^"]+)"', text, re.M)
    try:
        return " ".join(pathlib.Path(name[1]).read_text().splitlines()[int(at[1]) - 1].split("//")[0].split())
    except (TypeError, OSError, IndexError):
        return ""


def equivalent():
    """(program, kind, CUDA line) of equivalent.txt -> the reason. A line or a program may be `*`: any. Where there are no CUDA lines, `ptx N`
    is the line of the PTX, as nvcc 13.0 or Triton 3.9 has made it."""
    out, reason = {}, ""
    for line in (HERE / "equivalent.txt").read_text().splitlines():
        if line.startswith("  "):
            program, kind, source = (part.strip() for part in line.split("|", 2))
            out[program, kind, source] = reason
        elif line and not line.startswith("#"):
            reason = line
    return out


def plain(ptx):
    """An instruction without the numbers of its registers, which change with the source around it."""
    return re.sub(r"%[a-z]+\d+", "%", " ".join(ptx.split()))


def is_equivalent(r, same):
    return any((p, r["kind"], s) in same for p in (r["program"], "*") for s in (r["source"], f"ptx {r['ptx_line']}", "*"))


def table(results):
    """Kinds × found, and the share that is diagnosed."""
    same = equivalent()
    rows = collections.defaultdict(collections.Counter)
    for r in results:
        found = r["found"]
        if found in UNTOLD and is_equivalent(r, same):
            found = "equivalent"
        rows[r["kind"].split(",")[0]][found] += 1
        rows[r["kind"].split(",")[0]]["line"] += r.get("line", False)
    total = collections.Counter()
    for row in rows.values():
        total.update(row)
    columns = ("mutants", "diagnosed", "named", "result", "by order", "nothing", "equivalent", "not reached", "not legal")
    out = [f"{'kind':<42}" + "".join(f"{c:>12}" for c in columns)]
    for kind, row in [*sorted(rows.items()), ("all", total)]:
        count = sum(n for found, n in row.items() if found != "line")
        cells = [count, row["diagnosed"], row["line"], *(row[c] for c in columns[3:])]
        out.append((f"{kind:<42}" + "".join(f"{c or '':>12}" for c in cells)).rstrip())
    wrong = total["diagnosed"] + sum(total[found] for found in UNTOLD)
    share = 100 * total["diagnosed"] / max(1, wrong)
    out += ["", f"Of {wrong} that are reached and not equivalent, {share:.1f} % are diagnosed; of {total['result']} others the program says that "
                "its results are wrong, in every order of completion."]
    return "\n".join(out) + "\n", share


def of(results, foreign):
    """The results of this repository's programs, or of others."""
    return [r for r in map(json.loads, results.read_text().splitlines()) if (r["program"] in FOREIGN) == foreign]


def sample(file, build):
    """The mutants that a file lists, a line each: code | program | kind | the first instruction that is written so, registers without
    their numbers. False unless all are told of as it says."""
    wanted = [[part.strip() for part in line.split("|", 3)] for line in file.read_text().splitlines() if line and line[0] != "#"]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        programs = {}
        for code, name, kind, ptx in wanted:
            if name not in programs:
                programs[name] = Program(name, build, make(pathlib.Path(folder) / str(len(programs))))
            fits = [(f, m) for f, m in programs[name].mutants() if m.kind == kind and plain(m.before) == ptx]
            verdict = programs[name].judge(*fits[0]) if fits else {"found": "no such instruction"}
            fine = code in verdict.get("codes", ())
            good &= fine
            print(f"{'ok ' if fine else 'NOT'} {code}: {name}, {kind}, {ptx}: {verdict}")
    return good


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "default")
    options.add_argument("--results", type=pathlib.Path)
    options.add_argument("--program", action="append", choices=(*PROGRAMS, *FOREIGN))
    options.add_argument("--sample", type=int, help="so many mutants, chosen at random but always the same")
    options.add_argument("--kind", help="only kinds that this regular expression matches")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--check", type=pathlib.Path)
    options.add_argument("--at-least", type=float, default=0, help="with --table: fail where a smaller share in percent is diagnosed")
    for what in ("foreign", "list", "table", "not-found", "write-note", "check-note"):
        options.add_argument(f"--{what}", action="store_true")
    o = options.parse_args()
    results = o.results or o.build / "mutants.jsonl"
    if o.list:
        return print("\n".join((*PROGRAMS, *FOREIGN)))
    if o.check:
        sys.exit(not sample(o.check, o.build.resolve()))
    if o.write_note or o.check_note:
        found = {f"tests/mutants/run.py --table{' --foreign' * foreign}": of(results, foreign) for foreign in (False, True)}
        blocks = {name: table(mutants)[0].splitlines() for name, mutants in found.items() if mutants}
        sys.exit(kept.settle(NOTE, blocks, o.write_note, __file__))
    if o.table or o.not_found:
        known = of(results, o.foreign)
        if o.table:
            text, share = table(known)
            print(text, end="")
            sys.exit(share < o.at_least and f"less than {o.at_least} %")
        same = equivalent()
        for r in known:
            if r["found"] in UNTOLD and not is_equivalent(r, same):
                print(f"{r['program']}: {r['kind']}: {r['found']}{' under ' + r['order'] if 'order' in r else ''}\n"
                      f"  {r['kernel']}, ptx line {r['ptx_line']}, CUDA line {r['cuda']}: {r['source']}\n  {r['before'].strip()}")
        return None
    with tempfile.TemporaryDirectory() as folder, open(results, "a") as out:
        names = o.program or list(FOREIGN if o.foreign else PROGRAMS)
        if set(names) & set(FOREIGN):
            foreign()  # before threads ask for it
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            programs = list(pool.map(lambda name: Program(name, o.build.resolve(), make(pathlib.Path(folder) / str(names.index(name)))), names))
        work = [(p, file, m) for p in programs for file, m in p.mutants() if not o.kind or re.search(o.kind, m.kind)]
        if o.sample:
            work = random.Random(16).sample(work, min(o.sample, len(work)))
        counts = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            for (p, file, m), verdict in zip(work, pool.map(lambda w: w[0].judge(*w[1:]), work)):
                counts[verdict["found"]] += 1
                line = lines_of(p.texts[file])[m.line]
                out.write(json.dumps({"program": p.name, "kernel": m.kernel, "kind": m.kind, "before": m.before, "after": m.after,
                                      "cuda": line and int(line[-1][1]), "source": source_of(p.texts[file], m.line), "ptx_line": m.line, **verdict, "line": verdict.get("line", False)}) + "\n")
                out.flush()
        print(f"{len(work)} mutants: " + ", ".join(f"{n} {found}" for found, n in counts.most_common()))
    return None


def make(folder):
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
