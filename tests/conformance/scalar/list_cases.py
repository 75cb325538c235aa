#!/usr/bin/env python3
"""Writes cases.txt: every scalar, logic, compare, select, move and conversion spelling, one test case a line.

A line is `instruction text | destination operands | source operands`. In the text $0, $1 … are the destinations,
then the sources; operands are classes that cases.cpp knows (register width and how inputs are chosen). Cases that
`ptxas -arch=sm_90a` refuses but sm_100a takes go to cases_sm_100a.txt: they cannot be proved on an H200. What neither
takes is not PTX and is dropped.

    list_cases.py [--ptxas PATH]     rewrites cases.txt and cases_sm_100a.txt beside this file
    list_cases.py --covers LIST…     checks that every scalar spelling of the lists (lines `spelling count`) has a case
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
INTS = ["u16", "s16", "u32", "s32", "u64", "s64"]
NARROW_INTS = ["u8", "s8"] + INTS
CASES = []


def case(text, dst, src):
    CASES.append((text, dst.split(), src.split()))


def plain(spelling, dst, src):
    n_dst, n_src = len(dst.split()), len(src.split())
    assert n_dst == 1
    case(f"{spelling} " + ", ".join(f"${i}" for i in range(1 + n_src)) + ";", dst, src)


def widened(t):
    return t[0] + str(2 * int(t[1:]))


def integers():
    for t in INTS:
        for o in ("add", "sub", "min", "max", "div", "rem"):
            plain(f"{o}.{t}", t, f"{t} {t}")
        for o in ("mul.lo", "mul.hi"):
            plain(f"{o}.{t}", t, f"{t} {t}")
        for o in ("mad.lo", "mad.hi", "sad"):
            plain(f"{o}.{t}", t, f"{t} {t} {t}")
        if t[1:] != "64":
            plain(f"mul.wide.{t}", widened(t), f"{t} {t}")
            plain(f"mad.wide.{t}", widened(t), f"{t} {t} {widened(t)}")
        if t[0] == "s":
            plain(f"neg.{t}", t, t)
            plain(f"abs.{t}", t, t)
    for s in ("add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"):
        plain(s, "s32", "s32 s32")
    plain("mad.hi.sat.s32", "s32", "s32 s32 s32")
    for t in ("u32", "s32"):
        for h in ("lo", "hi"):
            plain(f"mul24.{h}.{t}", t, f"{t} {t}")
            plain(f"mad24.{h}.{t}", t, f"{t} {t} {t}")
    plain("mad24.hi.sat.s32", "s32", "s32 s32 s32")
    for t in ("u16x2", "s16x2"):
        for o in ("add", "min", "max"):
            plain(f"{o}.{t}", t, f"{t} {t}")
    plain("min.relu.s16x2", "s16x2", "s16x2 s16x2")
    plain("max.relu.s16x2", "s16x2", "s16x2 s16x2")
    for a in ("u32", "s32"):
        for b in ("u32", "s32"):
            plain(f"dp4a.{a}.{b}", "b32", "b32 b32 b32")
            plain(f"dp2a.lo.{a}.{b}", "b32", "b32 b32 b32")
            plain(f"dp2a.hi.{a}.{b}", "b32", "b32 b32 b32")
    # The carry flag: a chain writes it, reads it, and shows it as a value.
    for t in ("u32", "s32", "u64", "s64"):
        z = f"addc.{t} $1, 0, 0;"
        case(f"add.cc.{t} $0, $2, $3; {z}", f"{t} {t}", f"{t} {t}")
        case(f"add.cc.{t} $0, $2, $3; addc.cc.{t} $0, $4, $5; {z}", f"{t} {t}", f"{t} {t} {t} {t}")
        case(f"add.cc.{t} $0, $1, $2; addc.{t} $0, $3, $4;", f"{t}", f"{t} {t} {t} {t}")
        zs = f"subc.{t} $1, 0, 0;"
        case(f"sub.cc.{t} $0, $2, $3; {zs}", f"{t} {t}", f"{t} {t}")
        case(f"sub.cc.{t} $0, $2, $3; subc.cc.{t} $0, $4, $5; {zs}", f"{t} {t}", f"{t} {t} {t} {t}")
        case(f"sub.cc.{t} $0, $1, $2; subc.{t} $0, $3, $4;", f"{t}", f"{t} {t} {t} {t}")
        for h in ("lo", "hi"):
            case(f"mad.{h}.cc.{t} $0, $2, $3, $4; {z}", f"{t} {t}", f"{t} {t} {t}")
            case(f"add.cc.{t} $0, $4, $5; madc.{h}.cc.{t} $0, $2, $3, $4; {z}", f"{t} {t}", f"{t} {t} {t} {t}")
            case(f"add.cc.{t} $0, $3, $4; madc.{h}.{t} $0, $1, $2, $3;", f"{t}", f"{t} {t} {t} {t}")


def logic():
    for o in ("and", "or", "xor"):
        for t in ("b16", "b32", "b64", "pred"):
            plain(f"{o}.{t}", t, f"{t} {t}")
    for t in ("b16", "b32", "b64", "pred"):
        plain(f"not.{t}", t, t)
    for t in ("b16", "b32", "b64"):
        plain(f"cnot.{t}", t, t)
        plain(f"shl.{t}", t, f"{t} shift")
        plain(f"shr.{t}", t, f"{t} shift")
    for t in INTS:
        plain(f"shr.{t}", t, f"{t} shift")
    for lut in (0x00, 0x96, 0xe8, 0xca, 0x1b, 0x80, 0xfe, 0xff, 0x6a, 0x3c):
        case(f"lop3.b32 $0, $1, $2, $3, 0x{lut:x};", "b32", "b32 b32 b32")
    for o in ("or", "and"):
        case(f"lop3.{o}.b32 $0|$1, $2, $3, $4, 0x80, $5;", "b32 pred", "b32 b32 b32 pred")
    for s in ("l.wrap", "l.clamp", "r.wrap", "r.clamp"):
        plain(f"shf.{s}.b32", "b32", "b32 b32 shift")
    plain("prmt.b32", "b32", "b32 b32 b32")
    for m in ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        plain(f"prmt.b32.{m}", "b32", "b32 b32 b32")
    for t in ("u32", "s32", "u64", "s64"):
        plain(f"bfe.{t}", t, f"{t} field field")
        plain(f"bfind.{t}", "u32", t)
        plain(f"bfind.shiftamt.{t}", "u32", t)
    for t in ("b32", "b64"):
        plain(f"bfi.{t}", t, f"{t} {t} field field")
        plain(f"brev.{t}", t, t)
        plain(f"popc.{t}", "u32", t)
        plain(f"clz.{t}", "u32", t)
    plain("fns.b32", "b32", "b32 lane offset")
    for m in ("wrap", "clamp"):
        plain(f"szext.{m}.u32", "u32", "u32 shift")
        plain(f"szext.{m}.s32", "s32", "s32 shift")
        plain(f"bmsk.{m}.b32", "b32", "shift shift")


FLOAT_COMPARES = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"]


def compare():
    for t in INTS:
        for o in ("eq", "ne", "lt", "le", "gt", "ge"):
            plain(f"setp.{o}.{t}", "pred", f"{t} {t}")
    for o in ("lo", "ls", "hi", "hs"):
        for t in ("u16", "u32", "u64"):
            plain(f"setp.{o}.{t}", "pred", f"{t} {t}")
    for t in ("b16", "b32", "b64"):
        for o in ("eq", "ne"):
            plain(f"setp.{o}.{t}", "pred", f"{t} {t}")
    for o in FLOAT_COMPARES:
        for t in ("f32", "f64", "f16", "bf16"):
            plain(f"setp.{o}.{t}", "pred", f"{t} {t}")
        plain(f"setp.{o}.ftz.f32", "pred", "f32 f32")
        plain(f"setp.{o}.ftz.f16", "pred", "f16 f16")
        for t in ("f16x2", "bf16x2"):
            case(f"setp.{o}.{t} $0|$1, $2, $3;", "pred pred", f"{t} {t}")
        plain(f"set.{o}.u32.f32", "u32", "f32 f32")
        plain(f"set.{o}.f32.f32", "f32", "f32 f32")
    for b in ("and", "or", "xor"):
        for o, t in (("lt", "s32"), ("gtu", "f32"), ("ne", "b64"), ("ge", "u16"), ("le", "f64"), ("eq", "f16")):
            case(f"setp.{o}.{b}.{t} $0|$1, $2, $3, $4;", "pred pred", f"{t} {t} pred")
            case(f"setp.{o}.{b}.{t} $0, $1, $2, !$3;", "pred", f"{t} {t} pred")
        case(f"setp.lt.{b}.f16x2 $0|$1, $2, $3, $4;", "pred pred", "f16x2 f16x2 pred")
        case(f"set.lt.{b}.u32.s32 $0, $1, $2, $3;", "u32", "s32 s32 pred")
        case(f"set.ge.{b}.f32.f32 $0, $1, $2, !$3;", "f32", "f32 f32 pred")
    case("setp.lt.s32 $0|$1, $2, $3;", "pred pred", "s32 s32")
    case("setp.lt.f32 $0|$1, $2, $3;", "pred pred", "f32 f32")
    for t in INTS + ["f64"]:
        plain(f"set.lt.u32.{t}", "u32", f"{t} {t}")
        plain(f"set.ge.s32.{t}", "s32", f"{t} {t}")
        plain(f"set.ne.f32.{t}", "f32", f"{t} {t}")
    plain("set.lt.ftz.u32.f32", "u32", "f32 f32")
    for t in ("f16", "bf16"):
        for to in (t, "u16", "s16", "u32", "s32"):
            plain(f"set.lt.{to}.{t}", to, f"{t} {t}")
            plain(f"set.neu.{to}.{t}", to, f"{t} {t}")
        plain(f"set.lt.{t}x2.{t}x2", f"{t}x2", f"{t}x2 {t}x2")
        plain(f"set.geu.{t}x2.{t}x2", f"{t}x2", f"{t}x2 {t}x2")
    for t in INTS + ["b16", "b32", "b64", "f32", "f64"]:
        plain(f"selp.{t}", t, f"{t} {t} pred")
        plain(f"slct.{t}.s32", t, f"{t} {t} s32")
        plain(f"slct.{t}.f32", t, f"{t} {t} f32")
    plain("slct.ftz.f32.f32", "f32", "f32 f32 f32")
    for s in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        plain(f"testp.{s}.f32", "pred", "f32")
        plain(f"testp.{s}.f64", "pred", "f64")


def moves():
    for t in INTS + ["b16", "b32", "b64", "f32", "f64", "pred"]:
        plain(f"mov.{t}", t, t)
    case("mov.b32 $0, {$1, $2};", "b32", "b16 b16")
    case("mov.b64 $0, {$1, $2};", "b64", "b32 b32")
    case("mov.b64 $0, {$1, $2, $3, $4};", "b64", "b16 b16 b16 b16")
    case("mov.b32 {$0, $1}, $2;", "b16 b16", "b32")
    case("mov.b64 {$0, $1}, $2;", "b32 b32", "b64")
    case("mov.b64 {$0, _}, $1;", "b32", "b64")
    case("mov.b64 {$0, $1, $2, $3}, $4;", "b16 b16 b16 b16", "b64")
    case("{ .reg .b128 q; mov.b128 q, {$2, $3}; mov.b128 {$1, $0}, q; }", "b64 b64", "b64 b64")


def floats():
    for r in ("", ".rn", ".rz", ".rm", ".rp"):
        for z in ("", ".ftz"):
            for s in ("", ".sat"):
                for o in ("add", "sub", "mul"):
                    plain(f"{o}{r}{z}{s}.f32", "f32", "f32 f32")
                if r:
                    plain(f"fma{r}{z}{s}.f32", "f32", "f32 f32 f32")
                    plain(f"mad{r}{z}{s}.f32", "f32", "f32 f32 f32")
            for o in ("add", "sub", "mul"):
                plain(f"{o}{r}{z}.f32x2", "f32x2", "f32x2 f32x2")
            if r:
                plain(f"fma{r}{z}.f32x2", "f32x2", "f32x2 f32x2 f32x2")
        for o in ("add", "sub", "mul"):
            plain(f"{o}{r}.f64", "f64", "f64 f64")
        if r:
            plain(f"fma{r}.f64", "f64", "f64 f64 f64")
            plain(f"mad{r}.f64", "f64", "f64 f64 f64")
            for z in ("", ".ftz"):
                plain(f"div{r}{z}.f32", "f32", "f32 f32")
                plain(f"rcp{r}{z}.f32", "f32", "f32")
                plain(f"sqrt{r}{z}.f32", "f32", "root32")
            plain(f"div{r}.f64", "f64", "f64 f64")
            plain(f"rcp{r}.f64", "f64", "f64")
            plain(f"sqrt{r}.f64", "f64", "f64")
        for h in ("f16", "bf16"):
            for s in ("", ".sat"):
                for o in ("add", "sub"):
                    plain(f"{o}{r}{s}.f32.{h}", "f32", f"{h} f32")
                if r:
                    plain(f"fma{r}{s}.f32.{h}", "f32", f"{h} {h} f32")
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        for r in ("", ".rn"):
            for z in ("", ".ftz"):
                for s in ("", ".sat"):
                    if t[0] == "b" and (z or s):
                        continue
                    for o in ("add", "sub", "mul"):
                        plain(f"{o}{r}{z}{s}.{t}", t, f"{t} {t}")
        for z in ("", ".ftz"):
            for s in ("", ".sat", ".relu"):
                if t[0] == "b" and (z or s == ".sat"):
                    continue
                plain(f"fma.rn{z}{s}.{t}", t, f"{t} {t} {t}")
        plain(f"fma.rn.oob.{t}", t, f"{t} {t} {t}")
        plain(f"fma.rn.oob.relu.{t}", t, f"{t} {t} {t}")
    for t in ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"):
        for z in ("", ".ftz"):
            if z and t in ("f64", "bf16", "bf16x2"):
                continue
            plain(f"neg{z}.{t}", t, t)
            plain(f"abs{z}.{t}", t, t)
            for o in ("min", "max"):
                plain(f"{o}{z}.{t}", t, f"{t} {t}")
                if t != "f64":
                    plain(f"{o}{z}.NaN.{t}", t, f"{t} {t}")
                    plain(f"{o}{z}.xorsign.abs.{t}", t, f"{t} {t}")
                    plain(f"{o}{z}.NaN.xorsign.abs.{t}", t, f"{t} {t}")
                if t == "f32":
                    plain(f"{o}{z}.f32", "f32", "f32 f32 f32")
                    plain(f"{o}{z}.NaN.f32", "f32", "f32 f32 f32")
                    plain(f"{o}{z}.abs.f32", "f32", "f32 f32 f32")
                    plain(f"{o}{z}.NaN.abs.f32", "f32", "f32 f32 f32")
    plain("copysign.f32", "f32", "f32 f32")
    plain("copysign.f64", "f64", "f64 f64")


def flushing():
    """Results just below the smallest normal number: does .ftz decide before or after rounding?"""
    t = "tiny_f32"
    for r in ("rn", "rz", "rm", "rp"):
        plain(f"mul.{r}.ftz.f32", "f32", f"{t} {t}")
        plain(f"fma.{r}.ftz.f32", "f32", f"{t} {t} {t}")
        plain(f"div.{r}.ftz.f32", "f32", f"{t} {t}")
        plain(f"rcp.{r}.ftz.f32", "f32", t)
        plain(f"cvt.{r}.ftz.f32.f64", "f32", "tiny_f64")
    plain("mul.ftz.f32", "f32", f"{t} {t}")
    plain("mul.ftz.f16", "f16", "tiny_f16 tiny_f16")
    plain("fma.rn.ftz.f16", "f16", "tiny_f16 tiny_f16 tiny_f16")
    for h in ("f16", "bf16"):
        for m in ("", ".relu"):
            for n in range(3):
                plain(f"fma.rn.oob{m}.{h}", h, " ".join(f"nan_{h}" if k == n else h for k in range(3)))


def functions():
    for z in ("", ".ftz"):
        plain(f"div.approx{z}.f32", "f32", "f32 f32")
        plain(f"div.full{z}.f32", "f32", "f32 f32")
        plain(f"rcp.approx{z}.f32", "f32", "f32")
        plain(f"sqrt.approx{z}.f32", "f32", "root32")
        plain(f"rsqrt.approx{z}.f32", "f32", "root32")
        plain(f"ex2.approx{z}.f32", "f32", "exponent32")
        plain(f"lg2.approx{z}.f32", "f32", "root32")
        plain(f"sin.approx{z}.f32", "f32", "angle32")
        plain(f"cos.approx{z}.f32", "f32", "angle32")
    plain("rcp.approx.ftz.f64", "f64", "f64")
    plain("rsqrt.approx.f64", "f64", "f64")
    plain("rsqrt.approx.ftz.f64", "f64", "f64")
    plain("tanh.approx.f32", "f32", "f32")
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        plain(f"tanh.approx.{t}", t, t)
    for t in ("f16", "f16x2"):
        plain(f"ex2.approx.{t}", t, t)
    for t in ("bf16", "bf16x2"):
        plain(f"ex2.approx.ftz.{t}", t, t)


def conversions():
    floats_ = ["f16", "bf16", "f32", "f64"]
    for a in NARROW_INTS:
        for b in NARROW_INTS:
            for s in ("", ".sat"):
                plain(f"cvt{s}.{a}.{b}", a, b)
    # Narrow types in wide registers: the source's high bits are ignored, the result is extended.
    for a, wa in (("s8", "b32"), ("u8", "b32"), ("s16", "b32"), ("u16", "b32"), ("s8", "b64"), ("u16", "b64"), ("s32", "b64")):
        for b in ("s32", "u64"):
            plain(f"cvt.{a}.{b}", wa, b)
        plain(f"cvt.rzi.{a}.f32", wa, "f32")
    for b in ("s8", "u8", "s16", "u16"):
        for a in ("s32", "u64", "s16"):
            plain(f"cvt.{a}.{b}", a, "b32")
        plain(f"cvt.rn.f32.{b}", "f32", "b32")
    for f in floats_:
        for i in NARROW_INTS:
            for r in ("rni", "rzi", "rmi", "rpi"):
                plain(f"cvt.{r}.{i}.{f}", i, f"to_int_{f}")
                if f == "f32":
                    plain(f"cvt.{r}.ftz.{i}.{f}", i, f"to_int_{f}")
            plain(f"cvt.rzi.sat.{i}.{f}", i, f"to_int_{f}")
            for r in ("rn", "rz", "rm", "rp"):
                plain(f"cvt.{r}.{f}.{i}", f, i)
            plain(f"cvt.rn.sat.{f}.{i}", f, i)
        for r in ("rni", "rzi", "rmi", "rpi"):
            plain(f"cvt.{r}.{f}.{f}", f, f"to_int_{f}")
            plain(f"cvt.{r}.sat.{f}.{f}", f, f"to_int_{f}")
            if f == "f32":
                plain(f"cvt.{r}.ftz.{f}.{f}", f, f"to_int_{f}")
        if f == "bf16":  # the assembler wants registers of 8 bits here
            for i in ("u8", "s8"):
                for r in ("rni", "rzi", "rmi", "rpi"):
                    case(f"{{ .reg .b8 t; cvt.{r}.{i}.bf16 t, $1; mov.b16 $0, {{t, 0}}; }}", i, "to_int_bf16")
                for r in ("rn", "rz", "rm", "rp"):
                    case(f"{{ .reg .b8 t, u; mov.b16 {{t, u}}, $1; cvt.{r}.bf16.{i} $0, t; }}", "bf16", i)
        plain(f"cvt.{f}.{f}", f, f)
        plain(f"cvt.sat.{f}.{f}", f, f)
    plain("cvt.ftz.f32.f32", "f32", "f32")
    plain("cvt.ftz.sat.f32.f32", "f32", "f32")
    rank = {"f16": 0, "bf16": 0, "f32": 1, "f64": 2}
    for a in floats_:
        for b in floats_:
            if a == b:
                continue
            if rank[a] > rank[b]:
                for m in ("", ".sat", ".ftz", ".ftz.sat"):
                    plain(f"cvt{m}.{a}.{b}", a, b)
            else:
                for r in ("rn", "rz", "rm", "rp"):
                    for m in ("", ".sat", ".ftz", ".relu", ".satfinite", ".relu.satfinite"):
                        plain(f"cvt.{r}{m}.{a}.{b}", a, f"to_{a}_{b}")
    for h in ("f16x2", "bf16x2"):
        for r in ("rn", "rz"):
            for m in ("", ".relu", ".satfinite", ".relu.satfinite"):
                plain(f"cvt.{r}{m}.{h}.f32", h, f"to_{h[:-2]}_f32 to_{h[:-2]}_f32")
        for m in ("", ".relu", ".satfinite", ".relu.satfinite"):
            plain(f"cvt.rs{m}.{h}.f32", h, f"to_{h[:-2]}_f32 to_{h[:-2]}_f32 b32")
    for r in ("rn", "rz", "rna"):
        for m in ("", ".relu", ".satfinite", ".satfinite.relu"):
            plain(f"cvt.{r}{m}.tf32.f32", "b32", "to_tf32_f32")
    for e in ("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2"):
        for m in ("", ".relu"):
            d = "b16"
            if e != "e2m1x2":
                plain(f"cvt.rn.satfinite{m}.{e}.f32", d, "narrow_f32 narrow_f32")
                plain(f"cvt.rn.satfinite{m}.{e}.f16x2", d, "f16x2")
                plain(f"cvt.rn{m}.f16x2.{e}", "f16x2", "b16")
            else:
                case(f"{{ .reg .b8 t; cvt.rn.satfinite{m}.{e}.f32 t, $1, $2; mov.b16 $0, {{t, 0}}; }}", "b16", "narrow_f32 narrow_f32")
                case(f"{{ .reg .b8 t, u; mov.b16 {{t, u}}, $1; cvt.rn{m}.f16x2.{e} $0, t; }}", "f16x2", "b16")
    for e in ("e4m3x4", "e5m2x4", "e2m3x4", "e3m2x4", "e2m1x4"):
        for m in ("", ".relu"):
            d = "b16" if e == "e2m1x4" else "b32"
            case(f"cvt.rs{m}.satfinite.{e}.f32 $0, {{$1, $2, $3, $4}}, $5;", d, "narrow_f32 narrow_f32 narrow_f32 narrow_f32 b32")
    for r in ("rz", "rp"):
        for m in ("", ".satfinite"):
            plain(f"cvt.{r}{m}.ue8m0x2.f32", "b16", "f32 f32")
            plain(f"cvt.{r}{m}.ue8m0x2.bf16x2", "b16", "bf16x2")
    plain("cvt.rn.bf16x2.ue8m0x2", "bf16x2", "b16")
    for t in ("u16", "s16"):
        plain(f"cvt.pack.sat.{t}.s32", "b32", "s32 s32")
    for t in ("u8", "s8", "u4", "s4", "u2", "s2"):
        plain(f"cvt.pack.sat.{t}.s32.b32", "b32", "s32 s32 b32")


def build():
    integers(), logic(), compare(), moves(), floats(), flushing(), functions(), conversions()
    seen, unique = set(), []
    for c in CASES:
        line = f"{c[0]} | {' '.join(c[1])} | {' '.join(c[2])}"
        if line not in seen:
            seen.add(line)
            unique.append(c)
    return unique


def width(operand):
    if operand == "pred":
        return "pred"
    special = {"tiny_f32": 32, "shift": 32, "field": 32, "lane": 32, "offset": 32, "root32": 32, "exponent32": 32, "angle32": 32, "narrow_f32": 32,
               "u8": 16, "s8": 16, "tf32": 32}
    if operand in special:
        return special[operand]
    name = operand.split("_")[-1]
    m = re.fullmatch(r"[a-z]+(\d+)(x2)?", name)
    return int(m[1]) * (2 if m[2] else 1)


def kernel(index, c):
    """A kernel for the assembler alone; the tests build their own around the same text."""
    text, dst, src = c
    regs = "\n".join(f"  .reg .{'pred' if width(o) == 'pred' else 'b%d' % width(o)} $${i};" for i, o in enumerate(dst + src))
    body = re.sub(r"\$(\d)", r"%x\1", text)
    return f".entry k{index}() {{\n{regs.replace('$$', '%x')}\n  {body}\n  ret;\n}}\n"


def refused(cases, ptxas, target, only):
    """Those of the indices `only` whose cases the assembler does not take."""
    out = set()
    while True:
        alive = [i for i in only if i not in out]
        text, owner = f".version 9.0\n.target {target}\n.address_size 64\n", {}
        for i in alive:
            k = kernel(i, cases[i])
            start = text.count("\n") + 1
            for n in range(start, start + k.count("\n") + 1):
                owner[n] = i
            text += k
        with tempfile.TemporaryDirectory() as d:
            p = pathlib.Path(d) / "cases.ptx"
            p.write_text(text)
            r = subprocess.run([ptxas, f"-arch={target}", "-O0", "-o", f"{d}/out", str(p)], capture_output=True, text=True)
        errors = re.findall(r"line (\d+); error", r.stderr)
        if not errors:
            if r.returncode:
                sys.exit(r.stderr[:2000])
            return out
        out.update(owner[int(line)] for line in errors)


SCALAR = re.compile(r"^(abs|add|addc|and|bfe|bfi|bfind|bmsk|brev|clz|cnot|copysign|cos|cvt|div|dp2a|dp4a|ex2|fma|fns|lg2|lop3|mad|mad24|"
                    r"madc|max|min|mov|mul|mul24|neg|not|or|popc|prmt|rcp|rem|rsqrt|sad|selp|set|setp|shf|shl|shr|sin|slct|sqrt|"
                    r"sub|subc|szext|tanh|testp|xor)\.")
# Spelled with operands that a register test does not have; held by tests/isa_scalar.
ELSEWHERE = {"mov.b128"}


def spellings(cases):
    found = set()
    for text, _, _ in cases:
        for word in re.findall(r"[a-z0-9]+(?:\.[A-Za-z0-9_]+)+", text):
            found.add(word)
    return found


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--ptxas", default="ptxas")
    a.add_argument("--covers", nargs="+")
    args = a.parse_args()
    cases = build()
    if args.covers:
        have = spellings(cases) | ELSEWHERE
        missing = [s for f in args.covers for s in (l.split()[0] for l in open(f) if l.strip())
                   if SCALAR.match(s) and s not in have]
        print("\n".join(missing) or "every scalar spelling has a case")
        return 1 if missing else 0
    bad = refused(cases, args.ptxas, "sm_90a", range(len(cases)))
    illegal = refused(cases, args.ptxas, "sm_100a", sorted(bad))
    lines = [f"{c[0]} | {' '.join(c[1])} | {' '.join(c[2])}" for c in cases]
    (HERE / "cases.txt").write_text("\n".join(l for i, l in enumerate(lines) if i not in bad) + "\n")
    (HERE / "cases_sm_100a.txt").write_text("\n".join(lines[i] for i in sorted(bad - illegal)) + "\n")
    print(f"{len(lines) - len(bad)} cases, {len(bad) - len(illegal)} for sm_100a alone, {len(illegal)} not PTX")
    return 0


if __name__ == "__main__":
    sys.exit(main())
