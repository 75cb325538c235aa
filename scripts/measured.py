"""Files that scripts/hardware leaves, as scripts/predict, scripts/probe_results and scripts/calibrate read them. A file that is
missing, or holds something else, ends the script with a sentence."""
import csv
import json
import pathlib
import sys


def stop(sentence):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {sentence}")


def text_of(path):
    try:
        return pathlib.Path(path).read_text()
    except (OSError, UnicodeDecodeError) as e:
        stop(f"{path} cannot be read: {getattr(e, 'strerror', None) or e}")


def json_of(path):
    text = text_of(path)
    try:
        return json.loads(text)
    except ValueError as e:
        stop(f"{path} is no JSON ({e}); it begins: {text[:80].strip()!r}")


def ncu_table(path):
    """The rows of what `ncu --csv --page raw` logged; the first has the units."""
    lines = text_of(path).splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        said = " / ".join(line for line in lines if line.strip())[-400:] or "nothing"
        stop(f"{path} has no table, so ncu profiled no kernel. It said: {said}")
    return list(csv.DictReader(lines[start:]))
