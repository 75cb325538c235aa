#!/usr/bin/env python3
"""axe_test.py SITE: what axe-core says of the built pages in a headless Chromium, at desktop and phone width, light and dark; opened
as files, as a reader without a server does, who can also search. Exit code 77 where there is no Chromium or no axe-playwright-python
(book/requirements_test.txt)."""
import pathlib
import shutil
import sys

PAGES = ("index", "notes/start_here", "notes/00_order", "notes/05_mma", "chapters/01_mbarrier", "isa/tcgen05.mma", "exercises", "figures",
         "machines/b200", "notes/mistakes")
SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def main():
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from axe_playwright_python.sync_playwright import Axe
        from playwright.sync_api import sync_playwright
    except ImportError:
        browser_path = None
    if not browser_path:
        print("skipped: needs Chromium (scripts/setup --browser) and book/requirements_test.txt")
        return 77
    site, faults = pathlib.Path(sys.argv[1]).resolve(), []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                page = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
                fetched = []
                page.on("request", lambda request: fetched.append(request.url) if request.url.startswith("http") else None)
                for name in PAGES:
                    page.goto(f"file://{site}/{name}.html")
                    page.wait_for_timeout(200)  # the theme wraps tables and marks instructions in scripts
                    results = Axe().run(page).response
                    for v in results["violations"]:
                        if v["impact"] in ("serious", "critical"):
                            faults.append(f"{name}, {size}, {scheme}: {v['id']} ({v['impact']}), {len(v['nodes'])} times, first: {' '.join(v['nodes'][0]['html'].split())[:160]}")
                    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                    if wide > 0:
                        faults.append(f"{name}, {size}: the page is {wide} pixels wider than the window")
                if fetched:
                    faults.append(f"{size}, {scheme}: asked the network for {sorted(set(fetched))}")
        page = browser.new_page()
        page.on("pageerror", lambda error: faults.append(f"a script fails: {error}"))
        page.goto(f"file://{site}/index.html")
        page.fill(".md-search__input", "tcgen05.commit")
        page.click(".md-search__input")
        try:
            page.wait_for_selector(".md-search-result__item", timeout=20000)
        except Exception:
            faults.append("the search finds nothing for tcgen05.commit")
        browser.close()
    print("\n".join(faults) or f"{len(PAGES)} pages, two widths, light and dark: nothing serious; the search answers; no network")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
