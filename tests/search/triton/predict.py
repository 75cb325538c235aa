#!/usr/bin/env python3
"""The configurations of product.py on tinygpu's h200: predict.py FILE [JOBS [SECONDS]] adds a row for each to FILE as it is known.

Needs Triton. What FILE has already is not run again, and what is not known after SECONDS is left out."""
import concurrent.futures
import csv
import multiprocessing
import os
import pathlib
import sys
import time

import numpy as np

import gen5

os.environ["GEN5_MACHINE"] = "h200"
gen5.install()

import product  # noqa: E402


def predicted(problem, name, until):
    left = until - time.time()
    if left < 5:
        return None
    m, n, k = problem
    args = [gen5.array(np.zeros(shape, np.float16)) for shape in ((m, k), (k, n), (m, n))] + [m, n, k, k, n, n]
    p, = gen5.predict(product.product, [product.configurations()[name]], args, grid=product.grid_of(m, n), workers=1, timeout=left)
    if p.error:
        print(name, m, n, k, p.error, flush=True)
        return None
    return [name, "f16", m, n, k, f"{p.us:.3f}", p.limiter]


def main():
    began, jobs, limit = time.time(), int(sys.argv[2]) if len(sys.argv) > 2 else None, float(sys.argv[3]) if len(sys.argv) > 3 else 1e9
    path = pathlib.Path(sys.argv[1])
    known = [row for row in csv.reader(path.read_text().splitlines()) if row[1] == "f16"] if path.exists() else []
    done = {tuple(row[:5]) for row in known}
    with path.open("w", newline="") as file, concurrent.futures.ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerows([["point", "out", "m", "n", "k", "us", "limiter"], *known])
        tasks = [pool.submit(predicted, (m, n, k), name, began + limit) for m, n, k in product.PROBLEMS for name in product.configurations()
                 if (name, "f16", str(m), str(n), str(k)) not in done]
        for f in concurrent.futures.as_completed(tasks):
            if row := f.result():
                rows.writerow(row)
                file.flush()
        print(f"{len(tasks)} after {time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
