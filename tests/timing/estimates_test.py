"""Every estimate of b200.json says what it was scaled from, and is what it says: "as the H200's" is h200.json's value, "as KEY" that of
b200.json, "no B200 figure (N on an H200)" names h200.json's N. What no rule reads must name a machine or a key, or say that it rests on
nothing measured."""
import json
import pathlib
import re
import unittest

machines = pathlib.Path(__file__).resolve().parents[2] / "probes" / "machines"
b200, h200 = (json.loads((machines / f"{name}.json").read_text()) for name in ("b200", "h200"))


def estimates(profile):
    """(path, entry) of all that is estimated; instructions have two entries each."""
    for section in ("device", "instructions", "numbers"):
        for key, entry in profile[section].items():
            for path, e in ([((section, key), entry)] if "value" in entry else [((section, key, part), entry[part]) for part in entry]):
                if e["trust"] == "estimated":
                    yield path, e


def at(profile, path):
    for p in path:
        profile = profile[p]
    return profile["value"]


def keys(profile):
    """Names that a source can use, with their values."""
    found = {key: e["value"] for key, e in profile["numbers"].items()}
    return found | {key: e for key, e in profile["instructions"].items()}


def defect(path, entry, own=b200, other=h200):
    """What is wrong with an estimate's source; None: nothing."""
    source = entry["source"]
    if re.fullmatch(r"as the H200's([,;:].*)?", source):
        return None if entry["value"] == at(other, path) else f"the H200's is {at(other, path)}"
    if told := re.search(r"no B200 figure \((\S+) on an H200\)", source):
        return None if float(told[1]) == at(other, path) else f"the H200's is {at(other, path)}, not {told[1]}"
    if same := re.fullmatch(r"as ([a-z0-9_.]+)", source):
        named = keys(own).get(same[1])
        if isinstance(named, dict):
            named = named[path[-1]]["value"]
        return None if named == entry["value"] else f"{same[1]} is {named}"
    words = set(re.findall(r"[A-Za-z0-9_]+(?:\.[a-z0-9_]+)*", source))
    if words & set(keys(own)) or re.search(r"\b(H200|H800|B200|B300|Volta|Blackwell)\b|nothing measured|\d", source):
        return None
    return "it does not say what it was scaled from"


class Estimates(unittest.TestCase):
    def test_all_say_what_they_were_scaled_from(self):
        wrong = {".".join(p): (e["value"], e["source"], d) for p, e in estimates(b200) if (d := defect(p, e))}
        self.assertEqual(wrong, {})

    def test_all_have_a_spread_and_its_reason(self):
        for path, entry in estimates(b200):
            with self.subTest(".".join(path)):
                self.assertLessEqual(entry["low"], entry["value"])
                self.assertGreaterEqual(entry["high"], entry["value"])
                self.assertGreater(len(entry["spread"]), 5)

    def test_a_factor_that_is_named_is_that_of_the_numbers_known_of_both(self):
        """Three in four of the numbers that rest on data of their own in both profiles lie within it."""
        factors = []
        for key, entry in b200["numbers"].items():
            there = h200["numbers"].get(key)
            if there and "estimated" not in (entry["trust"], there["trust"]) and entry["source"] != there["source"] and not key.startswith("power."):
                low, high = sorted((entry["value"], there["value"]))
                if low > 0:
                    factors.append(high / low)
        named = {float(f) for _, e in estimates(b200) for f in re.findall(r"within a factor of (\S+) of", e["spread"])}
        self.assertEqual(len(named), 1)
        within = sum(f <= max(named) for f in factors) / len(factors)
        self.assertTrue(0.7 <= within <= 0.8, within)

    def test_the_readme_says_how_many(self):
        numbers = sum(1 if "value" in e else len(e) for section in ("device", "instructions", "numbers") for e in b200[section].values())
        readme = (machines.parents[1] / "README.md").read_text()
        self.assertIn(f"{len(list(estimates(b200)))} of the B200's {numbers} numbers are estimates", readme)

    def test_there_are_some(self):
        self.assertGreater(len(list(estimates(b200))), 50)

    def test_what_is_not_so_is_found(self):
        path, right = ("numbers", "mem.atomic.line"), h200["numbers"]["mem.atomic.line"]["value"]
        self.assertIsNone(defect(path, {"value": right, "source": "as the H200's"}))
        self.assertIn("the H200's is", defect(path, {"value": right + 1, "source": "as the H200's"}))
        self.assertIn("not 99", defect(path, {"value": 0, "source": "no B200 figure (99 on an H200)"}))
        self.assertIn("mem.l2.latency is", defect(path, {"value": -1, "source": "as mem.l2.latency"}))
        self.assertIn("does not say", defect(path, {"value": 1, "source": "a guess"}))

    def test_the_h200_has_a_figure_for_everything(self):
        for path, entry in estimates(h200):
            self.assertNotRegex(entry["source"], "no figure|no measurement|nothing measured", ".".join(path))


if __name__ == "__main__":
    unittest.main()
