#!/usr/bin/env python3
"""Measures the configurations of product.py on the GPU that is there: measure.py FOLDER leaves h200.csv, gpu.txt and kernels.tar.xz in it.

Needs torch for CUDA and its Triton. `us`: L2 is cold, 256 MB were set to zero before each launch, as triton.testing.do_bench does; `warm`: launches that follow one
another. Median, least and largest of 15 launches behind 3; the host runs ahead, so its time is not in them. Each D is compared, every bit: operands are
whole numbers from -3 to 3."""
import concurrent.futures
import csv
import io
import multiprocessing
import pathlib
import statistics
import subprocess
import sys
import tarfile
import time

import torch

import product

LAUNCHES, BEFORE = 15, 3
CLOCKS = ["nvidia-smi", "--query-gpu=name,driver_version,power.limit,clocks.max.sm,clocks.sm,power.draw,temperature.gpu", "--format=csv,noheader"]


def operands(m, n, k):
    torch.manual_seed(m + n + k)
    a, b = (torch.randint(-3, 4, shape, device="cuda").half() for shape in ((m, k), (k, n)))
    return a, b, torch.empty(m, n, device="cuda", dtype=torch.float16)


def times(launch, before_each):
    """Median, least and largest, in microseconds."""
    for _ in range(BEFORE):
        launch()
    begin, end = ([torch.cuda.Event(enable_timing=True) for _ in range(LAUNCHES)] for _ in range(2))
    torch.cuda.synchronize()
    torch.cuda._sleep(6000000)
    for i in range(LAUNCHES):
        before_each()
        begin[i].record()
        launch()
        end[i].record()
    torch.cuda.synchronize()
    t = [x.elapsed_time(y) * 1e3 for x, y in zip(begin, end)]
    return [f"{x:.3f}" for x in (statistics.median(t), min(t), max(t))]


def compiled(name):
    """Into Triton's cache, in a process of its own; the PTX without lines for debuggers."""
    config = product.configurations()[name]
    m, n, k = product.PROBLEMS[0]
    a, b, d = operands(m, n, k)
    try:
        kernel = product.product.warmup(a, b, d, m, n, k, k, n, n, grid=product.grid_of(m, n), **config.all_kwargs())
    except Exception as e:
        return name, f"{type(e).__name__}: {e}", ""
    lines = kernel.asm["ptx"].splitlines()
    return name, "", "\n".join(line for line in lines if not line.strip().startswith((".loc", ".file", "$L__tmp", "$L__func"))) + "\n"


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    began = time.time()
    with concurrent.futures.ProcessPoolExecutor(8, multiprocessing.get_context("spawn")) as pool:
        texts = list(pool.map(compiled, product.configurations()))
    with tarfile.open(out / "kernels.tar.xz", "w:xz") as archive:
        for name, error, text in texts:
            if error:
                print(name, error)
                continue
            entry = tarfile.TarInfo(name.replace(" ", ".") + ".ptx")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    print(f"{sum(not e for _, e, _ in texts)} compiled after {time.time() - began:.0f} s", flush=True)
    works = {name: config for (name, error, _), config in zip(texts, product.configurations().values()) if not error}
    trash = torch.empty(256 << 20, dtype=torch.int8, device="cuda")
    said = [time.strftime("%Y-%m-%d") + f", torch {torch.__version__}, Triton {product.triton.__version__}", subprocess.run(CLOCKS, capture_output=True, text=True).stdout.strip()]
    wrong = 0
    with open(out / "h200.csv", "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["point", "out", "m", "n", "k", "us", "least", "largest", "warm", "warm_least", "warm_largest"])
        for m, n, k in product.PROBLEMS:
            a, b, d = operands(m, n, k)
            exact = (a.float() @ b.float()).half()  # whole numbers below 2^24

            def row(name, launch):
                rows.writerow([name, "f16", m, n, k, *times(launch, trash.zero_), *times(launch, lambda: None)])
                file.flush()

            library = lambda: torch.mm(a, b, out=d)
            row("cublas", library)
            for name, config in works.items():
                launch = lambda: product.product[product.grid_of(m, n)](a, b, d, m, n, k, k, n, n, **config.all_kwargs())
                d.fill_(float("nan"))
                launch()
                if not torch.equal(d, exact):
                    wrong += 1
                    print("wrong:", name, m, n, k, (d != exact).sum().item(), flush=True)
                row(name, launch)
            row("cublas", library)
            said.append(f"after {m} x {n} x {k}: " + subprocess.run(CLOCKS, capture_output=True, text=True).stdout.strip())
            print(f"{m} x {n} x {k} after {time.time() - began:.0f} s", flush=True)
    (out / "gpu.txt").write_text("\n".join([*said, f"{wrong} wrong"]) + "\n")


if __name__ == "__main__":
    main()
