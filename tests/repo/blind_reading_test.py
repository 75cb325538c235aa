#!/usr/bin/env python3
"""blind_reading.py pairs a passage with the one that took its place, leaves out what stayed, and counts verdicts."""
import json
import pathlib
import subprocess
import sys
import tempfile

import blind_reading

WAS = """# A page

The unit that copies is told by the mbarrier of stage zero that its bytes, all sixteen thousand of them, may come to lie in shared memory once more, at last.

This paragraph about the epilogue and its registers stays as it is, word for word, in both of the pages, however often the passages around it are written anew.

    code is no passage, even if there are many words in it, more than twenty five of them in one line, and so on, and so on, and so forth, until the end
"""
IS = WAS.replace(WAS.split("\n")[2], "TMA may fill stage zero of shared memory again when the mbarrier of that stage has received its arrivals. The copy then brings all "
                                     "sixteen thousand bytes, and the consumer waits for them.")
pairs = blind_reading.pairs(WAS, IS)
assert len(pairs) == 1 and pairs[0][0].startswith("The unit that copies") and pairs[0][1].startswith("TMA may fill"), pairs

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    key = {str(n): {"page": "notes/x.md", "new": "AB"[n % 2]} for n in range(1, 11)}
    (folder / "key.json").write_text(json.dumps({"pairs": key}))

    def judge(verdicts):
        (folder / "verdicts.json").write_text(json.dumps(verdicts))
        done = subprocess.run([sys.executable, blind_reading.__file__, "judge", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    new = {n: k["new"] for n, k in key.items()}
    old = {n: "BA"[v == "B"] for n, v in new.items()}
    for verdicts, code, says in ((new, 0, "in 10 of 10 pairs, 100 %; the old one in 0\n"), (new | {"3": "="}, 0, "in 9 of 10 pairs, 90 %; the old one in 0\n"),
                                 (new | {"3": old["3"], "4": "="}, 1, "in 8 of 10 pairs, 80 %; the old one in 1\n  pair 3, notes/x.md\n"),
                                 (new | {"3": "C"}, 1, "pair 3: a verdict is A, B or ="), (new | {"3": ""}, 1, "1 of 10 pairs have no verdict yet, the first is 3")):
        done = judge(verdicts)
        assert done[0] == code and says in done[1], done
