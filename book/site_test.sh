#!/usr/bin/env bash
# site_test.sh PAGES: MkDocs makes a site of what book/make.py has written, with no warning, and every link in it leads somewhere. Exit code 77
# where MkDocs is not installed.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/python -c 'import mkdocs' 2>/dev/null || { echo "skipped: scripts/setup --book installs MkDocs"; exit 77; }
NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --strict --quiet --config-file "$1/mkdocs.yml"
python3 book/links.py "$1/site"
python3 book/offline/fill.py "$1/site"
