"""cmake/make_mistakes.py changes what a mistake names, and refuses what does not fit the source."""
import pathlib
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]

SOURCE = """#include "x.h"
namespace {

constexpr int kSize = 4;  // words

struct Shared {
  int a[kSize];
};

template <int kStages>
__global__ void ring(int* out) {
  wait(out);  // for the copy
  if (kStages > 1) {
    arrive(out);
  }
  arrive(out);
}

int other() { return 0; }

}  // namespace
"""

HEAD = "mistake early: Too early\nsays: deadlock\nwhy: It is.\nrun: right(ring<4>)\n"


def made(mistakes):
    """The made file, or the error."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        (folder / "main.cu").write_text(SOURCE)
        (folder / "mistakes.txt").write_text(mistakes)
        out = folder / "mistakes.inc"
        run = subprocess.run(
            [sys.executable, root / "cmake/make_mistakes.py", folder, folder / "mistakes.txt", out],
            capture_output=True,
            text=True,
        )
        return (True, out.read_text().replace(str(folder), "")) if run.returncode == 0 else (False, run.stderr)


good, text = made(HEAD + "copy: main.cu kSize\n@@ main.cu ring\n-  wait(out);\n")
assert good, text
code = text[text.index("namespace early {") : text.index("}  // namespace early")]
assert "constexpr int kSize = 4;" in code and "wait(out)" not in code and code.count("arrive(out)") == 2
assert "int other" not in code and "struct Shared" not in code
assert "inline gen5::harness::Verdict run() { return right(ring<4>); }" in code
assert '#line 13 "/main.cu"\n  if (kStages > 1) {' in code, code  # the lines keep their numbers
assert "[] { return right(ring<4>); }" in text
assert "-   wait(out);  // for the copy" in text  # as the source has it

good, text = made(HEAD + "@@ main.cu ring\n-  wait(out);\n+  look(out);\n")
assert good and '#line 7 "/mistakes.txt"\n  look(out);\n#line 13 "/main.cu"' in text, text

good, text = made(HEAD + "@@ main.cu ring\n   }\n-  arrive(out);\n")
assert good and text[: text.index("// namespace early")].count("arrive(out)") == 1, text

for change, message in {
    "@@ main.cu ring\n-  arrive(out);\n": "these lines stand 2 times in ring",
    "@@ main.cu ring\n-  leave(out);\n": "these lines stand 0 times in ring",
    "@@ main.cu ring\n+  leave(out);\n": "without a line of the source",
    "@@ main.cu rings\n-  wait(out);\n": "main.cu defines rings 0 times",
    "@@ there.cu ring\n-  wait(out);\n": "there is no there.cu",
    "sais: x\n@@ main.cu ring\n-  wait(out);\n": "mistakes.txt:5: no such field: sais",
    "says: x\n@@ main.cu ring\n-  wait(out);\n": "mistakes.txt:5: says stands there twice",
    "": "early has no diff",
}.items():
    good, text = made(HEAD + change)
    assert not good and message in text, (change, text)
good, text = made(HEAD.replace("why: It is.\n", "") + "@@ main.cu ring\n-  wait(out);\n")
assert not good and "early lacks `why:`" in text, text

# From wrong numbers alone a reader needs to be told how to find the fault.
body = "@@ main.cu ring\n-  wait(out);\n"
wrong = HEAD.replace("says: deadlock", "says: wrong numbers")
good, text = made(wrong + body)
assert not good and "early: `find:` says how to find the fault" in text, text
good, text = made(HEAD + "find: Look.\n" + body)
assert not good and "early: `find:` says how to find the fault" in text, text
good, text = made(wrong + "find: Look at the first\n  row.\n" + body)
assert good and "Look at the first row." in text, text
