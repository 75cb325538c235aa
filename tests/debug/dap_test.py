#!/usr/bin/env python3
"""gen5 debug --dap, asked by a client of its own.

  dap_test.py BUILD NAME    one of the tests below
"""
import base64
import subprocess
import sys
import time

from dap_client import Editor, schema
from session import Build, expect, line_of, root

build = Build(sys.argv[1])
RING = build.program("01_mbarrier", "--part", "ring")
SOURCE = root / "chapters/01_mbarrier/main.cu"
WAIT = line_of(SOURCE, "mbarrier_wait_parity(full, round & 1);")


def editor(e=None):
    """Breakpoints, threads, frames, variables, steps forward and back, the console, the end."""
    e = e or Editor(build.gen5)
    expect(e.ask("initialize", adapterID="gen5")["supportsStepBack"], "it cannot step back")
    expect("no program" in e.ask("threads", fails=True), "a request before the launch has an answer")
    expect("names no" in e.ask("launch", fails=True), "a launch without a program")
    e.ask("launch", program=str(RING[0]), args=["--part", "ring"])
    e.wait_for("initialized")
    answer = e.ask("setBreakpoints", source={"path": str(SOURCE)}, breakpoints=[{"line": WAIT, "condition": "warp == 1"}, {"line": 1, "condition": "nonsense"}, {"line": 2, "hitCondition": "often"}])
    expect([b["verified"] for b in answer["breakpoints"]] == [True, False, False], "breakpoints", answer)
    e.ask("setFunctionBreakpoints", breakpoints=[{"name": "no_such_kernel"}])
    e.ask("setExceptionBreakpoints", filters=["error"])
    e.ask("configurationDone")
    stopped = e.wait_for("stopped")
    expect(stopped["reason"] == "breakpoint" and stopped["hitBreakpointIds"] == [1], "no stop at the breakpoint", stopped)
    thread = stopped["threadId"]
    expect(any(t["id"] == thread for t in e.ask("threads")["threads"]), "the thread that stopped is not in the list")
    scopes, frame = e.scopes(thread)
    barriers = e.ask("variables", variablesReference=scopes["mbarriers and barriers"])["variables"]
    expect(any("phase 0" in v["value"] for v in barriers), "no mbarriers", barriers)
    registers = e.ask("variables", variablesReference=scopes["Registers"])["variables"]
    by_lane = [r for r in registers if r["variablesReference"]]
    expect(registers and by_lane, "no registers, or none that differs by lane", registers)
    lanes = e.ask("variables", variablesReference=by_lane[0]["variablesReference"])["variables"]
    expect(len(lanes) == 32 and len({v["value"] for v in lanes}) > 1, "lanes of a register", lanes)
    for name in ("In flight", "Shared memory", "Why it waits", "Tiles"):
        for v in e.ask("variables", variablesReference=scopes[name])["variables"]:
            if v["variablesReference"]:
                e.ask("variables", variablesReference=v["variablesReference"])
    shown = e.ask("evaluate", expression=registers[0]["name"], frameId=frame, context="hover")["result"]
    expect(registers[0]["name"] in shown, "no value for a register under the mouse", shown)
    expect("without -G" in e.ask("evaluate", fails=True, expression="step", context="watch"), "a watched expression moves the program")
    expect({"continue", "cta"} == {t["label"] for t in e.ask("completions", text="c", column=2)["targets"]}, "completions")
    e.ask("next", threadId=thread)
    there = e.scopes(e.wait_for("stopped")["threadId"])[1], e.ask("stackTrace", threadId=thread)["stackFrames"]
    expect("moved since" in e.ask("variables", fails=True, variablesReference=10000), "variables of nothing")
    e.ask("stepBack", threadId=thread)
    e.wait_for("stopped")
    expect(e.ask("stackTrace", threadId=thread)["stackFrames"] != there[1], "stepBack leads nowhere")
    expect("mbarrier" in e.ask("evaluate", expression="show barriers", context="repl")["result"], "the console does not take commands")
    expect("there is no command" in e.ask("evaluate", fails=True, expression="nonsense", context="repl"), "a wrong command")
    expect("does not answer" in e.ask("disassemble", fails=True), "a request that it does not know")
    e.ask("setBreakpoints", source={"path": str(SOURCE)}, breakpoints=[])
    e.ask("continue", threadId=thread)
    end = e.wait_for("exited")
    expect(end["exitCode"] == 0, "the program did not end well", end, *e.events)
    e.end()
    return e


def port():
    """The same over a socket."""
    editor(Editor(build.gen5, port=True))


def protocol():
    """The messages of the sessions here are those of the published schema, and of enough kinds."""
    if not schema():
        print("PyPI's debugpy and jsonschema, which have the protocol's schema, are not in .venv: scripts/setup --debug")
        sys.exit(77)
    checked = set().union(*(test().schema.checked for test in (editor, exceptions, memory, restart, pause_request)))
    wanted = """InitializedEvent StoppedEvent OutputEvent ExitedEvent TerminatedEvent InitializeResponse LaunchResponse SetBreakpointsResponse
        SetFunctionBreakpointsResponse SetExceptionBreakpointsResponse ConfigurationDoneResponse ThreadsResponse StackTraceResponse ScopesResponse
        VariablesResponse EvaluateResponse CompletionsResponse NextResponse StepBackResponse ContinueResponse ReverseContinueResponse PauseResponse RestartResponse
        ReadMemoryResponse ExceptionInfoResponse TerminateResponse DisconnectResponse ErrorResponse""".split()
    expect(not set(wanted) - checked, "messages that were not checked", *sorted(set(wanted) - checked))


def source_variables():
    """Variables of the source: by lane, their parts, another frame's; a watched expression; a page."""
    e = Editor(build.gen5)
    source = root / "tests/debug/variables.cu"
    e.begin(build.program("debug_variables"), [(source, line_of(source, "line: inside"))])
    thread = e.wait_for("stopped")["threadId"]
    frames = e.ask("stackTrace", threadId=thread)["stackFrames"]
    expect(len(frames) == 2, "two frames", frames)

    def children(reference):
        return {v["name"]: v for v in e.ask("variables", variablesReference=reference)["variables"]}

    def locals_of(frame):
        scope = e.ask("scopes", frameId=frame["id"])["scopes"][0]
        expect(scope["name"] == "Variables" and scope["presentationHint"] == "locals", "the first scope", scope)
        return children(scope["variablesReference"])

    callee, caller = (locals_of(f) for f in frames)
    if "no variables" in callee:
        print(callee["no variables"]["value"])
        sys.exit(77)
    expect(callee["two"]["type"] == "int" and callee["two"]["value"] == "0, 2, 4, 6, … by lane", "a variable that differs by lane", callee)
    lanes = children(callee["two"]["variablesReference"])
    expect([v["value"] for v in lanes.values()] == [str(2 * t) for t in range(32)], "its lanes", lanes)
    pointed = children(children(callee["point"]["variablesReference"])["*"]["variablesReference"])
    expect(pointed["x"]["value"] == "0.25" and pointed["x"]["evaluateName"] == "point->x", "through a pointer", pointed)
    grid = children(children(caller["grid"]["variablesReference"])["[1]"]["variablesReference"])
    expect(grid["[1]"]["value"] == "21" and children(grid["[2]"]["variablesReference"])["lane 9"]["value"] == "9", "an array's parts", grid)
    for name in ("point->inner.high", "point->x"):
        shown = e.ask("evaluate", expression=name, frameId=frames[0]["id"], context="watch")["result"]
        expect(("= 8 in all lanes" if "high" in name else "= 0.25 in all lanes") in shown, "a watched expression", shown)
    expect("= 10 in all lanes" not in e.ask("evaluate", expression="grid[0][0]", frameId=frames[1]["id"], context="hover")["result"], "a variable of the caller")
    expect("no variable grid" in e.ask("evaluate", fails=True, expression="grid", frameId=frames[0]["id"], context="hover"), "a variable of another frame")
    page = e.ask("evaluate", expression="show barriers", frameId=frames[0]["id"], context="html")["result"]
    expect(page.startswith("<!doctype html>") and "mbarriers and barriers" in page, "no page", page[:300])
    expect("there is no page of" in e.ask("evaluate", fails=True, expression="show warps", frameId=frames[0]["id"], context="html"), "a page of nothing")
    e.ask("terminate")
    e.wait_for("terminated")
    e.end()
    return e


def exceptions():
    """A breakpoint on errors leads to where one happens."""
    e = Editor(build.gen5)
    e.begin(build.program("05_mma", "--mistake", "early_commit", "--kernel", "wrong"), filters=["error"])
    stopped = e.wait_for("stopped")
    expect(stopped["reason"] == "exception" and stopped["text"].startswith("tmem-"), "no stop at the error", stopped)
    expect(e.ask("exceptionInfo", threadId=stopped["threadId"])["exceptionId"] == stopped["text"].split(":")[0], "which error it is")
    expect(e.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"][0]["line"] > 0, "where it is")
    e.ask("terminate")
    e.wait_for("terminated")
    e.end()
    return e


def memory():
    """Tensor Memory and shared memory by their references are what the console shows."""
    e = Editor(build.gen5)
    source = root / "chapters/05_mma/main.cu"
    e.begin(build.program("05_mma", "--part", "smallest"), [(source, line_of(source, "d[row * kN + n] = r[n];"))])
    thread = e.wait_for("stopped")["threadId"]
    scopes, frame = e.scopes(thread)
    block = e.ask("variables", variablesReference=scopes["Tensor Memory"])["variables"][0]
    e.ask("variables", variablesReference=block["variablesReference"])
    answer = e.ask("readMemory", memoryReference=block["memoryReference"], offset=2048 * 3 + 4, count=16)
    words = base64.b64decode(answer["data"])
    shown = e.ask("evaluate", expression="show tmem 3 1 1 4 /x", frameId=frame, context="repl")["result"].splitlines()[-2].split()[1:]
    expect([f"{int.from_bytes(words[k : k + 4], 'little'):#x}" for k in range(0, 16, 4)] == shown, "cells of Tensor Memory", answer, shown)
    unwritten = e.ask("readMemory", memoryReference=block["memoryReference"], offset=2048 - 8, count=16)
    expect(unwritten["unreadableBytes"] == 16 and not unwritten["data"], "cells that nobody has written", unwritten)
    line = e.ask("variables", variablesReference=scopes["Shared memory"])["variables"][1]
    answer = e.ask("readMemory", memoryReference=line["memoryReference"], count=16)
    expect(base64.b64decode(answer["data"]).hex() == line["value"].replace(" ", ""), "bytes of shared memory", line, answer)
    tiles = {v["name"]: v for v in e.ask("variables", variablesReference=scopes["Tiles"])["variables"]}
    expect({"a", "b", "d"} <= set(tiles), "no tiles of the MMA", tiles)
    expect(len(e.ask("variables", variablesReference=tiles["d"]["variablesReference"])["variables"]) == 128, "rows of D")
    for reference in ("shared", "nothing:1", "tmem:99"):
        e.ask("readMemory", fails=True, memoryReference=reference, count=1)
    e.ask("reverseContinue", threadId=thread)
    e.wait_for("stopped")
    e.end()
    return e


def restart():
    """The program starts again, and stops at the same breakpoint with the same thread."""
    e = Editor(build.gen5)
    e.begin(RING, [(SOURCE, WAIT, "warp == 1")])
    first = e.wait_for("stopped")
    e.ask("restart")
    again = e.wait_for("stopped")
    expect(first == again, "the restarted program stops elsewhere", first, again)
    e.end()
    return e


def pause_request():
    """A program that runs is stopped by a request, and goes on."""
    e = Editor(build.gen5)
    e.begin(build.program("debug_programs", "spin", 2000000000))
    time.sleep(1.5)
    e.ask("pause", threadId=1)
    stopped = e.wait_for("stopped")
    expect(stopped["reason"] == "pause", "no pause", stopped)
    expect("spin" in e.ask("stackTrace", threadId=stopped["threadId"])["stackFrames"][0]["name"], "where it pauses")
    e.ask("continue", threadId=stopped["threadId"])
    e.end()  # while it runs
    return e


def hang_up():
    """An editor that goes away leaves no processes behind: before the first stop, at one, and while the program runs."""
    for stop in (False, True, None):
        e = Editor(build.gen5)
        if stop is None:
            e.begin(build.program("debug_programs", "spin", 2000000000))
            time.sleep(1)
        elif stop:
            e.begin(RING, [(SOURCE, WAIT)])
            e.wait_for("stopped")
        else:
            e.ask("initialize", adapterID="gen5")
            e.ask("launch", program=str(RING[0]), args=["--part", "ring"])
        e.adapter.stdin.close()
        expect(e.adapter.wait(timeout=30) == 0, "the adapter did not end")
        left = subprocess.run(["pgrep", "-f", "01_mbarrier --part ring|debug_programs spin 2000000000"], capture_output=True, text=True).stdout
        expect(not left.strip(), f"processes were left behind, stop {stop}", left)


if __name__ == "__main__":
    globals()[sys.argv[2]]()
