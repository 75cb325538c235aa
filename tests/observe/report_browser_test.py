"""The report in a browser: report_browser_test.py REPORT.html STOPPED.html COMPARED.html TASKS.html, of a good run, of one
that a diagnosis stopped, of one beside the first one, and of a program that shows its tasks. Exits with 77 where there is no Chromium: install the package `chromium`, or name one by GEN5_CHROMIUM."""

import sys
import unittest

import browser

PAGE = sys.argv.pop(1)
STOPPED = sys.argv.pop(1)
COMPARED = sys.argv.pop(1)
TASKS = sys.argv.pop(1)
PATH = browser.find()

PLOT = "document.querySelector('[role=application]')"
DETAIL = "document.querySelector('.detail').textContent"
RANGE = "document.querySelector('.tools output').textContent"


def cycles(text):
    """The two ends of 'cycles 1,200 to 3,400 of 5,000 (…)'."""
    words = text.replace(",", "").split()
    return int(words[1]), int(words[3])


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.b = browser.Browser(PATH)

    @classmethod
    def tearDownClass(cls):
        cls.b.close()

    def setUp(self):
        self.b.console.clear()
        self.b.requests.clear()
        self.b.open(PAGE)

    def tearDown(self):
        self.assertEqual(self.b.console, [], "the page's console is silent")
        self.assertEqual([r for r in self.b.requests if not r.startswith(("file://", "data:"))], [])

    def open_all(self):
        self.b.run("for (const d of document.querySelectorAll('details')) d.open = true")
        self.b.settle()
        # What is made when a section opens may have sections of its own.
        self.b.run("for (const d of document.querySelectorAll('details')) d.open = true")
        self.b.settle()

    def focus_timeline(self):
        for _ in range(60):
            self.b.press("Tab")
            if self.b.run("document.activeElement.getAttribute('role')") == "application":
                return
        self.fail("Tab does not lead to the timeline")

    def test_every_kernel_opens(self):
        count = self.b.run("document.querySelectorAll('details.kernel').length")
        self.assertGreater(count, 0)
        self.open_all()
        self.assertEqual(self.b.run("document.querySelectorAll('details.kernel .timeline svg path').length > 0"), True)
        self.assertEqual(self.b.run("document.querySelectorAll('[role=application]').length"), count)
        self.assertEqual(len(self.b.requests), 1, "the page asks for itself alone")

    def test_nothing_is_undefined(self):
        for page in (PAGE, STOPPED, COMPARED, TASKS):
            self.b.open(page)
            self.open_all()
            text = self.b.run("document.body.innerText")
            for word in ("undefined", "NaN", "[object", "Infinity"):
                self.assertNotIn(word, text)
            self.assertEqual(self.b.run("[...document.querySelectorAll('svg *')].filter((e) => [...e.attributes]"
                                        ".some((a) => /NaN|undefined|Infinity/.test(a.value))).length"), 0)

    def test_a_run_that_was_stopped_says_by_what(self):
        self.b.open(STOPPED)
        self.open_all()
        text = self.b.run("document.body.innerText")
        self.assertIn("mbarrier-over-arrival", text)
        self.assertIn("gen5 explain mbarrier-over-arrival", text)
        self.assertIn("stopped by a fault", text)
        # Its warps wait for billions of cycles; the first look is at those in which something happens.
        begin, end = cycles(self.b.run(RANGE))
        self.assertLess(end - begin, 1e6)

    def test_the_verdict_comes_first(self):
        for page in (PAGE, COMPARED):
            self.b.open(page)
            self.assertEqual(self.b.run("document.querySelector('h2').textContent"), "Verdict")
            text = self.b.run("document.querySelector('section').innerText")
            self.assertRegex(text, r"(Limited by|Unclear)\s+\S")
            self.assertRegex(text, r"Try\s+\S")
        self.assertRegex(text, r"If loads were free\s+[\d,]+\s+[−+][\d.]+ %")

    def test_names_are_short_and_whole_on_request(self):
        heading = "document.getElementById('kernel-1')"
        self.assertLess(self.b.run(heading + ".textContent.length"), 40)
        self.assertEqual(self.b.run(heading + ".textContent"), "step 2: tma")
        self.assertIn("gemm::", self.b.run(heading + ".title"))
        self.open_all()
        self.assertIn(self.b.run(heading + ".title"), self.b.run("document.getElementById('section-1').innerText"))

    def test_rows_of_a_unit_are_bracketed(self):
        self.b.run("location.hash = 'kernel-2'")
        self.b.settle()
        rows = self.b.run("[...document.querySelectorAll('#section-2 .labels > div')].map((e) => [e.className, e.textContent])")
        first = next(i for i, (kind, text) in enumerate(rows) if text == "TMA")
        self.assertEqual(rows[first][0], "bracket top")
        last = next(i for i in range(first, len(rows)) if rows[i][0] == "bracket bottom")
        self.assertEqual([text for _, text in rows[first + 1:last + 1]], [str(n) for n in range(2, last - first + 2)])
        self.assertEqual(self.b.run("[...document.querySelectorAll('#section-2 .labels > div')].filter((e) => "
                                    "e.scrollWidth > e.clientWidth || e.scrollHeight > 20).length"), 0, "no label is cut or broken")

    def test_two_runs_are_aligned(self):
        self.b.open(COMPARED)
        text = self.b.run("document.getElementById('compared').parentElement.innerText")
        self.assertIn("Times and limits", text)
        self.assertRegex(text, r"Cycles\s+[\d,]+\s+[\d,]+\s+[−+][\d.]+ %")
        plots = "[...document.querySelectorAll('#section-0 [role=application]')]"
        self.assertEqual(self.b.run(plots + ".length"), 2)
        self.assertEqual(self.b.run(plots + ".map((p) => p.getBoundingClientRect().left)[0]"),
                         self.b.run(plots + ".map((p) => p.getBoundingClientRect().left)[1]"))
        ranges = "[...document.querySelectorAll('#section-0 .tools output')].map((o) => o.textContent)"
        self.assertEqual(len(set(self.b.run(ranges))), 1)
        self.assertIn("before ends", self.b.run("document.getElementById('section-0').textContent"))
        whole = self.b.run(ranges)
        self.b.run("document.querySelectorAll('#section-0 button[aria-label=\"Zoom in\"]')[1].click()")
        self.b.settle()
        self.b.settle()
        near = self.b.run(ranges)
        self.assertEqual(len(set(near)), 1, "both show the same cycles")
        self.assertNotEqual(near, whole)

    def test_a_program_shows_its_tasks(self):
        self.b.open(TASKS)
        labels = self.b.run("[...document.querySelector('.timeline .labels').children].map((e) => e.textContent)")
        self.assertEqual(labels[0], "SM 0")
        self.assertGreater(self.b.run("document.querySelectorAll('svg path.critical').length"), 1)
        self.assertGreater(self.b.run("document.querySelectorAll('svg path.arrow.strong').length"), 1)
        self.focus_timeline()
        self.b.press("ArrowRight")
        self.assertRegex(self.b.run(DETAIL), r"^[a-z_0-9.]+ \d+ · SM \d+ · cycle")

    def test_the_source_is_quoted(self):
        self.assertIn("__global__", self.b.run("document.querySelector('.source').textContent"))

    def test_every_link_leads_somewhere(self):
        self.open_all()
        self.assertEqual(self.b.run("[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash)"
                                    ".filter((hash) => !document.getElementById(decodeURIComponent(hash.slice(1))))"), [])

    def test_keys_choose_spans_and_zoom(self):
        self.focus_timeline()
        self.assertIn("Point at a span", self.b.run(DETAIL))
        self.b.press("ArrowRight")
        first = self.b.run(DETAIL)
        self.assertRegex(first, r"SM 0.*cycle")
        self.b.press("ArrowRight")
        self.assertNotEqual(self.b.run(DETAIL), first)
        self.b.press("ArrowLeft")
        self.assertEqual(self.b.run(DETAIL), first)
        self.b.press("ArrowDown")
        self.assertNotEqual(self.b.run(DETAIL), first)
        begin, end = cycles(self.b.run(RANGE))
        self.b.press("+")
        near = cycles(self.b.run(RANGE))
        self.assertLess(near[1] - near[0], (end - begin) * 0.6)
        self.b.press("ArrowRight", shift=True)
        self.assertGreater(cycles(self.b.run(RANGE))[0], near[0])
        self.b.press("Home")
        self.assertEqual(cycles(self.b.run(RANGE)), (begin, end))
        self.b.press("Enter")
        close = cycles(self.b.run(RANGE))
        self.assertLess(close[1] - close[0], end - begin)
        self.b.press("Escape")
        self.assertIn("Point at a span", self.b.run(DETAIL))

    def test_a_wait_leads_to_the_copy_that_ended_it(self):
        self.b.run("location.hash = 'kernel-1'")  # a kernel whose copies go through TMA
        self.b.settle()
        self.b.run("document.querySelector('details.kernel').open = false")
        plot = "document.querySelectorAll('[role=application]')[1]"
        detail = "document.querySelectorAll('.detail')[1].textContent"
        self.b.run(plot + ".focus()")
        for _ in range(60):
            self.b.press("ArrowRight")
            if "ended by cp.async.bulk.tensor load" in self.b.run(detail):
                break
        else:
            self.fail("no wait was ended by a copy")
        self.assertGreater(self.b.run("document.querySelectorAll('.arrow.strong').length"), 0)
        self.b.press("c")
        self.assertRegex(self.b.run(detail), r"^cp.async.bulk.tensor load · SM 0, TMA")

    def test_the_pointer_shows_and_pans(self):
        self.b.run(PLOT + ".scrollIntoView({block: 'start'})")
        self.b.settle()
        # The middle of a span that is wide enough to carry its name.
        x, y = self.b.run(f"(() => {{ const r = {PLOT}.querySelector('g text:not(.tick)').getBoundingClientRect();"
                          " return [r.left + 4, r.top + r.height / 2]; })()")
        self.b.move(x, y)
        self.assertRegex(self.b.run(DETAIL), r"SM 0.*cycle")
        for _ in range(2):
            self.b.run("document.querySelector('button[aria-label=\"Zoom in\"]').click()")
        self.b.settle()
        before = cycles(self.b.run(RANGE))
        self.b.drag(x, y, -80)
        self.assertGreater(cycles(self.b.run(RANGE))[0], before[0])

    def test_light_and_dark(self):
        colour = "getComputedStyle(document.body).backgroundColor"
        light = self.b.run(colour)
        self.b.open(PAGE, scheme="dark")
        dark = self.b.run(colour)
        self.assertNotEqual(light, dark)
        self.b.run("document.querySelector('input[value=light]').click()")
        self.assertEqual(self.b.run(colour), light)
        self.b.open(PAGE)
        self.b.run("document.querySelector('input[value=dark]').click()")
        self.assertEqual(self.b.run(colour), dark)

    def test_fits_a_phone(self):
        for page in (PAGE, STOPPED, COMPARED, TASKS):
            self.b.open(page, width=390, height=844)
            self.open_all()
            self.assertLessEqual(self.b.run("document.documentElement.scrollWidth"), 390)

    def test_names_and_headings(self):
        self.open_all()
        self.assertEqual(self.b.run("document.querySelectorAll('h1').length"), 1)
        levels = self.b.run("[...document.querySelectorAll('h1,h2,h3')].map((e) => Number(e.tagName[1]))")
        for above, below in zip(levels, levels[1:]):
            self.assertLessEqual(below, above + 1, "no level of headings is left out")
        self.assertEqual(self.b.run("[...document.querySelectorAll('table')].filter((t) => !t.caption).length"), 0)
        self.assertEqual(self.b.run("[...document.querySelectorAll('th')].filter((t) => !t.scope).length"), 0)
        ids = self.b.run("[...document.querySelectorAll('[id]')].map((e) => e.id)")
        self.assertEqual(len(ids), len(set(ids)), "an id stands once")


if __name__ == "__main__":
    if not PATH:
        print("skipped: no Chromium here (package `chromium`, or GEN5_CHROMIUM=/path/to/it)")
        sys.exit(77)
    unittest.main(argv=sys.argv, verbosity=2)
