"""A client of the Debug Adapter Protocol. Every message that it gets is checked against the published JSON schema, where
PyPI's debugpy (which carries it) and jsonschema are installed: by scripts/setup --debug, into .venv."""
import json
import pathlib
import socket
import subprocess
import sys

from session import expect, root

PATHS = [str(p) for p in root.glob(".venv/lib/python3*/site-packages")]


def schema():
    """The definitions of the protocol by name; None where they are not installed."""
    sys.path.extend(p for p in PATHS if p not in sys.path)
    try:
        import jsonschema
    except ImportError:
        return None
    for folder in sys.path:
        file = pathlib.Path(folder) / "debugpy/_vendored/pydevd/_pydevd_bundle/_debug_adapter/debugProtocol.json"
        if file.exists():
            return Schema(json.loads(file.read_text()), jsonschema)
    return None


class Schema:
    def __init__(self, document, jsonschema):
        self.document, self.jsonschema = document, jsonschema
        self.validators, self.checked = {}, set()

    def check(self, message):
        kind = message.get("event") or message.get("command", "")
        suffix = "Event" if message["type"] == "event" else "Response"
        name = kind[:1].upper() + kind[1:] + suffix
        if suffix == "Response" and not message["success"]:
            name = "ErrorResponse"
        expect(name in self.document["definitions"], f"the protocol has no {name}", message)
        if name not in self.validators:
            one = {"$ref": f"#/definitions/{name}", "definitions": self.document["definitions"]}
            self.validators[name] = self.jsonschema.Draft7Validator(one)
        wrong = [f"{'/'.join(map(str, e.path))}: {e.message}" for e in self.validators[name].iter_errors(message)]
        expect(not wrong, f"no {name} of the protocol", *wrong, json.dumps(message))
        self.checked.add(name)


class Editor:
    """Messages framed as the specification says, over the adapter's pipes or, with `port`, over a socket."""

    def __init__(self, gen5, port=False):
        self.schema = schema()
        self.sequence, self.events = 0, []
        if not port:
            self.adapter = subprocess.Popen([gen5, "debug", "--dap"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.reads, self.writes = self.adapter.stdout, self.adapter.stdin
            return
        self.adapter = subprocess.Popen([gen5, "debug", "--dap", "--port", "0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = self.adapter.stderr.readline()
        expect("127.0.0.1:" in said, "no port is told", said)
        self.socket = socket.create_connection(("127.0.0.1", int(said.rsplit(":", 1)[1])))
        self.reads, self.writes = self.socket.makefile("rb"), self.socket.makefile("wb")

    def read(self):
        length = 0
        while line := self.reads.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        expect(length, "the adapter has closed the connection", *self.events)
        message = json.loads(self.reads.read(length))
        expect(isinstance(message["seq"], int) and message["type"] in ("response", "event"), "no message of the protocol", message)
        if self.schema:
            self.schema.check(message)
        return message

    def say(self, command, **arguments):
        self.sequence += 1
        body = json.dumps({"seq": self.sequence, "type": "request", "command": command, "arguments": arguments}).encode()
        self.writes.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.writes.flush()
        return self.sequence

    def ask(self, command, fails=False, **arguments):
        number = self.say(command, **arguments)
        while True:
            message = self.read()
            if message["type"] == "event":
                self.events.append(message)
                continue
            if message["request_seq"] < number:  # of what was said before
                continue
            expect(message["request_seq"] == number and message["command"] == command, "an answer to something else", message)
            expect(message["success"] != fails, f"{command}: {message.get('message')}", message)
            return message.get("body", {}) if message["success"] else message["message"]

    def wait_for(self, name):
        while not any(e["event"] == name for e in self.events):
            message = self.read()
            if message["type"] == "event":
                self.events.append(message)
        found = next(e for e in self.events if e["event"] == name)
        self.events.remove(found)
        return found.get("body", {})

    def begin(self, program, breakpoints=(), filters=(), **launch):
        """Up to the first stop; `breakpoints`: (path, line) or (path, line, condition)."""
        self.ask("initialize", adapterID="gen5")
        self.ask("launch", program=str(program[0]), args=[str(a) for a in program[1:]], **launch)
        self.wait_for("initialized")
        for path, line, *condition in breakpoints:
            one = {"line": line} | ({"condition": condition[0]} if condition else {})
            self.ask("setBreakpoints", source={"path": str(path)}, breakpoints=[one])
        self.ask("setExceptionBreakpoints", filters=list(filters))
        self.ask("configurationDone")

    def scopes(self, thread):
        frame = self.ask("stackTrace", threadId=thread)["stackFrames"][0]
        return {s["name"]: s["variablesReference"] for s in self.ask("scopes", frameId=frame["id"])["scopes"]}, frame["id"]

    def end(self):
        self.ask("disconnect")
        expect(self.adapter.wait(timeout=30) == 0, "the adapter did not end")
