#!/usr/bin/env python3
"""size_test.py MODULE.wasm: the module is below what web/pack.py allows, which refuses a larger one. Exit code 77 where there is no module
(scripts/web)."""
import pathlib
import random
import subprocess
import sys
import tempfile

PACK = pathlib.Path(__file__).resolve().parent.parent.parent / "web" / "pack.py"


def packed(module, folder):
    done = subprocess.run([sys.executable, PACK, module, folder / "module.js"], capture_output=True, text=True)
    print((done.stdout + done.stderr).strip())
    return done.returncode == 0


def main():
    module = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        large = folder / "large.wasm"
        large.write_bytes(random.Random(1).randbytes(3_100_000))
        if packed(large, folder):
            print("pack.py takes a module of more than 3 MB")
            return 1
        if not module.exists():
            print("skipped: needs scripts/web")
            return 77
        return 0 if packed(module, folder) else 1


if __name__ == "__main__":
    sys.exit(main())
