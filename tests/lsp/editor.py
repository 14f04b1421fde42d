"""An editor: speaks the Language Server Protocol to a real `reactor lsp`."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from contextlib import contextmanager

from processes_of_cli import environment


class Editor:
    """One editor with one server. Positions are pairs of a line and a column, counted from 0."""

    def __init__(self, process):
        self.process = process
        self._ids = itertools.count(1)
        self.published = {}
        self.initialized = self.request(
            "initialize", {"processId": None, "rootUri": None, "capabilities": {}}
        )
        self.notify("initialized", {})

    def request(self, method, params):
        number = next(self._ids)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while (message := self._receive()).get("id") != number:
            self._keep(message)
        if "error" in message:
            raise RefusedError(message["error"]["message"])
        return message["result"]

    def notify(self, method, params):
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def open(self, path, text):
        """Open a file with an unsaved text. Return its diagnostics."""
        uri = path.as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics(uri, 1)

    def change(self, path, text, version):
        """Change a whole text. Return its new diagnostics."""
        document = {"uri": path.as_uri(), "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        return self.diagnostics(path.as_uri(), version)

    def diagnostics(self, uri, version):
        while (uri, version) not in self.published:
            self._keep(self._receive())
        return self.published.pop((uri, version))

    def at(self, method, path, position, **more):
        line, character = position
        params = {"textDocument": {"uri": path.as_uri()}, "position": {"line": line, "character": character}}
        return self.request(f"textDocument/{method}", {**params, **more})

    def completed(self, path, text, version=[1]):  # noqa: B006 - a counter
        """What is offered at the mark ``|`` in ``text``: labels, and the texts that would stand there."""
        version[0] += 1
        before, _, after = text.partition("|")
        self.change(path, before + after, version[0])
        position = before.count("\n"), len(before.rpartition("\n")[2])
        return {item["label"]: item for item in self.at("completion", path, position)}

    def _keep(self, message):
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            self.published[params["uri"], params.get("version")] = params["diagnostics"]

    def _send(self, message):
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _receive(self):
        length = 0
        while (header := self.process.stdout.readline()) not in (b"\r\n", b""):
            name, _, value = header.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the server has ended"
        return json.loads(self.process.stdout.read(length))


class RefusedError(Exception):
    """The server refused a request."""


@contextmanager
def editing(*options):
    """An editor whose server runs in the block."""
    command = [sys.executable, "-m", "reactor", "lsp", *options]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    ) as process:
        try:
            editor = Editor(process)
            yield editor
            editor.request("shutdown", None)
            editor.notify("exit", None)
            assert process.wait(30) == 0
        finally:
            process.kill()
