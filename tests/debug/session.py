"""What the tests of gen5 debug share: a session at the prompt, and its answers."""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(root / "exercises"))
from prompt import Prompt  # noqa: E402, F401  asked line by line


class Build:
    """Programs of a build folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.gen5 = self.folder / "bin" / "gen5"

    def program(self, name, *arguments):
        return [self.folder / "bin" / name, *map(str, arguments)]

    def session(self, *commands, program, options=(), code=None, all_of_it=False):
        """Answers of the prompt, one for each command; `all_of_it`: what stands before the first, too."""
        arguments = [self.gen5, "debug", *options, "--batch"]
        for c in commands:
            arguments += ["-x", c]
        run = subprocess.run([*arguments, *program], capture_output=True, text=True, timeout=280)
        if code is not None and run.returncode != code:
            raise SystemExit(f"{commands}: exit code {run.returncode}, not {code}\n{run.stdout[-3000:]}{run.stderr}")
        parts = re.split(r"^\(gen5\) .*\n", run.stdout, flags=re.M)
        return parts if all_of_it else parts[1:]


def expect(condition, what, *shown):
    if not condition:
        raise SystemExit(f"{what}\n" + "\n".join(map(str, shown)))


def position_in(answer):
    found = re.search(r"position ([\d,]+)", answer)
    expect(found, "no position in the answer", answer)
    return int(found[1].replace(",", ""))


def line_of(path, text):
    """The number of the line of a file that is, or contains, this text."""
    lines = (root / path).read_text().splitlines()
    return next(n for n, line in enumerate(lines, 1) if text in line)
