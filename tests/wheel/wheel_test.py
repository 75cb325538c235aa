#!/usr/bin/env python3
"""wheel_test.py VERSION [NVCC]: makes the release's wheel (or takes $GEN5_WHEEL), looks at its tag and at what is in it, and installs it into a new
environment and, as root where there is debootstrap, into an empty Debian 12 and 13 and an empty Ubuntu 22.04, whose C library (2.35) is the oldest that the wheel's tag
allows: there it explains an instruction, runs a kernel of PTX from Python, and runs a program that nvcc built here. A distribution whose archive cannot be
reached is left out, and the test says so. On 28 November 2026 a wheel passed in all three.
The roots are kept in $GEN5_ROOTS if that names a folder. Exits 77 if PyPI cannot be reached."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile

here = pathlib.Path(__file__).resolve().parent
root = here.parent.parent
version, nvcc = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
# Suite, name, archive, and what debootstrap needs beside it. Debian has no key of Ubuntu's archive: its packages are not verified, and only run in the root.
DISTRIBUTIONS = (("bookworm", "Debian 12", "http://deb.debian.org/debian", ()),
                 ("trixie", "Debian 13", "http://deb.debian.org/debian", ()),
                 ("jammy", "Ubuntu 22.04", "http://archive.ubuntu.com/ubuntu", ("--components=main,universe", "--no-check-gpg")))
# What a manylinux system has; PEP 600 and auditwheel's policies list it.
SYSTEM = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "librt.so.1"}


def run(*command, code=0, **options):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != code:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(what, truth, said=""):
    if not truth:
        sys.exit(f"failed: {what}\n{said}")
    print(f"holds: {what}", flush=True)


def look_at(wheel, folder):
    """The wheel's tag, its files, and the libraries that they need."""
    name = re.fullmatch(r"gen5-([\d.]+)-py3-none-manylinux_(\d+)_(\d+)_x86_64\.whl", wheel.name)
    expect("the wheel is of any CPython, for a C library and no distribution", name and name[1] == version, wheel.name)
    ours = tuple(map(int, re.search(r"(\d+)\.(\d+)$", os.confstr("CS_GNU_LIBC_VERSION")).groups()))
    expect(f"it needs no later C library than this system's, {ours}", (int(name[2]), int(name[3])) <= ours, wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = {n for n in archive.namelist() if not n.endswith("/")}
        archive.extractall(folder)
    modules = {f"gen5/{p.relative_to(root / 'python/gen5')}" for p in (root / "python/gen5").rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    machines = {f"gen5/lib/machines/{p.name}" for p in (root / "probes/machines").glob("*.json")}
    wanted = modules | machines | {"gen5/bin/gen5", "gen5/lib/libtinygpu.so", "gen5/lib/libcuda.so.1", "gen5/lib/libcudart.so.13", "gen5/lib/libgen5_nvrtc.so", "gen5.pth"}
    expect("it has the command, the stand-in libraries, the machines and the package", wanted <= names, sorted(wanted - names))
    added = {n for n in names - wanted if not n.startswith(f"gen5-{version}.dist-info/")}
    expect("and the libraries that not every system has, nothing else", added and all(re.match(r"gen5\.libs/lib(fmt|zstd|lz4)", n) for n in added), added)
    expect("with the licence", any(n.endswith("LICENSE") for n in names), sorted(names))
    metadata = next(p for p in folder.rglob("METADATA")).read_text()
    expect("its metadata say what it runs on", f"Version: {version}\n" in metadata and "Requires-Python: >=3.10" in metadata and "Requires-Dist: numpy" in metadata, metadata)
    inside = {pathlib.Path(n).name for n in names}
    for file in (p for p in folder.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"\x7fELF"):
        said = run("readelf", "-d", "-W", file)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))
        expect(f"{file.name} needs what is in the wheel or on every system", needed <= SYSTEM | inside, needed)
        runpath = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", said)
        expect("and finds it from where it is", all(p.startswith("$ORIGIN") for r in runpath for p in r.split(":")), said)


def try_it(shell, program, where):
    """What a newcomer does. shell(command, code=0): runs it where the wheel is installed."""
    said = shell("gen5 --version")
    expect(f"{where}: the command says its version", said.strip() == f"gen5 {version}", said)
    said = shell("gen5 explain tcgen05.commit")
    expect(f"{where}: it explains an instruction", "mbarrier" in said, said)
    said = shell("python3 kernel.py")
    expect(f"{where}: a kernel of PTX runs from Python", said.splitlines()[-1] == "496", said)
    if program:
        said = shell("gen5 run --machine h200 ./program 3")
        expect(f"{where}: a program that was built elsewhere runs", said.splitlines()[-1] == "1488", said)
        said = shell("gen5 run --machine h200 ./program 0", code=1)
        expect(f"{where}: and one that is wrong is told why", "error[illegal-address]" in said and "program.cu" in said, said)


def reached(archive, suite):
    try:
        return urllib.request.urlopen(f"{archive}/dists/{suite}/Release", timeout=30).status == 200
    except (urllib.error.URLError, OSError):
        return False


def in_root(distribution, wheel, wheels, work, program):
    """An empty system: its smallest set of packages, Python and what makes environments."""
    suite, name, archive, options = distribution
    folder = pathlib.Path(os.environ.get("GEN5_ROOTS", work)) / suite
    if not (folder / "usr/bin/python3").exists():
        if not reached(archive, suite):
            print(f"not tried: {name}, whose archive cannot be reached")
            return
        run("debootstrap", "--variant=minbase", "--include=python3-venv", *options, suite, folder, archive)
    shutil.rmtree(folder / "try", ignore_errors=True)
    (folder / "try/wheels").mkdir(parents=True)
    release = run("chroot", folder, "python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
    run(wheels, "download", "--quiet", "--only-binary=:all:", "--python-version", release, "--dest", folder / "try/wheels", "numpy")
    shutil.copy(wheel, folder / "try")
    shutil.copy(here / "kernel.py", folder / "try")
    if program:
        shutil.copy(program, folder / "try/program")
        shutil.copy(here / "program.cu", folder / "try")

    def shell(command, code=0):
        line = f"mount -t proc proc {folder}/proc && exec chroot {folder} sh -c 'cd /try && PATH=/try/venv/bin:/usr/bin:/bin {command}'"
        return run("unshare", "-m", "sh", "-c", line, code=code, env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"})

    library = re.search(r"(\d+\.\d+)$", shell("getconf GNU_LIBC_VERSION").strip())[1]
    expect(f"{name}, C library {library}: there is no compiler", "none" in shell("sh -c \"command -v cc gcc g++ clang || echo none\""))
    shell("python3 -m venv /try/venv")
    shell(f"pip install --quiet --no-index --find-links /try/wheels /try/{wheel.name}")
    try_it(shell, program, f"{name}, Python {release}")


with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    if not os.environ.get("GEN5_WHEEL"):
        made = subprocess.run([root / "scripts/wheel", work / "dist"], stdout=subprocess.PIPE, text=True)
        if made.returncode:
            sys.exit("scripts/wheel failed")
    wheel = pathlib.Path(os.environ.get("GEN5_WHEEL") or root / made.stdout.split()[-1]).resolve()
    look_at(wheel, work / "unpacked")
    program = None
    if nvcc:
        run(nvcc, "-arch=sm_90a", "-lineinfo", "-o", work / "program", "program.cu", cwd=here)
        program = work / "program"
    run(sys.executable, "-m", "venv", work / "venv")
    pip = work / "venv/bin/pip"
    if subprocess.run([pip, "install", "--quiet", "--disable-pip-version-check", wheel]).returncode:
        print("skipped: the wheel's requirements cannot be had")
        sys.exit(77)
    for file in ("kernel.py", "program.cu"):
        shutil.copy(here / file, work)
    environment = {"PATH": f"{work}/venv/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    try_it(lambda command, code=0: run("sh", "-c", command, code=code, cwd=work, env=environment), program, "a new environment")
    if os.geteuid() or not shutil.which("debootstrap"):
        print("without an empty system: that needs root, and debootstrap")
        sys.exit(0)
    for distribution in DISTRIBUTIONS:
        in_root(distribution, wheel, pip, work, program)
