#!/usr/bin/env python3
"""rounding_test.py MODULE.wasm: arithmetic of f32 and f64 under each rounding, as the module does it in integers (web/port/.../host_arithmetic.h),
against exact fractions rounded here. Exit code 77 where there is no module (scripts/web) or no node."""
import base64
import math
import pathlib
import random
import shutil
import sys
from fractions import Fraction

import same_test

FORMATS = {"f32": (24, -149, 128), "f64": (53, -1074, 1024)}  # digits, exponent of the least number, of the first that is too large


def value(bits, kind):
    """A finite number, or None."""
    digits, least, _ = FORMATS[kind]
    size = 32 if kind == "f32" else 64
    field, low = bits >> (digits - 1) & ((1 << (size - digits)) - 1), bits & ((1 << (digits - 1)) - 1)
    if field == (1 << (size - digits)) - 1:
        return None
    x = Fraction(low + ((1 << (digits - 1)) if field else 0)) * Fraction(2) ** (max(field, 1) - 1 + least)
    return -x if bits >> (size - 1) else x


def rounded(x, mode, kind):
    """The bits of x, which is not zero, or a pair (below, above) compared by a function where x is a root."""
    digits, least, top = FORMATS[kind]
    size = 32 if kind == "f32" else 64
    negative, x = x < 0, abs(x)
    exponent = max(math.floor(math.log2(x)) if x.numerator.bit_length() < 900 and x.denominator.bit_length() < 900 else x.numerator.bit_length() - x.denominator.bit_length(), least)
    while Fraction(2) ** exponent > x and exponent > least:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= x:
        exponent += 1
    unit = max(exponent - digits + 1, least)
    scaled = x / Fraction(2) ** unit
    kept = scaled.numerator // scaled.denominator
    rest = scaled - kept
    up = rest > 0 and {"rz": False, "rm": negative, "rp": not negative, "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and kept & 1)}[mode]
    kept += bool(up)
    if kept >> digits:
        kept >>= 1
        unit += 1
    if kept and unit + kept.bit_length() > top:
        largest = ((1 << (size - digits)) - 1) << (digits - 1)
        away = mode == "rn" or (mode == "rp" and not negative) or (mode == "rm" and negative)
        return (largest if away else largest - 1) | negative << (size - 1)
    field = unit - least + 1 if kept >> (digits - 1) else 0
    return (kept & ((1 << (digits - 1)) - 1)) | field << (digits - 1) | negative << (size - 1)


def root(x, mode, kind):
    """Of a square root: 200 bits and one that says whether there are more."""
    shift = 2 * (200 + max(0, -x.numerator.bit_length() + x.denominator.bit_length()))
    scaled = (x.numerator << shift) // x.denominator
    r = math.isqrt(scaled)
    more = r * r != scaled or (x.numerator << shift) % x.denominator
    return rounded(Fraction(2 * r + bool(more), 2) / Fraction(2) ** (shift // 2), mode, kind)


def exact(op, a, mode, kind):
    """Nothing where a NaN, an infinity or a zero has its own rule."""
    if None in a:
        return None
    if op in ("add", "sub"):
        x = a[0] + a[1] if op == "add" else a[0] - a[1]
    elif op == "mul":
        x = a[0] * a[1]
    elif op == "fma":
        x = a[0] * a[1] + a[2]
    elif op == "sqrt":
        return root(a[0], mode, kind) if a[0] > 0 else None
    else:
        n, d = (a[0], a[1]) if op == "div" else (Fraction(1), a[0])
        if d == 0 or n == 0:
            return None
        x = n / d
    return rounded(x, mode, kind) if x else None


def main():
    if not shutil.which("node") or not pathlib.Path(sys.argv[1]).exists():
        print("skipped: needs node and scripts/web")
        return 77
    side = same_test.Side("node", same_test.root / "web/page/node.js", sys.argv[1])
    compared, wrong = 0, []
    for kind in FORMATS:
        size = 4 if kind == "f32" else 8
        for op, arity in (("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("rcp", 1), ("sqrt", 1), ("fma", 3)):
            for mode in ("rn", "rz", "rm", "rp"):
                rng = random.Random(f"{kind} {op} {mode}")
                words = [rng.choice(same_test.VALUES[kind]) if rng.random() < 0.3 else rng.getrandbits(8 * size) if rng.random() < 0.6 else same_test.close(rng, kind, size) for _ in range(512 * arity)]
                side.ask({"do": "run", "ptx": same_test.compute_kernel(f"{op}.{mode}.{kind}", kind, arity), "grid": [1], "block": [512], "parameters": [{"buffer": 0}, {"buffer": 1}],
                          "buffers": [{"type": f"u{8 * size}", "count": 512 * arity, "pattern": "words", "words": [str(w) for w in words]}, {"type": f"u{8 * size}", "count": 512, "bytes": True}]})
                answer = side.answer()
                if answer["status"] != "done":
                    wrong.append(f"{op}.{mode}.{kind}: {answer}")
                    continue
                got = base64.b64decode(answer["buffers"][1]["bytes"])
                for i in range(512):
                    inputs = words[i * arity : i * arity + arity]
                    want = exact(op, [value(w, kind) for w in inputs], mode, kind)
                    if want is None:
                        continue
                    compared += 1
                    have = int.from_bytes(got[i * size : i * size + size], "little")
                    if have != want:
                        wrong.append(f"{op}.{mode}.{kind} of {[hex(w) for w in inputs]}: {have:#x}, exactly {want:#x}")
    print("\n".join(wrong[:20]))
    print(f"{compared} results, {len(wrong)} wrong")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
