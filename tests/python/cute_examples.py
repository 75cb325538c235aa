#!/usr/bin/env python3
"""Runs CuTe DSL's published examples for Blackwell and Hopper, as they are, on small problems, and says what came of each.

  cute_examples.py [NAME…]     those whose path has one of these words (default: all); exit 77 where torch or the examples are not there
  cute_examples.py --list      what runs, with its arguments and machine
  cute_examples.py --keep      puts what these runs said into cute_said.json, which makes the note's table
  cute_examples.py --table     that table; --write-note renews it in notes/python_kernels.md, --check-note looks whether it is there
  cute_examples.py --check-results  whether the runs said what cute_said.json says; exit 77 where none has run

GEN5_CUTLASS_REPO names a clone of github.com/NVIDIA/cutlass (a tag near the CuTe DSL that is installed). Torch's environment has CuTe DSL.
An example compares with its own reference. "stopped": an error that tinygpu told of a kernel ended it; notes/wild.md argues each that cute_said.json has.
Warnings are not shown. Examples for several GPUs and for GPUs that are not modelled (sm_103, sm_120) are not run."""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import run

import fetch  # run.py has made these two importable
import kept

NOTE = run.ROOT / "notes/python_kernels.md"
SAID = pathlib.Path(__file__).resolve().parent / "cute_said.json"
RESULTS = run.LIBRARIES.parent / "cute_example_results"
FOLDER = "examples/python/CuTeDSL/cute"
SECONDS = 900
ONCE = "--iterations 1 --warmup_iterations 0"
GEMM = f"--mnkl 256,256,128,1 {ONCE}"
GROUPS = f"--num_groups 2 --problem_sizes_mnkl (256,256,128,1),(128,256,64,1) {ONCE}"
ATTENTION = f"--q_shape 1,128,2,128 --k_shape 1,128,2,128 {ONCE}"
DENSE, SCALED, BLOCKWISE, MIXED = (f"blackwell/kernel/{name}" for name in ("dense_gemm", "blockscaled_gemm", "blockwise_gemm", "mixed_input_gemm"))
TUTORIAL = "blackwell/tutorial/tutorial_gemm"
# Path below FOLDER: arguments. Those without some are run as they are.
EXAMPLES = {
    **{f"{TUTORIAL}/fp16_gemm_{n}.py": "--mnk 256,256,128" for n in ("0", "1", "2", "3", "3_1", "4", "5", "6")},
    **{f"{TUTORIAL}/nvfp4_gemm_{n}.py": "--mnkl 256,256,256,1" for n in (0, 1)},
    **{f"blackwell/tutorial/tutorial_tma/tma_v{n}.py": "--M 256 --N 256 --num_warmup 0 --num_iters 1" for n in range(3)},
    f"{DENSE}/dense_gemm.py": GEMM,
    f"{DENSE}/dense_gemm_alpha_beta_persistent.py": GEMM,
    f"{DENSE}/dense_gemm_persistent.py": GEMM,
    f"{DENSE}/dense_gemm_persistent_dynamic.py": GEMM,
    f"{DENSE}/dense_gemm_persistent_prefetch.py": GEMM,
    f"{DENSE}/dense_gemm_software_pipeline.py": GEMM,
    f"{SCALED}/dense_blockscaled_gemm_persistent.py": f"--mnkl 256,256,256,1 {ONCE}",
    f"{SCALED}/dense_blockscaled_gemm_persistent_amax.py": f"--mnkl 256,256,256,1 {ONCE}",
    f"{SCALED}/dense_blockscaled_gemm_persistent_prefetch.py": f"--mnkl 256,256,256,1 {ONCE}",
    "blackwell/kernel/blockscaled_grouped_gemm/grouped_blockscaled_gemm.py":
        f"--num_groups 2 --problem_sizes_mnkl (256,256,256,1),(128,256,256,1) {ONCE}",
    f"{BLOCKWISE}/blockwise_gemm.py": f"--mnkl 256,256,256,1 {ONCE}",
    f"{BLOCKWISE}/contiguous_grouped_gemm.py": f"--mnkl 256,256,256,2 {ONCE}",
    f"{BLOCKWISE}/masked_grouped_gemm.py": f"--mnkl 256,256,256,2 {ONCE}",
    "blackwell/kernel/grouped_gemm/grouped_gemm.py": GROUPS,
    f"{MIXED}/mixed_input_gemm.py": f"--mnkl 256,256,256,1 {ONCE}",
    f"{MIXED}/grouped_mixed_input_gemm.py": f"--mnkl 256,256,256,2 {ONCE}",
    f"{MIXED}/grouped_mixed_input_gemm_acc_scale.py": f"--mnkl 256,256,256,2 {ONCE}",
    "blackwell/kernel/moe/torch_grouped_mm.py": "--tokens 256 --experts 2 --top_k_select 1 --hidden 256 --intermediate 256",
    "blackwell/kernel/moe/torch_scaled_grouped_mm.py": "--tokens 256 --experts 2 --top_k_select 1 --hidden 256 --intermediate 256",
    "blackwell/kernel/attention/fmha/fmha.py": ATTENTION,
    "blackwell/kernel/attention/fmha/fmha_bwd.py": f"--s_q 128 --s_k 128 --d 64 --h_q 1 --h_k 1 --b 1 {ONCE}",
    "blackwell/kernel/attention/mamba2_ssd/mamba2_ssd.py": f"--gbehcdln 1,1,1,2,2,64,128,128 {ONCE}",
    "blackwell/kernel/attention/mixed_input_fmha/mixed_input_fmha_decode.py":
        "--batches 1 --seqlen 256 --heads_q 8 --heads_k 1 --iterations 0 --warmup_iterations 0",
    "blackwell/kernel/attention/mixed_input_fmha/mixed_input_fmha_prefill_d256.py": f"--q_shape 1,1,128,256 --k_shape 1,1,128,256 {ONCE}",
    "blackwell/kernel/attention/mixed_input_fmha/mixed_input_fmha_prefill_d512.py": f"--q_shape 1,1,128,512 --k_shape 1,1,256,512 {ONCE}",
    "blackwell/kernel/attention/mla/mla_decode_fp16.py": f"--batch_size 1 --seq_len_q 1 --seq_len_k 128 --split_kv 1 {ONCE}",
    "blackwell/kernel/attention/mla/mla_decode_fp8.py": f"--batch_size 1 --seq_len_q 1 --seq_len_k 128 --split_kv 1 {ONCE}",
    "blackwell/kernel/reduce/reduce.py": "",
    "blackwell/kernel/rmsnorm/rmsnorm.py": f"--M 32 --N 1024 {ONCE}",
    "hopper/kernel/dense_gemm/dense_gemm.py": GEMM,
    "hopper/kernel/dense_gemm/dense_gemm_persistent.py": GEMM,
    "hopper/kernel/dense_gemm/dense_gemm_fp8_2xacc.py": GEMM,
    "hopper/kernel/dense_gemm/dense_gemm_fp8_gelu_persistent.py": GEMM,
    "hopper/kernel/grouped_gemm/grouped_gemm.py": GROUPS,
    "hopper/kernel/attention/fmha.py": ATTENTION,
    "hopper/kernel/cta_norm/cta_norm.py": f"--M 32 --N 1024 {ONCE}",
}


def machine_of(name):
    return "h200" if name.startswith("hopper/") else "b200"


def verdict(code, said):
    """In words, and why where it is not right."""
    refusals = r"error\[(?:not-modelled|not-implemented|private-interface)\]: (.*)"
    if code == 0 and not re.search(r"tinygpu error\[", re.sub(refusals, "", said)):
        return "right", ""  # it may have done without what was refused
    if "DiagnosisError: tinygpu error[" in said:
        return "stopped", ""  # the codes say by what
    if found := re.search(refusals, said):
        return "refused", found[1][:100]
    lines = [line for line in said.splitlines() if re.match(r"\w*(Error|Exception)\b|tinygpu error\[", line.strip())]
    return "wrong", lines[-1].strip()[:100] if lines else f"exit code {code}"


def path_of(name):
    return RESULTS / (name.replace("/", ".") + ".json")


def run_one(repo, name):
    script = repo / FOLDER / name
    environment = run.environment() | {"PYTHONWARNINGS": "ignore"}
    start = time.monotonic()
    try:
        done = subprocess.run([run.with_torch(), "-m", "gen5", "--machine", machine_of(name), script, *EXAMPLES[name].split()], cwd=script.parent,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"verdict": "slow", "why": f"more than {SECONDS} s", "codes": []}, ""
    result, why = verdict(done.returncode, done.stdout)
    codes = sorted(set(re.findall(r"tinygpu (?:warning|error)\[([\w-]+)\]", done.stdout)))
    return {"verdict": result, "why": why, "codes": codes, "seconds": round(time.monotonic() - start)}, done.stdout


def run_all(words):
    run.with_torch()
    if "GEN5_CUTLASS_REPO" not in os.environ:
        fetch.skip("CuTe DSL's examples are on no package index: GEN5_CUTLASS_REPO names a clone of github.com/NVIDIA/cutlass")
    repo = pathlib.Path(os.environ["GEN5_CUTLASS_REPO"]).resolve()
    RESULTS.mkdir(exist_ok=True)
    known = {name for name, result in kept.load(SAID).items() if result["verdict"] == "stopped"}
    broken = 0
    for name in EXAMPLES:
        if words and not any(word in name for word in words):
            continue
        if not (repo / FOLDER / name).exists():
            print(f"{name}: not in {repo}")
            broken += 1
            continue
        result, said = run_one(repo, name)
        print(f"{name} on {machine_of(name)}: {result['verdict']} {result['why']} {' '.join(result['codes'])} {result.get('seconds', '')} s", flush=True)
        path_of(name).with_suffix(".txt").write_text(said)
        path_of(name).write_text(json.dumps(result))
        broken += result["verdict"] == "wrong" or (result["verdict"] == "stopped" and name not in known)
    return broken > 0


def results():
    """(name, what the last run said) of each that has run."""
    for name in EXAMPLES:
        if path_of(name).exists():
            yield name, json.loads(path_of(name).read_text())


def keep():
    said = kept.load(SAID)
    for name, result in results():
        said[name] = {key: result[key] for key in ("verdict", "why", "codes")}
    kept.save(SAID, {name: said[name] for name in EXAMPLES if name in said})


def table():
    said = kept.load(SAID)
    lines = ["| example | machine | arguments | | errors that tinygpu gives |", "|---|---|---|---|---|"]
    for name, arguments in EXAMPLES.items():
        r = said.get(name)
        words = "not run" if r is None else r["verdict"] + (f": {r['why']}" if r["why"] else "")
        codes = " ".join(f"`{c}`" for c in r["codes"]) if r else ""
        shown = arguments.replace(ONCE, "").strip()
        lines.append(f"| {name.removesuffix('.py')} | {machine_of(name)} | {shown and f'`{shown}`'} | {words.replace('|', '')} | {codes} |")
    count = collections.Counter(r["verdict"] for r in said.values())
    return lines + ["", f"{len(said)} of {len(EXAMPLES)} examples have run: " + ", ".join(f"{n} {v}" for v, n in count.most_common()) + "."]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="NAME")
    kept.add_options(parser, "--list", "--keep", "--check-results")
    options = parser.parse_args()
    if options.list:
        for name, arguments in EXAMPLES.items():
            print(machine_of(name), name, arguments)
        return 0
    if options.keep:
        return keep()
    if options.check_results:
        said = kept.load(SAID)
        return kept.differ(((name, result, said.get(name)) for name, result in results()), SAID)
    if (code := kept.answer(options, NOTE, lambda: {"cute": table()}, __file__)) is not None:
        return code
    return run_all(options.words)


if __name__ == "__main__":
    sys.exit(main())
