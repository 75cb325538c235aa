"""`gen5 debug` at its prompt, asked line by line: for exercises and tests."""
import re
import subprocess
import threading


class Prompt:
    def __init__(self, gen5, command, most, options=(), environment=None):
        """`most`: seconds for all questions together."""
        line = [str(w) for w in (gen5, "debug", *options, *command)]
        self.process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace", bufsize=1, env=environment
        )
        self.timer = threading.Timer(most, self.process.kill)
        self.timer.start()
        self.position = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        self.process.kill()
        self.process.communicate()

    def ask(self, line):
        """What a command answers. A word that is no command behind it marks the end of the answer. Throws EOFError where there is no debugger any more."""
        end = "end-of-answer"
        try:
            self.process.stdin.write(f"{line}\n{end}\n")
            self.process.stdin.flush()
        except OSError:
            raise EOFError
        answer, begun = "", False
        for said in self.process.stdout:
            if said == f"(gen5) {end}\n":
                if found := re.search(r"\(position ([\d,]+)\)|^position ([\d,]+)", answer, re.M):
                    self.position = int((found[1] or found[2]).replace(",", ""))
                return answer
            if begun:
                answer += said
            begun |= said == f"(gen5) {line}\n"
        raise EOFError
