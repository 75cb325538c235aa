#!/usr/bin/env python3
"""Runs Triton's own tests, from its repository, on tinygpu.

  triton_suite.py MACHINE [AREA…] [--share F] [--seed N]    exit 0: every failure is one that triton_expected.txt knows; 77: it cannot be had here
  triton_suite.py --areas                                   the areas, and what each has of the repository's files
  triton_suite.py --keep                                    puts what the runs so far said, by file, into triton_said.json, which makes the note's table
  triton_suite.py --table                                   that table; --write-note renews it in notes/python_kernels.md, --check-note looks whether it
                                                            is there

The repository is --repo PATH (or GEN5_TRITON_REPO), else a clone of the tag of the Triton that is installed, in the cache of
tests/foreign/fetch.py. Torch's environment runs them (tests/foreign/fetch.py --torch); --triton VERSION takes another Triton from PyPI.
--share 0.01 takes each test with that probability, the same ones for a seed; --most N takes at most N of a file's, a part of what a larger N
takes; the default is all. A test that takes longer than --seconds is stopped and counts as slow, which is no failure of a result. What a test
said is kept as soon as it has ended: --continue goes on behind that, and --for SECONDS ends such a piece."""

import argparse
import collections
import fnmatch
import functools
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import run
import triton_suite_plugin as plugin

import fetch  # run.py has made these two importable
import kept

HERE = pathlib.Path(__file__).resolve().parent
MACHINES, ORDERS = ("b200", "h200"), ("timed", "late")
RESULTS = run.LIBRARIES.parent / "triton_suite_results"
EXPECTED = HERE / "triton_expected.txt"
SAID = HERE / "triton_said.json"
NOTE = run.ROOT / "notes/python_kernels.md"
URL = "https://github.com/triton-lang/triton.git"
AREAS = {
    "language": ["unit/language/test_core.py", "unit/language/test_conversions.py", "unit/language/test_standard.py", "unit/language/test_random.py",
                 "unit/language/test_libdevice.py", "unit/language/test_annotations.py", "unit/language/test_tuple.py", "unit/cuda/test_libdevice_cuda.py",
                 "unit/cuda/test_denorm_cuda.py"],
    "matmul": ["unit/language/test_matmul.py", "unit/language/test_mxfp.py", "unit/language/test_pipeliner.py", "regression/test_cast_matmul.py"],
    "descriptors": ["unit/language/test_tensor_descriptor.py", "unit/cuda/test_tensor_descriptor_cuda.py", "unit/cuda/test_tma_descriptor.py"],
    "warp_specialisation": ["unit/language/test_warp_specialization.py", "unit/language/test_clc.py"],
    "gluon": ["gluon/test_core.py", "gluon/test_lowerings.py", "gluon/test_layout_format_view.py"],
    "consan": ["gluon/test_consan.py"],
}
OTHER = "other-triton"  # in the list: a test of what the installed Triton has not, as its repository is another version or a fork
COUNTED = ("passed", "failed", "crashed", "slow", "skipped")


class Environment:
    """The Python that runs the tests, the folder of the tests, and the versions of both Tritons."""

    def __init__(self, repo, version):
        self.python = str(run.with_torch())
        if version:
            fetch.ON_TORCH["triton"] = [f"triton=={version}"]
            fetch.fetch_on_torch("triton")
            self.python = str(fetch.on_torch_python("triton"))
        asked = "import importlib.metadata as m, triton; print(m.version('triton'), triton.__path__[0])"
        said = subprocess.run([self.python, "-c", asked], capture_output=True, text=True, check=True)
        self.triton, installed = said.stdout.split()
        repo = pathlib.Path(repo or os.environ.get("GEN5_TRITON_REPO") or clone(self.triton)).resolve()
        if not (repo / "python/test").is_dir():
            sys.exit(f"{repo} has no folder python/test: --repo names a clone of {URL}")
        self.tests = copy_of_tests(repo, pathlib.Path(installed))
        module = repo / "python/triton/__init__.py"
        words = [line.split("'")[1] for line in module.read_text().splitlines() if line.startswith("__version__")] if module.exists() else []
        self.source = words[0] if words else "unknown"

    def variables(self, machine, ids, log):
        libraries = {"GEN5_MACHINE": machine, plugin.IDS: str(ids), plugin.LOG: str(log), "TRITON_CACHE_DIR": str(fetch.cache() / f"triton_suite_{self.triton}")}
        # ConSan's tests run kernels in processes of their own, where gen5.pth, which the wheel has, would set the machine up. What they break
        # on purpose ConSan has to find: tinygpu, which would be first, looks for nothing, and says nothing where the tests read stderr.
        site = RESULTS / "site"
        site.mkdir(parents=True, exist_ok=True)
        (site / "sitecustomize.py").write_text("import warnings, gen5\ngen5.install(check=False)\nwarnings.simplefilter('ignore', gen5.DiagnosisWarning)\n")
        return run.environment() | libraries | {"PYTHONPATH": os.pathsep.join([str(run.ROOT / "python"), str(HERE), str(site)])}


def copy_of_tests(repo, installed):
    """Without the repository's own Triton beside them, which pytest would put before the one that is installed."""
    copy = RESULTS / "tests"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(repo / "python/test", copy / "python/test")
    for name in ("pytest.ini", "python/conftest.py"):
        if (repo / name).exists():
            shutil.copy(repo / name, copy / name)
    gluon = copy / "python/test/gluon"
    # Meta's fork has one that skips Gluon's tests, since they are newer than its own Triton. The Triton that is installed is not the fork's.
    (gluon / "conftest.py").unlink(missing_ok=True)
    # Functions that have new names since: called by the old ones they say so and stop.
    renamed = [re.findall(r"(\w+) has been removed; call (\w+) instead", path.read_text()) for path in installed.glob("experimental/gluon/**/*.py")]
    for test in gluon.glob("*.py"):
        text = test.read_text()
        for old, new in set(sum(renamed, [])):
            text = re.sub(rf"\b{old}\(", f"{new}(", text)
        test.write_text(text)
    return copy / "python/test"


def file_of(name):
    return name.partition("::")[0]


def clone(version):
    folder = fetch.cache() / f"triton-{version}"
    if not folder.exists():
        fetch.run("git", "clone", "--quiet", "--depth", "1", "--branch", f"v{version}", URL, folder, hint=" (is there a network? --repo names a clone)")
    return folder


def pytest_run(environment, machine, files, ids, log, *more):
    ini = environment.tests.parent.parent / "pytest.ini"
    present = [f for f in files if (environment.tests / f).exists()]
    command = [environment.python, "-m", "pytest", "-p", "gen5._pytest", "-p", "triton_suite_plugin", "-p", "no:cacheprovider", "-q", *(["-c", str(ini)] if ini.exists() else []),
               "--rootdir", ".", "--confcutdir", "..", "--gen5", machine, "--gen5-orders", ",".join(ORDERS), "--tb=short", "--continue-on-collection-errors", *more, *present]
    return subprocess.Popen(command, cwd=environment.tests, env=environment.variables(machine, ids, log), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, start_new_session=True)


def collect(environment, machine, files, log):
    """Node ids of all tests; the lines that say what cannot be collected."""
    log.unlink(missing_ok=True)
    process = pytest_run(environment, machine, files, "", log, "--collect-only")
    said = process.communicate()[0]
    lines = plugin.read(log)
    if not lines:
        sys.exit(f"the tests cannot be collected:\n{said[-3000:]}")
    errors = [line for line in said.splitlines() if line.startswith(("ERROR ", "E   "))]
    return [line["id"] for line in lines], errors


def stop(process):
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.communicate()


def run_ids(environment, machine, ids, seconds, log, ids_file, until=math.inf):
    """Yields what came of each test: a process that dies or hangs costs the test that it was at, and another one goes on behind it. `until` is the
    time.monotonic() at which the tests that are left stay left."""
    left = dict.fromkeys(ids)
    while left and time.monotonic() < until:
        ids_file.write_text("\n".join(left))
        log.unlink(missing_ok=True)
        process = pytest_run(environment, machine, dict.fromkeys(file_of(name) for name in left), ids_file, log)
        seen, begun, at, tail = 0, None, time.monotonic(), ""
        while True:
            try:
                tail = process.communicate(timeout=0.5)[0]
                ended = True
            except subprocess.TimeoutExpired:
                ended = False
            for line in plugin.read(log)[seen:]:
                seen += 1
                at = time.monotonic()
                if "begins" in line:
                    begun = line["begins"]
                else:
                    begun = None
                    left.pop(line["id"], None)
                    yield line
            if ended or (begun and time.monotonic() - at > seconds):
                break
            if time.monotonic() > until:
                stop(process)
                return
        if not ended:
            stop(process)
        if begun:
            left.pop(begun, None)
            yield {"id": begun, "outcome": "crashed" if ended else "slow", "why": tail[-300:] if ended else f"more than {seconds} s", "seconds": time.monotonic() - at}
        elif left and seen == 0:
            sys.exit(f"the tests do not begin:\n{tail[-3000:]}")
        elif ended and left:  # collected otherwise than before: these are not there any more
            for name in list(left):
                yield {"id": name, "outcome": "crashed", "why": "it was collected, and did not run", "seconds": 0}
            return


@functools.cache
def expected():
    """(machines, orders, code, pattern, reason) of each line of the list. Code: the diagnosis that the failure is, - for none, or OTHER."""
    out = []
    for number, line in enumerate(EXPECTED.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        words = line.split(None, 3)
        pattern, _, reason = words[3].partition(" -- ") if len(words) == 4 else ("", "", "")
        if not reason.strip() or not set(words[0].split(",")) <= set(MACHINES) or not set(words[1].split(",")) <= set(ORDERS):
            sys.exit(f"{EXPECTED.name}:{number}: not MACHINES ORDERS CODE PATTERN -- REASON: {line}")
        out.append((words[0].split(","), words[1].split(","), words[2], pattern, reason.strip()))
    return out


def listed(machine, name, codes):
    """The list's code and reason for this test's failure with these diagnoses; twice none if it has none."""
    order = next((o for o in ORDERS if o in name.rpartition("[")[2].rstrip("]").split("-")), ORDERS[0])
    for machines, orders, code, pattern, reason in expected():
        # A pattern's brackets are the test's, not a set of letters.
        if machine in machines and order in orders and codes == ([] if code in ("-", OTHER) else [code]) and fnmatch.fnmatchcase(name, pattern.replace("[", "[[]")):
            return code, reason
    return None, None


def reason_of(machine, name, codes):
    return listed(machine, name, codes)[1]


def sample(ids, share, seed, most):
    """Of each file those with the lowest places, so that a smaller sample is a part of a larger one."""
    by_file = collections.defaultdict(list)
    for name in sorted((n for n in ids if plugin.sampled(n, share, seed)), key=lambda n: plugin.place(n, seed)):
        by_file[file_of(name)].append(name)
    return [name for names in by_file.values() for name in names[: most or None]]


def record_of(area, machine):
    path = RESULTS / f"{area}.{machine}.json"
    return json.loads(path.read_text()) if path.exists() else None


def run_area(environment, machine, area, options):
    RESULTS.mkdir(parents=True, exist_ok=True)
    base = RESULTS / f"{area}.{machine}.json"
    log, ids_file = base.with_suffix(".log"), base.with_suffix(".ids")
    until = time.monotonic() + options.limit
    record = {"triton": environment.triton, "tests": environment.source, "area": area, "machine": machine, "seed": options.seed}
    before = record_of(area, machine) if options.go_on else None
    if before and all(before.get(key) == value for key, value in record.items()):
        record = before
    else:
        ids, errors = collect(environment, machine, AREAS[area], log)
        record |= {"ids": ids, "errors": errors, "said": []}
    if record["errors"]:
        print("not collected:", *record["errors"], sep="\n    ", flush=True)
    done = {line["id"] for line in record["said"]}
    ids = [name for name in sample(record["ids"], options.share, options.seed, options.most) if name not in done]
    for line in run_ids(environment, machine, ids, options.seconds, log, ids_file, until):
        record["said"].append(line)
        if line["outcome"] in ("failed", "crashed", "slow"):
            why = reason_of(machine, line["id"], line.get("codes", []))
            print(f"{line['outcome']}{' as expected' if why else ''}: {line['id']}\n    {why or line['why']}", flush=True)
        base.with_suffix(".part").write_text(json.dumps(record, indent=1))
        base.with_suffix(".part").replace(base)
    counts = collections.Counter(line["outcome"] for line in record["said"])
    print(f"{area} on {machine}: of {len(record['ids'])} tests " + ", ".join(f"{counts[c]} {c}" for c in COUNTED), flush=True)
    return len(record["errors"]) + sum(not reason_of(machine, line["id"], line.get("codes", [])) for line in record["said"] if line["outcome"] in ("failed", "crashed"))


def keep():
    """Counts, by Triton's version, file and machine."""
    said = kept.load(SAID)
    for area in AREAS:
        for machine in MACHINES:
            record = record_of(area, machine)
            if record is None:
                continue
            total = collections.Counter(map(file_of, record["ids"]))
            for file in total:
                lines = [line for line in record["said"] if file_of(line["id"]) == file]
                broken = [line for line in lines if line["outcome"] in ("failed", "crashed")]
                found = [listed(machine, line["id"], line.get("codes", [])) for line in broken]
                reasons = collections.Counter(reason for code, reason in found if code not in (None, OTHER))
                known, other = sum(reasons.values()), sum(code == OTHER for code, _ in found)
                count = collections.Counter(line["outcome"] for line in lines)
                if lines:
                    said.setdefault(record["triton"], {}).setdefault(file, {})[machine] = {"tests": total[file], "taken": len(lines), "passed": count["passed"], "skipped": count["skipped"] + other,
                                                          "slow": count["slow"], "known": known, "unknown": len(broken) - known - other, "reasons": reasons}
    kept.save(SAID, said)


def table():
    lines = ["| Triton | file | machine | taken, of tests in both orders | passed | skipped | slow | failed, each with its reason | failed else |", "|---|---|---|---|---|---|---|---|---|"]
    sums, reasons = collections.Counter(), collections.Counter()
    for version, files in sorted(kept.load(SAID).items(), reverse=True):
        for file in [file for area in AREAS.values() for file in area if file in files]:
            for machine, n in files[file].items():
                reasons.update(n["reasons"])
                sums.update({key: value for key, value in n.items() if key != "reasons"})
                lines.append(f"| {version} | {file} | {machine} | {n['taken']} of {n['tests']} | {n['passed']} | {n['skipped']} | {n['slow']} | {n['known']} | {n['unknown']} |")
    ran = sums["passed"] + sums["known"] + sums["unknown"]
    return lines + ["", f"{sums['taken']:,} of {sums['tests']:,} tests. Of {ran:,} that ran to their end {sums['passed']:,} pass ({sums['passed'] / max(ran, 1):.1%}), "
                    f"{sums['known']} fail with a reason and {sums['unknown']} without.", *([""] if reasons else []),
                    *(f"* {count} fail: {reason}." for reason, count in reasons.most_common())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine", nargs="?", choices=MACHINES)
    parser.add_argument("areas", nargs="*", metavar="AREA")
    parser.add_argument("--areas", dest="list", action="store_true")
    kept.add_options(parser, "--keep")
    parser.add_argument("--repo")
    parser.add_argument("--triton", metavar="VERSION")
    parser.add_argument("--share", type=float, default=1)
    parser.add_argument("--most", type=int, default=0, metavar="N", help="at most N of a file's sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--continue", dest="go_on", action="store_true", help="behind what the last run with this seed said")
    parser.add_argument("--for", dest="limit", type=float, default=math.inf, metavar="SECONDS", help="leave what has not run an area for so long")
    options = parser.parse_args()
    if options.list:
        for name, files in AREAS.items():
            print(name, *files)
        return 0
    if options.keep:
        return keep()
    if (code := kept.answer(options, NOTE, lambda: {"triton": table()}, __file__)) is not None:
        return code
    if not options.machine:
        parser.error("a machine: " + " or ".join(MACHINES))
    if unknown := set(options.areas) - set(AREAS):
        parser.error(f"no area {', '.join(sorted(unknown))}; there are {', '.join(AREAS)}")
    expected()
    environment = Environment(options.repo, options.triton)
    if environment.source != environment.triton:
        print(f"note: the tests are those of {environment.source}, and Triton {environment.triton} is installed", flush=True)
    return min(1, sum(run_area(environment, options.machine, area, options) for area in options.areas or AREAS))


if __name__ == "__main__":
    sys.exit(main())
