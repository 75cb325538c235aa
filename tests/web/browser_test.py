#!/usr/bin/env python3
"""browser_test.py BUILD_WEB [--inputs UNPACK PACK] [--programs BUILD] [--pictures FOLDER]: the playground in a headless Chromium, opened as a file: every example
runs, what it changed and wrote into registers is shown, diagnoses mark their lines, an opcode is completed, Stop works at once, the keyboard suffices, an address holds a kernel, a phone's width is enough, both colour
schemes draw, a page without WebAssembly says so, and hostile PTX gets an error each while the page lives. Exit code 77 where there is no Chromium or
no module (scripts/web)."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

root = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(root / "tests" / "observe"))
sys.path[:0] = [str(root / "web"), str(root / "book")]
import browser  # noqa: E402
import lessons  # noqa: E402
import pages  # noqa: E402

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Playground</title>
<style>:root { color-scheme: light dark } body { font: 15px sans-serif; margin: 12px } @media (prefers-color-scheme: dark) { body { background: #222; color: #eee;
--md-code-bg-color: #2b2e37; --md-code-fg-color: #dfe3ec; --md-default-bg-color: #222; --md-default-fg-color: #eee } }</style></head>
<body>BEFORE<main><h1>Playground</h1>HOST</main>SCRIPTS</body></html>"""
LESSON = "01_mbarrier"

HOSTILE = ["", "\0\0\0", ".version 9.0", ".version 9.0\n.target sm_100a\n.address_size 64\n" + "{" * 5000, ".entry " + "a" * 100000, "//! launch: grid 99999999999999999999\n",
           "//! buffer x: f32[1000000000000] = zero\n//! parameters: x\n", "<script>window.broken = 1</script><img src=x onerror='window.broken=1'>",
           ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k() { .shared .b8 x[99999999999]; ret; }"]


def corpus(unpack, pack, most, folder):
    """Texts of the fuzz corpus, with what a launch of their first kernel needs, where its parameters are plain."""
    subprocess.run([unpack, "unpack", pack, str(folder)], check=True)
    found = sorted(folder.iterdir())
    for path in found[:: max(1, len(found) // most)]:
        text = path.read_bytes().decode("utf-8", "replace")
        entry = re.search(r"\.entry\s+[\w$]+\s*\(([^)]*)\)", text)
        given = [parameter(p) for p in entry[1].split(",")] if entry and entry[1].strip() else []
        yield f"//! launch: grid 2, block 64, max_cycles 200000\n//! buffer memory: u8[65536] = bytes\n//! parameters: {', '.join(given)}\n{text}" if all(given) else text


def parameter(declared):
    """A value for it; nothing where it is of an unusual kind."""
    if m := re.search(r"\.param\s+\.[usb](\d+)\s+[\w$]+\s*$", declared):
        return "memory" if m[1] == "64" else f"u{m[1]} 1"
    if m := re.search(r"\.param\s+(?:\.align\s+\d+\s+)?\.b8\s+[\w$]+\[(\d+)\]\s*$", declared):
        return f"struct({', '.join(f'{at}: memory' for at in range(0, min(128, int(m[1])), 8))})"
    return ""


def files(build, folder):
    pages.write(folder, build / "gen5_module.js")
    page = PAGE.replace("SCRIPTS", pages.tags("")).replace("HOST", "<div data-gen5-playground></div>")
    (folder / "page.html").write_text(page.replace("BEFORE", ""))
    (folder / "bare.html").write_text(page.replace("BEFORE", "<script>delete globalThis.WebAssembly</script>"))
    (folder / "lesson.html").write_text(PAGE.replace("SCRIPTS", pages.tags("")).replace("BEFORE", "").replace("HOST", f'<div data-gen5-lesson="{LESSON}"></div>'))
    return [e["name"] for e in pages.examples()]


def lesson(b, page, folder, want, pictures):
    """A chapter's kernels: they run, their source stands beside them, and each cycle can be looked at."""
    def text(selector):
        return b.run(f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.textContent).join(' | ')")

    def choose(words):
        b.run(f"(() => {{ const s = document.querySelector('.gen5-menu'); s.value = [...s.options].find((o) => o.textContent.includes({json.dumps(words)})).value; s.dispatchEvent(new Event('change')); }})()")

    def at(cycle):
        b.run(f"(() => {{ const s = document.querySelector('.gen5-slider'); s.value = {cycle}; s.dispatchEvent(new Event('input')); }})()")

    for width, height, scheme in ((1280, 900, "light"), (1280, 900, "dark"), (390, 844, "light"), (390, 844, "dark")):
        where = f"lesson, {width} wide, {scheme}"
        b.open(folder / "lesson.html", width=width, height=height, scheme=scheme)
        b.run("document.querySelector('.gen5-run').click()")
        page.wait(30, "document.querySelector('.gen5-menu')")
        choose("ring<4")
        status = page.run()
        want(status.startswith("Done"), f"{where}: {status}")
        want("main.cu" in text(".gen5-tabs button"), f"{where}: the source is not there: {text('.gen5-tabs button')}")
        want(b.run("document.querySelectorAll('.gen5-report svg path').length") > 4, f"{where}: no timeline")
        states = set()
        most = int(b.run("document.querySelector('.gen5-slider').max"))
        for i in range(40):
            at(most * i // 40)
            states |= set(text(".gen5-stage span").split(" | "))
        want({"full", "empty"} <= {s.split(":")[0] for s in states} and any(s.startswith("being filled") for s in states), f"{where}: the ring's stages are {sorted(states)}")
        at(most // 3)
        want("full[3]" in text(".gen5-state td"), f"{where}: mbarriers have no names: {text('.gen5-state td')[:200]}")
        b.run("document.querySelector('button.gen5-number-of-line').click()")
        want(b.run("document.querySelectorAll('.gen5-other').length") > 0, f"{where}: a line of CUDA marks no PTX")
        b.run("(() => { const a = document.querySelector('.gen5-area'); const at = a.value.indexOf('try_wait'); a.setSelectionRange(at, at); a.dispatchEvent(new Event('keyup')); })()")
        want(b.run("document.querySelectorAll('.gen5-here').length") > 0, f"{where}: a line of PTX marks no CUDA")
        wide = b.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        want(wide <= 0, f"{where}: the page is {wide} pixels wider than the window")
        if pictures:
            b.picture(pictures / f"lesson_{width}_{scheme}.png")
    b.run("[...document.querySelectorAll('.gen5-scrub button')].find((x) => x.textContent === 'Stop a run here').click()")
    b.settle()
    page.wait(30)
    want(page.status().startswith("Stopped at"), f"lesson: a run does not stop at the cycle: {page.status()}")
    b.open(folder / "lesson.html")
    b.run("document.querySelector('.gen5-run').click()")
    page.wait(30, "document.querySelector('.gen5-menu')")
    choose("parity: ")
    for order in ("timed", "late", "seeded"):
        b.run(f"[...document.querySelectorAll('select')].find((s) => s.id.endsWith('-order')).value = {json.dumps(order)}")
        page.run()
        want("deadlock" in text(".gen5-problems") and b.run("document.querySelectorAll('.gen5-bad').length") > 0, f"lesson: the mistake's deadlock is not told, {order}: {page.status()}")


def completing(b, page, want):
    """What may stand at the cursor is offered from the table of forms, and taken by keyboard."""
    offers = "[...document.querySelectorAll('.gen5-offers li')].map((o) => o.textContent)"
    line = "document.querySelector('.gen5-area').value.split('\\n').find((l) => l.includes('tcgen05'))"
    page.type((root / "web/examples/01_add.ptx").read_text().replace("  ret;", "  "))
    b.run("(() => { const a = document.querySelector('.gen5-area'); a.focus(); const at = a.value.lastIndexOf('}') - 1; a.setSelectionRange(at, at); })()")
    b.call("Input.insertText", text="tcgen05.comm")
    page.wait(10, f"{offers}.length > 0")
    want(b.run(offers) == ["tcgen05.commit"], f"behind tcgen05.comm are offered {b.run(offers)}")
    b.press("Tab")
    b.call("Input.insertText", text=".cta_group::1.")
    page.wait(10, f"{offers}.length > 1")
    want("mbarrier::arrive::one" in b.run(offers) and "cta_group::1" not in b.run(offers), f"behind tcgen05.commit.cta_group::1. are offered {b.run(offers)}")
    b.press("ArrowDown")
    first = b.run(offers)[0]
    b.press("Enter")
    want(b.run(line).strip() == f"tcgen05.commit.cta_group::1.{first}", f"Enter takes no offer: {b.run(line)}")
    b.call("Input.insertText", text=".b")
    page.wait(10, f"{offers}.length > 0")
    b.press("Escape")
    want(b.run("document.querySelector('.gen5-offers').hidden"), "Escape does not close the list of offers")


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
    parser.add_argument("--programs", type=pathlib.Path, metavar="BUILD", help="try the lesson of a chapter, too, whose program is in BUILD/bin")
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
                want(b.run("document.querySelectorAll('.gen5-changed').length") > 0, f"{name}: what has changed is not marked")
                want(b.run("(() => { const d = document.querySelector('.gen5-written'); d.open = true; return new Promise((done) => setTimeout(() => done(d.querySelectorAll('tbody tr').length), 50)); })()") > 3, f"{name}: registers are not shown")
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
        completing(b, page, want)
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
            hostile += corpus(*arguments.inputs, arguments.most, folder / "inputs")
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
        if arguments.programs:
            lessons.made(arguments.programs, folder / "lessons", LESSON)
            lesson(b, page, folder, want, arguments.pictures)
        b.open(folder / "bare.html")
        want("WebAssembly" in b.run("document.querySelector('.gen5-none').textContent"), "without WebAssembly the page says nothing")
        faults += [f"console: {c}" for c in b.console]
        faults += [f"asked for {r}" for r in b.requests if not r.startswith(("file:", "blob:", "data:"))]
        b.close()
    print("\n".join(faults) or "the playground runs")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
