"""What of the tree is C++, and from where its changes count."""
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


def files(root):
    """Those that git tracks, but for test data: its lines are cited."""
    listed = git(root, "ls-files")
    if listed.returncode:
        skip("this is no git checkout")
    return [f for f in listed.stdout.splitlines() if f.endswith(SUFFIXES) and "/data/" not in f and (root / f).exists()]


def base(root):
    """What changes count from: $GEN5_BASE, or where this branch left main; on main, the last commit but one."""
    for branch in ("origin/main", "main"):
        found = git(root, "merge-base", "HEAD", branch)
        if found.returncode == 0 and found.stdout.strip() != git(root, "rev-parse", "HEAD").stdout.strip():
            return os.environ.get("GEN5_BASE") or found.stdout.strip()
    return os.environ.get("GEN5_BASE") or "HEAD~1"
