"""A headless Firefox, driven by WebDriver BiDi over its own port, with the calls of tests/observe/browser.py. Needs websockets (PyPI)."""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

from websockets.sync.client import connect

NAMES = ("firefox-esr", "firefox")
KEYS = {"Tab": "\ue004", "Enter": "\ue006", "Escape": "\ue00c", "ArrowDown": "\ue015", "ArrowUp": "\ue013", "Control": "\ue009"}


def find():
    """The browser's path: $GEN5_FIREFOX, or one of the names by which it is installed; None where there is none."""
    return os.environ.get("GEN5_FIREFOX") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page in one colour scheme. Collects what the page says on its console, and which addresses it asks for."""

    def __init__(self, path, scheme="light", still=False):
        self.profile = tempfile.mkdtemp(prefix="gen5-firefox-")
        prefs = {"layout.css.prefers-color-scheme.content-override": 0 if scheme == "dark" else 1, "ui.prefersReducedMotion": int(still), "browser.shell.checkDefaultBrowser": False,
                 "datareporting.policy.dataSubmissionEnabled": False, "app.update.auto": False, "network.captive-portal-service.enabled": False,
                 "network.connectivity-service.enabled": False, "remote.active-protocols": 1}
        (pathlib.Path(self.profile) / "user.js").write_text("".join(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in prefs.items()))
        log = pathlib.Path(self.profile) / "log.txt"
        self.process = subprocess.Popen([path, "--headless", "--no-remote", "--profile", self.profile, "--remote-debugging-port", "0"],
                                        stdout=log.open("w"), stderr=subprocess.STDOUT)
        end = time.monotonic() + 180
        while not (found := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text())):
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError(f"Firefox does not start: {log.read_text()}")
            time.sleep(0.1)
        self.socket = connect(f"{found[1]}/session", max_size=None)
        self.number, self.console, self.requests = 0, [], []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        # Not the first page: in a headless Firefox that one never has the focus, without which keys press no button.
        self.page = self.call("browsingContext.create", type="tab")["context"]

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=120))
            if message.get("method") == "log.entryAdded" and message["params"]["level"] in ("error", "warn"):
                self.console.append(message["params"].get("text") or "")
            elif message.get("method") == "network.beforeRequestSent":
                self.requests.append(message["params"]["request"]["url"])
            if message.get("id") == self.number:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['error']}: {message['message']}")
                return message["result"]

    def open(self, path, width=1280, height=900):
        self.call("browsingContext.setViewport", context=self.page, viewport={"width": width, "height": height})
        self.call("browsingContext.navigate", context=self.page, url=path if "://" in str(path) else "file://" + os.path.abspath(path), wait="complete")
        self.settle()

    def run(self, script):
        """The value of an expression, as JSON has it."""
        answer = self.call("script.evaluate", expression=f"(async () => JSON.stringify(await ({script})))()", target={"context": self.page}, awaitPromise=True)
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"]) if "value" in answer["result"] else None

    def settle(self):
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def press(self, key, shift=False):
        key = KEYS.get(key, key)
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        if shift:
            actions = [{"type": "keyDown", "value": "\ue008"}, *actions, {"type": "keyUp", "value": "\ue008"}]
        self.call("input.performActions", context=self.page, actions=[{"type": "key", "id": "keyboard", "actions": actions}])
        self.settle()

    def picture(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self.call("browsingContext.captureScreenshot", context=self.page, origin="document")["data"]))
