#!/usr/bin/env python3
"""Notes, tasks and reasons are written in plain sentences: proselint's checks, and the rules of CONTRIBUTING.md, "How we write".

  prose_test.py              checks README, CONTRIBUTING, the notes, the chapters' mistakes, the exercises' tasks, hints and
                             what they leave behind, the projects
  prose_test.py FILE.md …    checks these pages

A rule that a page breaks for a reason has no exception: write the sentence again. Exits with 77 where proselint is not installed.
"""
import pathlib
import re
import sys

try:
    import proselint.tools
except ImportError:
    if sys.executable != "/usr/bin/python3" and pathlib.Path("/usr/lib/python3/dist-packages/proselint").exists():
        import os

        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])  # Debian's proselint belongs to Debian's Python
    print("skipped: proselint is not installed (Debian's python3-proselint)")
    sys.exit(77)

root = pathlib.Path(__file__).resolve().parents[2]

# What is banned, and what to write instead.
BANNED = (
    (r"\b(nobody|somebody|anybody|whoever)\b", "name the actor: which thread, unit or CTA?"),
    (r"(?:^|(?<=[.:;] ))(Who|Whoever) (?!.*\?)", "begin with the subject: 'a thread that …'"),
    (r"\bfor ever\b", "forever"),
    (r"\b(comes|come) to lie\b", "lies"),
    (r"\bis told of\b|\bare told of\b|\btells of\b", "reports, names"),
    (r"(?<!, )\bthe copy unit\b", "TMA"),
)
LONGEST, MEAN = 48, 19  # words in a sentence; in the mean of a page
PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being) (?:\w+ly )?\w+(?:ed|en|ne|wn)\b")
# proselint's checks of typography and of dates know neither 128 x 64 nor a version number.
SWITCHED_OFF = ("typography.", "dates_times.")


def paragraphs(markdown):
    """The page's sentences without tables, code, pictures and marks."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", markdown, flags=re.S)
    text = re.sub(r"(?m)^(\||#|    ).*$", "", text)
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "X", text)
    for block in re.split(r"\n\s*\n|\n(?=[-*] |\d+\. |\*\*)", text):
        if words := " ".join(re.sub(r"[*_]{1,2}", "", block).split()).lstrip("- "):
            yield words


def sentences(paragraph):
    return [s for s in re.split(r"(?<=[.?!:;]) (?=[A-Z0-9(X])", paragraph) if s]


def findings(texts):
    lengths = []
    for text in texts:
        for pattern, instead in BANNED:
            for found in re.finditer(pattern, text, re.I if pattern.startswith(r"\b(nobody") else 0):
                yield f"{found[0]!r}: {instead}\n    {text[max(0, found.start() - 40) : found.end() + 40]}"
        for sentence in sentences(text):
            count = len(sentence.split())
            lengths.append(count)
            if count > LONGEST:
                yield f"a sentence of {count} words, at most {LONGEST}: cut it\n    {sentence}"
            if len(PASSIVE.findall(sentence)) > 3:
                yield f"{len(PASSIVE.findall(sentence))} passives in one sentence: name the actors\n    {sentence}"
    if lengths and sum(lengths) / len(lengths) > MEAN:
        yield f"sentences have {sum(lengths) / len(lengths):.1f} words in the mean, at most {MEAN}"
    for check, message, _, _, start, end, *_ in proselint.tools.lint("\n\n".join(texts)):
        if not check.startswith(SWITCHED_OFF):
            yield f"{check}: {message}"


def fields(path, names):
    """The texts of a file of `name: text` lines, which go on where a line begins with two spaces."""
    return [" ".join(m[1].split()) for m in re.finditer(rf"(?m)^(?:{names}): ?(.*(?:\n  .*)*)", path.read_text())]


def pages():
    for path in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "notes").rglob("*.md"))]:
        yield path, list(paragraphs(path.read_text()))
    for path in sorted((root / "chapters").rglob("mistakes.txt")):
        yield path, fields(path, r"mistake [\w-]+|why")
    tasks = []
    for folder in sorted((root / "exercises").glob("[0-9]*")):
        comment = re.match(r"(?://.*\n)+", (folder / "exercise.cu").read_text())[0]
        tasks += [" ".join(comment.replace("//", "").split("\n\n")[1].split()), *fields(folder / "solution.txt", "hint|knows|remember")]
    yield root / "exercises", tasks
    for folder in sorted((root / "web" / "exercises").glob("[0-9]*")):
        task = " ".join(re.findall(r"(?m)^//! says: (.*)", (folder / "exercise.ptx").read_text()))
        yield folder, [task, *fields(folder / "solution.txt", "hint|knows")]
    for path in sorted((root / "projects").rglob("*.md")):
        yield path, list(paragraphs(path.read_text()))


def main():
    named = [(pathlib.Path(name), list(paragraphs(pathlib.Path(name).read_text()))) for name in sys.argv[1:]]
    count = bad = 0
    for path, texts in named or pages():
        count += sum(len(sentences(t)) for t in texts)
        for finding in findings(texts):
            bad += 1
            print(f"{path.relative_to(root) if path.is_relative_to(root) else path}: {finding}")
    if not named and count < 1000:
        print(f"only {count} sentences were read")
        bad += 1
    print(f"{count} sentences, {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
