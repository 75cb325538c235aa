#!/usr/bin/env python3
"""browser_test.py BUILD_WEB [--inputs FOLDER] [--pictures FOLDER]: the playground in a headless Chromium, opened as a file: every example
runs, diagnoses mark their lines, Stop works at once, the keyboard suffices, an address holds a kernel, a phone's width is enough, both colour
schemes draw, a page without WebAssembly says so, and hostile PTX gets an error each while the page lives. Exit code 77 where there is no Chromium or
no module (scripts/web)."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(root / "tests" / "observe"))
import browser  # noqa: E402

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Playground</title><link rel="stylesheet" href="playground.css">
<style>:root { color-scheme: light dark } body { font: 15px sans-serif; margin: 12px } @media (prefers-color-scheme: dark) { body { background: #222; color: #eee;
--md-code-bg-color: #2b2e37; --md-code-fg-color: #dfe3ec; --md-default-bg-color: #222; --md-default-fg-color: #eee } }</style></head>
<body>BEFORE<main><h1>Playground</h1><div data-gen5-playground></div></main>
<script src="machine.js"></script><script src="launch.js"></script><script src="playground.js"></script><script src="examples.js"></script>
<script>gen5Pages("", gen5Examples)</script></body></html>"""

HOSTILE = ["", "\0\0\0", ".version 9.0", ".version 9.0\n.target sm_100a\n.address_size 64\n" + "{" * 5000, ".entry " + "a" * 100000, "//! launch: grid 99999999999999999999\n",
           "//! buffer x: f32[1000000000000] = zero\n//! parameters: x\n", "<script>window.broken = 1</script><img src=x onerror='window.broken=1'>",
           ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k() { .shared .b8 x[99999999999]; ret; }"]


def files(build, folder):
    for name in ("machine.js", "launch.js", "playground.js", "playground.css"):
        shutil.copy(root / "web/page" / name, folder / name)
    shutil.copy(build / "gen5_module.js", folder)
    examples = [{"name": p.stem, "title": p.stem, "text": p.read_text()} for p in sorted((root / "web/examples").glob("*.ptx"))]
    (folder / "examples.js").write_text("globalThis.gen5Examples = " + json.dumps(examples).replace("</", "<\\/"))
    (folder / "page.html").write_text(PAGE.replace("BEFORE", ""))
    (folder / "bare.html").write_text(PAGE.replace("BEFORE", "<script>delete globalThis.WebAssembly</script>"))
    return [e["name"] for e in examples]


class Page:
    def __init__(self, b):
        self.b = b

    def status(self):
        return self.b.run("document.querySelector('.gen5-status').textContent")

    def wait(self, seconds, what="!document.querySelector('.gen5-run').disabled"):
        end = time.monotonic() + seconds
        while not self.b.run(what):
            if time.monotonic() > end:
                raise RuntimeError(f"after {seconds} s still not: {what}; the page says {self.status()!r}")
            time.sleep(0.05)

    def type(self, text):
        self.b.run(f"(() => {{ const a = document.querySelector('.gen5-area'); a.value = {json.dumps(text)}; a.dispatchEvent(new Event('input')); }})()")

    def run(self, seconds=60):
        self.b.run("document.querySelector('.gen5-bar .gen5-run').click()")
        self.b.settle()
        self.wait(seconds)
        return self.status()

    def example(self, index):
        self.b.run(f"(() => {{ const s = [...document.querySelectorAll('select')].find((s) => s.id.endsWith('-example')); s.value = {index}; s.dispatchEvent(new Event('change')); }})()")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--inputs", nargs=2, metavar=("UNPACK", "PACK"), help="fuzz_pack, and the pack whose inputs are tried")
    parser.add_argument("--most", type=int, default=60, help="so many of them")
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args()
    path = browser.find()
    if not path or not (arguments.build / "gen5_module.js").exists():
        print("skipped: needs Chromium (scripts/setup --browser) and scripts/web")
        return 77
    faults = []

    def want(condition, what):
        if not condition:
            faults.append(what)

    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        names = files(arguments.build, folder)
        b = browser.Browser(path)
        page = Page(b)
        begin = time.monotonic()
        b.open(folder / "page.html")
        first = page.run()
        print(f"the first run is over {time.monotonic() - begin:.2f} s after the page was asked for: {first}")
        expected = {"03_race": "data-race", "06_deadlock": "deadlock", "09_endless": ""}
        for i, name in enumerate(names):
            page.example(i)
            if name == "09_endless":
                continue
            status = page.run()
            print(f"{name}: {status}")
            text = b.run("document.querySelector('.gen5-problems').textContent")
            if name in expected:
                marked = b.run("document.querySelectorAll('.gen5-bad, .gen5-doubt').length")
                want(expected[name] in text and marked > 0, f"{name}: {expected[name]} is not said, or its line not marked: {status} {text[:200]}")
            else:
                want(status.startswith("Done") and not text, f"{name}: {status} {text[:300]}")
                want(b.run("document.querySelectorAll('.gen5-results table').length") > 0, f"{name}: no buffers are shown")
            if arguments.pictures:
                arguments.pictures.mkdir(parents=True, exist_ok=True)
                b.picture(arguments.pictures / f"{name}.png")
        # Stop, by the button and by the keyboard; the page draws meanwhile.
        page.example(names.index("09_endless"))
        for how in ("document.querySelector('.gen5-run').nextSibling.click()", None):
            b.run("document.querySelector('.gen5-bar .gen5-run').click()")
            time.sleep(0.3)
            begin = time.monotonic()
            b.settle()
            want(time.monotonic() - begin < 1, "the page does not draw while a kernel runs")
            want(page.status().startswith("Running"), f"an endless kernel ends at once: {page.status()}")
            if how:
                b.run(how)
            else:
                b.run("document.querySelector('.gen5-area').focus()")
                b.press("Escape")
            page.wait(3)
            want(page.status().startswith("Stopped"), f"Stop: {page.status()}")
        page.type((root / "web/examples/09_endless.ptx").read_text().replace("//! launch: grid 1", "//! launch: max_cycles 100000, grid 1"))
        page.run()
        want("deadlock" in b.run("document.querySelector('.gen5-problems').textContent") or "cycles" in b.run("document.querySelector('.gen5-problems').textContent"), "an endless kernel ends without a diagnosis")
        # What is wrong is said while one types.
        page.type((root / "web/examples/01_add.ptx").read_text().replace("add.f32 %f3", "add.q32 %f3"))
        page.wait(10, "document.querySelectorAll('.gen5-bad').length > 0")
        # The keyboard alone: from the top to Run.
        b.open(folder / "page.html")
        for _ in range(20):
            b.press("Tab")
            if b.run("document.activeElement.textContent") == "Run":
                break
        want(b.run("document.activeElement.textContent") == "Run", "Tab does not come to Run")
        b.press("Enter")
        b.run("document.activeElement.click()") if not page.status() else None
        page.wait(30, "document.querySelector('.gen5-status').textContent.startsWith('Done')")
        # The address holds it.
        page.type((root / "web/examples/02_shuffle.ptx").read_text())
        b.run("[...document.querySelectorAll('button')].find((x) => x.textContent === 'Share').click()")
        page.wait(5, "location.hash.length > 100")
        address = b.run("location.hash")
        b.open(folder / "page.html")
        b.run(f"location.hash = {json.dumps(address)}")
        b.call("Page.reload")
        time.sleep(0.5)
        page.wait(10, "document.querySelector('.gen5-area') && document.querySelector('.gen5-area').value.includes('warp_sum')")
        # A phone, and the dark.
        for scheme in ("light", "dark"):
            b.open(folder / "page.html", width=390, height=844, scheme=scheme)
            page.run()
            wide = b.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            want(wide <= 0, f"phone, {scheme}: the page is {wide} pixels wider than the window")
            if arguments.pictures:
                b.picture(arguments.pictures / f"phone_{scheme}.png")
        b.open(folder / "page.html", scheme="dark")
        page.run()
        if arguments.pictures:
            b.picture(arguments.pictures / "dark.png")
        # Hostile texts: an error each, and the page lives.
        b.open(folder / "page.html")
        hostile = list(HOSTILE)
        if arguments.inputs:
            inputs = folder / "inputs"
            subprocess.run([arguments.inputs[0], "unpack", arguments.inputs[1], str(inputs)], check=True)
            found = sorted(inputs.iterdir())
            hostile += [p.read_bytes().decode("utf-8", "replace") for p in found[:: max(1, len(found) // arguments.most)]]
        said = {}
        for text in hostile:
            page.type(text)
            status = page.run(60)
            problems = b.run("document.querySelectorAll('.gen5-problems li').length")
            said[status.split(",")[0].split(" (")[0]] = said.get(status.split(",")[0].split(" (")[0], 0) + 1
            want(status.startswith("Done") or problems or not status, f"no error for {text[:60]!r}: {status}")
        print(f"{len(hostile)} hostile texts: {said}")
        want(not b.run("window.broken"), "a text has run as a script")
        page.example(0)
        want(page.run().startswith("Done"), "the page does not live on")
        b.open(folder / "bare.html")
        want("WebAssembly" in b.run("document.querySelector('.gen5-none').textContent"), "without WebAssembly the page says nothing")
        faults += [f"console: {c}" for c in b.console]
        faults += [f"asked for {r}" for r in b.requests if not r.startswith(("file:", "blob:", "data:"))]
        b.close()
    print("\n".join(faults) or "the playground runs")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
