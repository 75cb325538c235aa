"""What of the tree is C++, and what has changed in it."""
import os
import subprocess
import sys

SUFFIXES = (".cpp", ".h", ".cu", ".cuh", ".inc")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def git(root, *arguments):
    try:
        return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    except OSError:
        skip("no git here")


def files(root, *among):
    """Those that git tracks, but for test data: its lines are cited. Without a repository there is nothing to compare with."""
    listed = git(root, *(among or ("ls-files",)))
    if listed.returncode:
        skip("this is no git checkout")
    return [f for f in listed.stdout.splitlines() if f.endswith(SUFFIXES) and "/data/" not in f and (root / f).exists()]


def changed(root):
    """Since $GEN5_BASE, or since this branch left main; on main, in the last commit. What is not committed counts."""
    base = os.environ.get("GEN5_BASE")
    for branch in () if base else ("origin/main", "main"):
        found = git(root, "merge-base", "HEAD", branch)
        if found.returncode == 0 and found.stdout.strip() != git(root, "rev-parse", "HEAD").stdout.strip():
            base = found.stdout.strip()
            break
    return files(root, "diff", "--name-only", base or "HEAD~1")
