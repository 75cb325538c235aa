#!/usr/bin/env python3
"""fill.py SITE: writes into SITE/sw.js which files a reader keeps, and a version that changes with any of them. Reports of more than a megabyte are
kept when they have been read."""
import hashlib
import json
import pathlib
import sys

LARGE = 1_000_000

site = pathlib.Path(sys.argv[1])
worker = site / "sw.js"
files, version = [], hashlib.sha256()
for path in sorted(p for p in site.rglob("*") if p.is_file()):
    name = path.relative_to(site).as_posix()
    if path == worker or name.endswith((".map", ".gz")) or name.startswith("sitemap"):
        continue
    version.update(name.encode() + path.read_bytes())
    if not (name.startswith("reports/") and path.stat().st_size > LARGE):
        files.append(name)
text = (pathlib.Path(__file__).parent / "sw.js").read_text()
text = text.replace('const VERSION = "";', f'const VERSION = "{version.hexdigest()[:16]}";').replace("const FILES = [];", f"const FILES = {json.dumps(files)};")
worker.write_text(text)
size = sum((site / f).stat().st_size for f in files)
print(f"{worker}: {len(files)} files, {size:,} bytes, for readers without a network")
