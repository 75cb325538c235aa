#!/usr/bin/env python3
"""pack.py MODULE.wasm OUT.js: the module as a script that pages load, packed by gzip, in base64: a page that is opened as a file may load scripts,
and nothing else. Says how large it is; more than 3 MB packed is an error."""
import base64
import gzip
import pathlib
import sys

LARGEST = 3_000_000

module = pathlib.Path(sys.argv[1]).read_bytes()
packed = gzip.compress(module, 9, mtime=0)
pathlib.Path(sys.argv[2]).write_text(f'globalThis.gen5Module = "{base64.b64encode(packed).decode()}";\n')
print(f"{sys.argv[1]}: {len(module):,} bytes, {len(packed):,} packed")
if len(packed) > LARGEST:
    sys.exit(f"pack.py: more than {LARGEST:,} bytes packed")
