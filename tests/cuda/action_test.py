"""action_test.py ACTION.yml BUILD PROGRAM: the steps of the GitHub action that are shell, run by hand as a runner would."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

action, build, program = (pathlib.Path(p).resolve() for p in sys.argv[1:4])
# The one step with a script, without a library for YAML.
script = textwrap.dedent(re.search(r"\n      run: \|\n((?:        .*\n|\n)+)", action.read_text())[1])
variables = set(re.findall(r"\n        (GEN5_\w+): \$\{\{", action.read_text()))


def run(folder, what, options):
    home = folder / "gen5"
    if not home.exists():
        (home / "build").mkdir(parents=True)
        (home / "build" / "default").symlink_to(build)
    inputs = {"GEN5_PROGRAM": f"{program} {what}", "GEN5_OPTIONS": options, "GEN5_BUILD": 'test -e "$GEN5_LIB" && echo built > built',
              "GEN5_HOME": str(home), "GEN5_ACTION": str(action.parent)}
    assert set(inputs) == variables, variables
    env = {**os.environ, **inputs, "GITHUB_OUTPUT": str(folder / "output")}
    done = subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=folder, env=env, capture_output=True, text=True)
    sarif = json.loads((folder / "gen5.sarif").read_text())["runs"][0]["results"]
    assert (folder / "built").read_text() == "built\n"
    assert "sarif=gen5.sarif\ndiff=gen5.diff\n" in (folder / "output").read_text()
    return done, sarif, (folder / "gen5.diff").read_text()


with tempfile.TemporaryDirectory() as name:
    done, sarif, diff = run(pathlib.Path(name), "right", "--seeds 1")
    assert done.returncode == 0 and "3 runs of" in done.stdout and not diff, done
    done, sarif, diff = run(pathlib.Path(name), "missing", "--seeds 0")
    assert done.returncode == 1 and "bar.sync 0;" in diff and any(r["ruleId"] == "data-race" and "fixes" in r for r in sarif), done
print("all right")
