"""`reactor lsp` while a user edits a manifest of 2,000 lines, over the protocol.

Each sample types into one place of the manifest: a resource in the middle, the data that every resource reads, a list in
brackets, which is no YAML until its end is typed, or the defaults of every resource. It measures the time from the message of
the change to its diagnostics, and to the answer of a completion that is asked for at once, as editors do; and the processor
time of the server, which other work on the machine does not change much. Bar: 50 ms, 99 of 100 times. Each place is warm
after its line was typed once.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from _harness import ENGINE_CORE, REACTOR, Row, arguments, percentile, pinned, show

LINES, IN_RESOURCE = 2000, 6
PAUSE = 0.05
"""Seconds between two keys of a fast typist."""
READING = 1.0
"""Seconds between the opening of a manifest and the first edit."""


class Editor:
    """An editor with one manifest open: sends messages, and reads the answers."""

    def __init__(self, process: subprocess.Popen[bytes], uri: str) -> None:
        self._process, self._uri = process, uri
        self._number = self._checked = 0

    def processor_time(self) -> float:
        """Return the seconds that the server has computed."""
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text().split()[0]) for each in tasks) / 1e9

    def send(self, method: str, params: dict[str, Any], *, asks: bool = False) -> int:
        """Send a message, and return the number by which its answer is known if it ``asks`` something."""
        self._number += 1
        number = {"id": self._number} if asks else {}
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **number}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._process.stdin.flush()
        return self._number

    def receive(self) -> dict[str, Any]:
        """Return the next message."""
        assert self._process.stdout is not None
        assert self._process.poll() is None, "the server has ended"
        length = 0
        while (header := self._process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = header.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self._checked = message["params"]["version"]
        return message

    def until(self, number: int) -> None:
        """Wait for the answer to a request."""
        while self.receive().get("id") != number:
            pass

    def until_checked(self, version: int) -> None:
        """Wait for the diagnostics of a version of the manifest."""
        while self._checked < version:
            self.receive()

    def open(self, text: str) -> None:
        """Begin, and open the manifest."""
        root = {"processId": None, "rootUri": None, "capabilities": {}}
        self.until(self.send("initialize", root, asks=True))
        self.send("initialized", {})
        document = {"uri": self._uri, "languageId": "yaml", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        self.until_checked(1)

    def typed(self, text: str, version: int) -> None:
        """Send the manifest after a key was typed."""
        document = {"uri": self._uri, "version": version}
        self.send("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def completed(self, line: int, column: int) -> None:
        """Ask for what may stand at a position, and wait for it."""
        position = {"line": line, "character": column}
        params = {"textDocument": {"uri": self._uri}, "position": position}
        self.until(self.send("textDocument/completion", params, asks=True))


def manifest() -> list[str]:
    """The lines of the manifest."""
    lines = [
        "data:",
        "  web:",
        "    port: 80",
        "  ports: [80, 443]",
        "defaults:",
        "  file:",
        "    group: root",
        "resources:",
        "  - file:",
    ]
    for number in range((LINES - len(lines)) // IN_RESOURCE):
        lines += [
            f"      - /tmp/x/{number}:",
            "          ensure: present",
            '          content: "port {{ Data.web.port }}"',
            "          owner: root",
            "          force: false",
            '          mode: "0644"',
        ]
    return lines + ["# the end"] * (LINES - len(lines))


PLACES = {
    "": "          owner: root",
    "data": "    port: 80",
    "a list": "  ports: [80, 443]",
    "defaults": "    group: root",
}
"""The lines that are typed, by the places of the manifest in the names of the rows."""


class Typist:
    """Types one line again and again, and measures."""

    def __init__(self, editor: Editor, lines: list[str], typed: str) -> None:
        self._editor, self._lines, self._typed = editor, lines, typed
        found = [number for number, line in enumerate(lines) if line == typed]
        self._at = found[len(found) // 2]
        self._indent = len(typed) - len(typed.lstrip())
        self.checked: list[float] = []
        self.computed: list[float] = []
        self.completed: list[float] = []

    def warm(self, version: int) -> int:
        """Type the whole line, and measure nothing. Return the version after it."""
        for _ in range(2 * len(self._typed)):
            version += 1
            time.sleep(PAUSE)
            self.type(version)
        self.checked, self.computed, self.completed = [], [], []
        return version

    def type(self, version: int) -> None:
        """Type one character more, and wait for what the editor shows."""
        column = self._indent + 1 + version % (len(self._typed) - self._indent)
        lines = [*self._lines]
        lines[self._at] = self._typed[:column]
        text = "\n".join(lines) + "\n"
        start, computed = time.perf_counter(), self._editor.processor_time()
        self._editor.typed(text, version)
        if version % 2:
            self._editor.completed(self._at, column)
            self.completed.append((time.perf_counter() - start) * 1e3)
        self._editor.until_checked(version)
        if not version % 2:
            self.checked.append((time.perf_counter() - start) * 1e3)
            self.computed.append((self._editor.processor_time() - computed) * 1e3)

    def rows(self, place: str) -> list[Row]:
        """Return what was measured."""
        of = f"a change of {place}" if place else "a change"
        return [
            Row(f"{what} of {of}, {name}", percentile(times, percent), "ms", bar)
            for what, times, most in (
                ("diagnostics", self.checked, 50.0),
                ("processor time for the diagnostics", self.computed, None),
                ("completion", self.completed, 50.0),
            )
            for name, percent, bar in (("p50", 50, None), ("p99", 99, most))
        ]


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__)
    lines, version, rows = manifest(), 1, []
    server = subprocess.Popen(
        pinned(ENGINE_CORE, [REACTOR, "lsp"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with server:
        editor = Editor(server, (Path(options.dir) / "manifest.yaml").as_uri())
        editor.open("\n".join(lines) + "\n")
        time.sleep(READING)
        for place, typed in PLACES.items():
            typist = Typist(editor, lines, typed)
            version = typist.warm(version)
            for _ in range(100 if options.quick else 1000):
                version += 1
                time.sleep(PAUSE)
                typist.type(version)
            rows += typist.rows(place)
        editor.until(editor.send("shutdown", {}, asks=True))
        editor.send("exit", {})
    show(f"an editor in a manifest of {LINES} lines", rows)


if __name__ == "__main__":
    main()
