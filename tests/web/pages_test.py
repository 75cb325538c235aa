#!/usr/bin/env python3
"""pages_test.py SITE [--browser NAME] [--inputs UNPACK PACK] [--pictures FOLDER]: the site's live pages as a reader has them, in a headless Chromium and
a headless Firefox, opened as files: the first page paints within a second and its rings move, and stand still for those who want that; every kernel
runs; all exercises are solved, judged and remembered; the keyboard suffices; axe finds nothing; a phone's width is enough; light and dark; hostile
PTX gets an error each; the search puts lessons first; served by http, the site is there without a network. No page writes on its console or asks the
network for anything. Exit code 77, with the names of what is missing, where there is no browser, no machine in the pages, or not what drives them."""
import argparse
import functools
import http.server
import json
import pathlib
import re
import sys
import tempfile
import threading
import time

root = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(root / "tests" / "observe"), str(root / "web"), str(pathlib.Path(__file__).parent)]
sys.path += [str(p) for p in root.glob(".venv/lib/python3*/site-packages")]
import browser  # noqa: E402
import browser_test  # noqa: E402
import practice  # noqa: E402

ENDS = "!document.querySelector('.gen5-run').disabled"
LESSONS, TABLES = r"notes/(?:\d\d_|start_here)|practice", r"figures|machines/|evidence|mistakes|reference/|diagnoses|prediction"
SEARCHES = ("tcgen05.commit", "swizzle", "mbarrier phase", "tensor memory", "ring")


class Chromium(browser.Browser):
    def __init__(self, path, scheme="light", still=False):
        super().__init__(path)
        self.features = [{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}]

    def open(self, path, width=1280, height=900):
        super().open(path, width, height, media=self.features)


def browsers(wanted):
    """({name: makes one}, what is missing)."""
    found, missing = {}, []
    if path := browser.find():
        found["chromium"] = functools.partial(Chromium, path)
    else:
        missing.append("Chromium")
    try:
        import firefox

        if path := firefox.find():
            found["firefox"] = functools.partial(firefox.Browser, path)
        else:
            missing.append("Firefox")
    except ImportError:
        missing.append("websockets")
    return {n: b for n, b in found.items() if wanted in (None, n)}, missing


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Visit:
    """One browser, and what is wrong in it."""

    def __init__(self, name, make, site, arguments, axe):
        self.name, self.make, self.site, self.axe, self.faults = name, make, site, axe, []
        self.pictures = arguments.pictures
        self.b, self.allowed = None, ("file:", "blob:", "data:")

    def want(self, condition, what):
        if not condition:
            self.faults.append(f"{self.name}: {what}")
        return condition

    def begin(self, **how):
        self.b = self.make(**how)
        return self.b

    def end(self):
        self.faults += [f"{self.name}: console: {c}" for c in self.b.console]
        self.faults += [f"{self.name}: asked for {r}" for r in self.b.requests if not r.startswith(self.allowed)]
        self.b.close()

    def wait(self, what, seconds=60):
        until = time.monotonic() + seconds
        while not self.b.run(f"!!({what})"):
            if time.monotonic() > until:
                status = self.b.run("[...document.querySelectorAll('.gen5-status')].map((s) => s.textContent).join(' | ')")
                raise RuntimeError(f"{self.name}: after {seconds} s still not: {what}; the page says {status!r}")
            time.sleep(0.05)

    def picture(self, name):
        if self.pictures:
            self.pictures.mkdir(parents=True, exist_ok=True)
            self.b.picture(self.pictures / f"{self.name}_{name}.png")

    def check(self, page):
        """What axe says, and whether the page is too wide."""
        self.b.run(f"void (0, eval)({json.dumps(self.axe)})")
        # An animation's text has no colour of its own while it fades in: the theme's tabs.
        found = self.b.run("axe.run(document, {resultTypes: ['violations'], preload: false}).then((r) => r.violations.map((v) => `${v.id} (${v.impact}), ${v.nodes.length} times, first: ${v.nodes[0].html.slice(0, 160)}`))")
        for said in found:
            self.want(False, f"{page}: axe: {' '.join(said.split())}")
        wide = self.b.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        self.want(wide <= 0, f"{page}: {wide} pixels wider than the window")

    def type(self, text):
        self.b.run(f"(() => {{ const a = [...document.querySelectorAll('.gen5-area')].find((a) => a.offsetParent); a.value = {json.dumps(text)}; a.dispatchEvent(new Event('input')); }})()")

    def press_button(self, words):
        self.b.run(f"[...document.querySelectorAll('button')].find((x) => x.textContent === {json.dumps(words)} && x.offsetParent).click()")

    def there(self, words):
        return self.b.run(f"!![...document.querySelectorAll('button')].find((x) => x.textContent === {json.dumps(words)} && x.offsetParent)")

    def run_what_is_there(self):
        """Runs or judges the page's kernel, if it has one."""
        for load in filter(self.there, ("Load the kernels", "Run it here")):
            self.press_button(load)
            self.wait("document.querySelector('.gen5-run') && document.querySelector('.gen5-area')")
        for begin in filter(self.there, ("Run", "Judge")):
            if not self.status():
                self.wait(ENDS)
                self.press_button(begin)
        if self.there("Run") or self.there("Judge"):
            self.wait(f"{ENDS} && [...document.querySelectorAll('.gen5-status')].find((s) => s.offsetParent && s.textContent)")

    def status(self):
        return self.b.run("[...document.querySelectorAll('.gen5-status')].find((s) => s.offsetParent).textContent")

    def tab_to(self, words, most=60):
        """Tab until what has the focus says these words."""
        for _ in range(most):
            self.b.press("Tab")
            if self.b.run("document.activeElement.textContent.trim()") == words:
                return True
        return self.want(False, f"Tab does not come to {words!r}")


def landing(v):
    v.b.open(v.site / "about.html")  # a browser that has just started paints nothing quickly
    v.b.open(v.site / "index.html")
    painted = v.b.run("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0")
    print(f"{v.name}: the first page paints after {painted:.0f} ms")
    v.want(0 < painted < 1000, f"the first page paints after {painted} ms")
    moves = "[...document.querySelectorAll('.ring-seen')].map((r) => r.getAttribute('width')).join()"
    before = v.b.run(moves)
    time.sleep(0.5)
    v.want(v.b.run(moves) != before, "the rings do not move")
    v.picture("landing")
    v.tab_to("Pause")
    v.b.press("Enter")
    time.sleep(0.2)
    before = v.b.run(moves)
    time.sleep(0.3)
    v.want(v.b.run(moves) == before, "Pause does not pause")
    v.want(v.b.run("document.activeElement.textContent") == "Play", "Pause does not become Play")
    ways = v.b.run("[...document.querySelectorAll('.landing-way')].map((a) => a.href)")
    v.want(len(ways) >= 2, f"the first page has {len(ways)} ways in")
    # The first of them: the kernel that is broken, by the keyboard, to its diagnosis.
    v.tab_to("Break a kernel")
    v.b.press("Enter")
    v.wait("document.querySelector('.gen5-area') && document.readyState === 'complete'")
    v.want("06_deadlock" in v.b.run("location.href"), "Break a kernel leads elsewhere")
    v.tab_to("Run")
    v.b.press("Enter")
    v.wait("document.querySelector('.gen5-problems').textContent.includes('deadlock')")
    v.picture("broken")


def live_pages(v):
    """Each lesson, and of the pages of instructions the first with each kernel."""
    found = {}
    for page in sorted(v.site.rglob("*.html")):
        if live := re.search(r'data-gen5-(?:lesson="\w+"|run.*?</pre>)', page.read_text(), re.S):
            found.setdefault(live[0], page)
    pages = found.values()
    for page in pages:
        v.b.open(page)
        v.run_what_is_there()
        v.want(re.match("Done|Stopped by a fault", v.status()), f"{page.relative_to(v.site)}: {v.status()}")
    print(f"{v.name}: {len(pages)} pages, each with kernels of its own, run")
    v.want(len(pages) > 40, f"only {len(pages)} pages have kernels of their own")


def exercises(v):
    all_of_them = practice.all_exercises()
    v.b.open(v.site / "practice.html")
    for number, e in enumerate(all_of_them):
        v.wait(f"!document.querySelector('[data-gen5-exercise=\"{e.name}\"]').hidden")
        if number == 0:  # by the keyboard alone: judge the untouched file, then the solution
            v.tab_to("Judge")
            v.b.press("Enter")
            v.wait("[...document.querySelectorAll('.gen5-status')].find((s) => s.offsetParent).textContent.startsWith('Not yet')")
            v.picture("not_yet")
        v.type(e.solution.text)
        v.press_button("Judge")
        v.wait("[...document.querySelectorAll('.gen5-success')].find((s) => s.offsetParent)")
        if number in (0, 14):
            v.picture(f"solved_{number + 1}")
        if number + 1 < len(all_of_them):
            v.b.run("[...document.querySelectorAll('.gen5-success a')].find((s) => s.offsetParent).click()")
    v.want("All 15" in v.b.run("document.querySelector('.gen5-count').textContent"), "not all exercises count as solved")
    v.b.open(v.site / "practice.html")
    v.want("All 15" in v.b.run("document.querySelector('.gen5-count').textContent"), "what has been solved is not remembered")
    v.want(v.b.run("document.querySelector('.gen5-area').value") == all_of_them[0].solution.text, "what has been written is not remembered")
    v.type("nothing")
    v.press_button("Judge")
    v.wait("[...document.querySelectorAll('.gen5-status')].find((s) => s.offsetParent).textContent.startsWith('Not yet')")
    print(f"{v.name}: {len(all_of_them)} exercises solved")


def widths(v, scheme):
    for size, (width, height) in {"desktop": (1280, 900), "phone": (390, 844)}.items():
        for name in ("index", "practice", "playground", "isa/mbarrier.init", "notes/01_mbarrier", "chapters/01_mbarrier"):
            v.b.open(v.site / f"{name}.html", width=width, height=height)
            v.run_what_is_there()
            if name == "index":
                v.press_button("Pause")
            time.sleep(0.3)  # the theme wraps tables in scripts, and fades its tabs in
            v.check(f"{name}, {size}, {scheme}")
            v.picture(f"{name.replace('/', '_')}_{size}_{scheme}")


def hostile(v, texts):
    v.b.open(v.site / "playground.html")
    said = {}
    for text in texts:
        v.type(text)
        v.press_button("Run")
        v.b.settle()
        v.wait(ENDS)
        status = v.status()
        problems = v.b.run("document.querySelectorAll('.gen5-problems li').length")
        word = status.split(",")[0].split(" (")[0]
        said[word] = said.get(word, 0) + 1
        v.want(status.startswith("Done") or problems or not status, f"no error for {text[:60]!r}: {status}")
    print(f"{v.name}: {len(texts)} hostile texts: {said}")
    v.want(not v.b.run("window.broken"), "a text has run as a script")
    v.b.run("(() => { const s = [...document.querySelectorAll('select')].find((s) => s.id.endsWith('-example')); s.value = 0; s.dispatchEvent(new Event('change')); })()")
    v.press_button("Run")
    v.wait("document.querySelector('.gen5-status').textContent.startsWith('Done')")


def searching(v):
    for words in SEARCHES:
        v.b.open(v.site / "index.html")
        v.b.run(f"(() => {{ document.querySelector('[data-md-toggle=search]').click(); const i = document.querySelector('.md-search__input'); i.focus(); i.value = {json.dumps(words)}; i.dispatchEvent(new Event('keyup', {{bubbles: true}})); i.dispatchEvent(new Event('input', {{bubbles: true}})); }})()")
        v.wait("document.querySelector('.md-search-result__item a')", 30)
        time.sleep(0.3)
        found = v.b.run("[...document.querySelectorAll('.md-search-result__item')].map((i) => i.querySelector('a').getAttribute('href'))")
        places = [[n for n, href in enumerate(found) if re.search(pattern, href)] for pattern in (LESSONS, TABLES)]
        v.want(places[0] and (not places[1] or places[0][0] < places[1][0]), f"the search for {words!r} puts no lesson above tables: {found[:4]}")


READABLE = "[...document.querySelectorAll('[data-gen5-exercise] .gen5-file')].filter((f) => f.offsetParent && f.textContent.includes('.visible .entry')).length"


def bare(v):
    """Without WebAssembly, and in Chromium without scripts, the exercises are there to read."""
    if v.name == "chromium":
        v.b.call("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.WebAssembly")
    else:
        v.b.call("script.addPreloadScript", functionDeclaration="() => { delete globalThis.WebAssembly; }")
    v.b.open(v.site / "practice.html")
    v.want("WebAssembly" in v.b.run("document.querySelector('.gen5-none').textContent"), "without WebAssembly the exercises say nothing")
    v.want(v.b.run(READABLE) == 15, "without WebAssembly the exercises are not there to read")
    if v.name == "chromium":
        v.b.call("Emulation.setScriptExecutionDisabled", value=True)
        v.b.call("Page.navigate", url=f"file://{v.site}/practice.html")
        time.sleep(1)
        v.want(v.b.run(READABLE) == 15, "without scripts the exercises are not there to read")
        v.want(v.b.run("document.querySelector('.landing-way, noscript')") is not None, "without scripts the exercises say nothing")
        v.picture("without_scripts")


def offline(v):
    """Served, read once, and then without a server."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(v.site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    v.allowed += (address,)
    v.b.open(f"{address}/index.html")
    v.b.run("navigator.serviceWorker.ready.then(() => 0)")
    server.shutdown()
    server.server_close()
    first = practice.all_exercises()[0]
    v.b.open(f"{address}/practice.html")
    v.type(first.solution.text)
    v.press_button("Judge")
    v.wait("document.querySelector('.gen5-success')")
    v.b.open(f"{address}/notes/01_mbarrier.html")
    v.want("mbarrier" in v.b.run("document.title"), "without a network a lesson is missing")
    print(f"{v.name}: the site is there without a network")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("--browser", choices=("chromium", "firefox"))
    parser.add_argument("--inputs", nargs=2, metavar=("UNPACK", "PACK"), help="fuzz_pack, and the pack whose inputs are tried")
    parser.add_argument("--most", type=int, default=60, help="so many of them")
    parser.add_argument("--pictures", type=pathlib.Path)
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    found, missing = browsers(arguments.browser)
    axe = next(iter(root.glob(".venv/lib/python3*/site-packages/axe_playwright_python/axe.min.js")), None)
    missing += ["axe-playwright-python"] * (axe is None) + ["the machine in the pages"] * (not (site / "machine" / "gen5_module.js").exists())
    if missing:
        print(f"skipped: {', '.join(missing)} missing (scripts/setup --browser, scripts/web, scripts/book)")
        return 77
    texts = list(browser_test.HOSTILE)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.inputs:
            texts += browser_test.corpus(*arguments.inputs, arguments.most, pathlib.Path(folder, "inputs"))
    faults = []
    for name, make in found.items():
        v = Visit(name, make, site, arguments, axe.read_text())
        for part, how in ((landing, {}), (live_pages, {}), (exercises, {}), (searching, {}), (bare, {}), (functools.partial(hostile, texts=texts), {}), (offline, {}),
                          (functools.partial(widths, scheme="light"), {}), (functools.partial(widths, scheme="dark"), {"scheme": "dark"})):
            begin = time.monotonic()
            v.begin(**how)
            try:
                part(v)
            except RuntimeError as error:
                v.faults.append(str(error))
            v.end()
            print(f"{name}: {getattr(part, 'func', part).__name__}, {time.monotonic() - begin:.0f} s", flush=True)
        v.begin(still=True)
        v.b.open(site / "index.html")
        time.sleep(0.3)
        v.want(v.b.run("document.querySelector('.ring-play').textContent") == "Play", "the rings move although a reader wants no motion")
        v.end()
        faults += v.faults
    print("\n".join(faults) or f"{len(found)} browsers: the pages run, solve, search, fit and stay")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
