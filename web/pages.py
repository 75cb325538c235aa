"""Scripts, styles and examples that a page with a machine in it loads: for the book (book/make.py) and for tests."""
import json
import pathlib
import re
import shutil

import practice

root = pathlib.Path(__file__).resolve().parent.parent
REPORT = root / "common/tinygpu/observe/report/page"
# In the order in which a page loads them; timeline.js, examples.js and exercises.js are made here.
SCRIPTS = ("machine.js", "launch.js", "playground.js", "timeline.js", "scrub.js", "lesson.js", "examples.js")
EXERCISES = ("machine.js", "launch.js", "playground.js", "timeline.js", "scrub.js", "judge.js", "practice.js", "exercises.js")
STYLES = ("playground.css", "timeline.css", "lesson.css")


def kernels(folder):
    """[{"name", "title", "says", "text"}] of web/FOLDER, in order."""
    out = []
    for path in sorted((root / "web" / folder).glob("*.ptx")):
        text = path.read_text()
        title, says = (" ".join(re.findall(rf"^//! {word}: (.*)", text, re.M)) for word in ("title", "says"))
        out.append({"name": path.stem, "title": title, "says": says, "text": text})
    return out


def examples():
    """What the playground's menu has."""
    return kernels("examples")


def timeline_script():
    """The report's timeline, its scripts in their order, without what only a report has."""
    parts = [(REPORT / name).read_text() for name in ("10_dom.js", "40_spans.js", "41_timeline.js")]
    return "// The report's timeline (common/tinygpu/observe/report/page).\nglobalThis.gen5Timeline = (() => {\n\"use strict\";\n" + "\n".join(parts) + "\nreturn {TimelineView, Spans};\n})();\n"


def scoped(css, scope):
    """Each selector of flat rules behind `scope`."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.S)
    return re.sub(r"([^{}]+)(\{[^{}]*\})", lambda m: "\n" + ", ".join(f"{scope} {s.strip()}" for s in m[1].split(",")) + " " + m[2], css)


def timeline_style():
    """The report's colours and the timeline's rules, for what lies in .gen5-report alone. A page's scheme is the book's, else the system's."""
    colours = re.sub(r"/\*.*?\*/", "", (REPORT / "colours.css").read_text(), flags=re.S)
    light, dark = (re.search(pattern + r"\s*\{([^}]*)\}", colours)[1] for pattern in (r"^\s*:root", r':root\[data-theme="dark"\]'))
    text = ".gen5-report p { margin: 6px 0; } .gen5-report .dim { color: var(--dim); font-size: 12px; }"
    return (f"/* The report's (common/tinygpu/observe/report/page). */\n.gen5-report {{{light}}}\n@media (prefers-color-scheme: dark) {{ .gen5-report {{{dark}}} }}\n"
            f'[data-md-color-scheme="default"] .gen5-report {{{light}}}\n[data-md-color-scheme="slate"] .gen5-report {{{dark}}}\n'
            f".gen5-report {{ color: var(--text); background: var(--page); padding: 4px 8px; font-variant-numeric: tabular-nums; }}\n{text}\n"
            + scoped((REPORT / "timeline.css").read_text(), ".gen5-report"))


def write(folder, module):
    """All of it, with the packed module."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"timeline.js": timeline_script(), "timeline.css": timeline_style(),
            "examples.js": f"globalThis.gen5Examples = {as_script(examples())};\n",
            "exercises.js": f"globalThis.gen5Exercises = {as_script([e.page() for e in practice.all_exercises()])};\n"}
    for name in {*SCRIPTS, *EXERCISES, *STYLES}:
        if name in made:
            (folder / name).write_text(made[name])
        else:
            shutil.copyfile(root / "web" / "page" / name, folder / name)
    shutil.copyfile(module, folder / module.name)


def as_script(value):
    return json.dumps(value, ensure_ascii=False).replace("</", "<\\/")


def tags(up, exercises=False):
    """What a page with elements for the machine ends with; the page of exercises has its own. `up`: the way to the folder."""
    scripts, then = (EXERCISES, f"gen5Practice({json.dumps(up)}, gen5Exercises);") if exercises else (SCRIPTS, f"gen5Pages({json.dumps(up)}, gen5Examples);")
    loaded = "".join(f'<link rel="stylesheet" href="{up}{name}">\n' for name in STYLES) + "".join(f'<script src="{up}{name}"></script>\n' for name in scripts)
    return f"{loaded}<script>{then}</script>\n"
