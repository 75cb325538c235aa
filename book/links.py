#!/usr/bin/env python3
"""links.py SITE: every link and picture of the built pages leads to a file and an anchor that are there, and nothing is fetched
from elsewhere."""
import html.parser
import pathlib
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if a.get("id"):
            self.anchors.add(a["id"])
        if a.get("name"):
            self.anchors.add(a["name"])
        if tag == "a" and a.get("href"):
            self.links.append(a["href"])
        if tag in ("script", "img", "iframe") and a.get("src"):
            self.loads.append(a["src"])
        if tag == "link" and a.get("href") and a.get("rel") in ("stylesheet", "icon"):
            self.loads.append(a["href"])


def faults(site):
    pages = {p: Page(p.read_text(errors="replace")) for p in site.rglob("*.html")}
    out = []
    for path, page in pages.items():
        if "reports" in path.relative_to(site).parts or path.name == "404.html":
            continue
        for link in page.links + page.loads:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.loads and url.scheme != "data":
                    out.append(f"{path.relative_to(site)}: loads {link}")
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                out.append(f"{path.relative_to(site)}: {link} leads nowhere")
            elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].anchors:
                if not url.fragment.startswith("__"):
                    out.append(f"{path.relative_to(site)}: {link}: there is no such place on that page")
    return out


if __name__ == "__main__":
    found = faults(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(found) or "all links lead somewhere")
    sys.exit(1 if found else 0)
