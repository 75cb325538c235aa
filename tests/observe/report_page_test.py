"""The page of a run of the GEMM chapter: report_page_test.py REPORT.html, made with --all --m 512 --n 512 --k 512."""

import json
import os
import re
import sys
import unittest

PAGE = sys.argv.pop(1)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
        cls.data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])
        cls.kernels = {re.search(r"::(\w+)<", k["profile"]["kernel"])[1]: k for k in cls.data["kernels"]}

    def test_is_small(self):
        self.assertLess(os.path.getsize(PAGE), 2e6)

    def test_every_step_did_the_products_operations(self):
        self.assertGreaterEqual(len(self.kernels), 6)
        for name, kernel in self.kernels.items():
            self.assertEqual(kernel["operations"], 2 * 512**3, name)
            self.assertEqual(kernel["matrix_kinds"], ["f16"], name)

    def test_tensor_copies_show_their_swizzle(self):
        self.assertEqual(self.kernels["serial"]["boxes"], [])  # copies with ordinary loads and stores
        loads = [b for b in self.kernels["ring"]["boxes"] if b["loads"]]
        self.assertEqual(len(loads), 1)
        # A and B: every CTA loads 8 blocks of 64 columns of each, as boxes of 64 x 128.
        self.assertEqual(loads[0]["box"], [64, 128])
        self.assertEqual(loads[0]["loads"], 16 * 8 * 2)
        self.assertEqual(loads[0]["swizzle"], "128 B")
        self.assertEqual(loads[0]["banks"][1], [1, 0, 3, 2, 5, 4, 7, 6])
        self.assertEqual(loads[0]["column_passes"], 1)

    def test_lines_are_quoted(self):
        for name, kernel in self.kernels.items():
            known = {(s["file"], number): text for s in kernel["source"] for number, text in s["lines"]}
            costs = {l["at"]: l["issuing"] + l["operands"] + l["port"] + sum(l.get("waits", {}).values())
                     for l in kernel["profile"]["lines"]}
            lines = {l["at"]: l for l in kernel["profile"]["lines"]}
            hottest = lines[max(costs, key=costs.get)]
            self.assertTrue(known[hottest["file"], hottest["line"]].strip(), name)

    def test_the_peaks_name_their_source(self):
        for key in ("peak.f16", "mem.l2.bytes_per_cycle", "mem.dram.bytes_per_cycle"):
            self.assertTrue(self.data["peaks"][key]["source"])

    def test_bytes_by_level_reach_the_roofline(self):
        # Every tile of D has its rows of A and of B through L2, and goes there itself; little else does.
        least = 16 * 2 * 128 * 512 * 2 + 512 * 512 * 4
        memory = self.kernels["ring"]["profile"]["memory"]
        self.assertGreaterEqual(memory["l2_bytes"], least)
        self.assertLess(memory["l2_bytes"], 1.05 * least)


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
