"""How far a build by ninja is, told to a person at a terminal while pip keeps the build's own output to itself."""

import contextlib
import shutil
import subprocess
import threading


def steps(folder):
    """How many of its steps ninja has done in this folder, and how many there are; (0, 0) before it has begun."""
    log = folder / ".ninja_log"
    if not log.exists() or not shutil.which("ninja"):
        return 0, 0
    done = {line.split("\t")[3] for line in log.read_text().splitlines() if line.count("\t") >= 4}
    all_of_them = subprocess.run(["ninja", "-C", folder, "-t", "targets", "all"], capture_output=True, text=True).stdout.splitlines()
    files = {line.split(":")[0] for line in all_of_them if "_COMPILER__" in line}
    return len(done & files), len(files)


@contextlib.contextmanager
def told(folder, every=5, terminal="/dev/tty"):
    """pip keeps to itself what a build prints; a line on the terminal, where there is one, for each tenth of the files."""
    try:
        out = open(terminal, "w")
    except OSError:  # no terminal: pip says that the build is still running
        yield
        return
    ended = threading.Event()

    def watch():
        said = 0
        while not ended.wait(every):
            done, files = steps(folder)
            if files and done * 10 // files > said:
                said = done * 10 // files
                out.write(f"\r  gen5: {done} of {files} files are compiled\n")
                out.flush()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        out.close()
