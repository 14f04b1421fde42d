"""Where a test keeps manifests, data and values in a NATS server, and a converger that uses them."""

import io
import json
import os
import tarfile

import trio
from buckets import make_bucket, make_store
from nats_servers import PATIENCE

from reactor import load
from reactor.fleet.link.connection import connected
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.manifest.inputs import Inputs


def archive(text):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo("site/manifest.yaml")
        info.size = len(text.encode())
        tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def manifest(root, content):
    own = f"owner: '{os.getuid()}', group: '{os.getgid()}', mode: '0644', ensure: present"
    return f"resources: [{{file: [{{'{root}/out': {{{own}, content: '{content}'}}}}]}}]"


def on(server, work):
    """Call ``work`` with JetStream of the server, and return what it returns."""

    async def connect():
        async with connected(Options(servers=(server.url,)), seconds=PATIENCE) as connection:
            return await work(JetStream(connection, seconds=PATIENCE))

    return trio.run(connect)


class Site:
    """Where a test keeps its manifest and data: in a bucket that is named after the test."""

    def __init__(self, server, root, name):
        self.server, self.root, self.bucket = server, root, name
        self.variables = {"XDG_CONFIG_HOME": str(root / "config")}
        self.data, self.manifest = f"kv://{name}/site.web", f"obj://{name}/site.tar.gz"
        (root / "config/nats/context").mkdir(parents=True)
        self.connect_to(server.url)
        on(server, self._make)

    async def _make(self, js):
        await make_bucket(js.key_value(self.bucket))
        await make_store(js.objects(self.bucket))

    def at(self, server):
        """The same site at another server, which becomes that of its context."""
        other = Site.__new__(Site)
        vars(other).update(vars(self), server=server)
        on(server, other._make)
        other.connect_to(server.url)
        return other

    def connect_to(self, url, name="CCM"):
        (self.root / f"config/nats/context/{name}.json").write_text(json.dumps({"url": url}))

    def put(self, text, key="site.web"):
        on(self.server, lambda js: js.key_value(self.bucket).put(key, text.encode()))

    def delete(self):
        on(self.server, lambda js: js.key_value(self.bucket).delete("site.web"))

    def store(self, data, name="site.tar.gz"):
        on(self.server, lambda js: js.objects(self.bucket).put(name, data))

    def load(self, path, **inputs):
        return load(str(path), Inputs(cache=str(self.root / "cache"), context="CCM", **inputs))

    def written(self, text="${ Data.content }"):
        path = self.root / "m.yaml"
        path.write_text(manifest(self.root, text))
        return path

    @property
    def out(self):
        return (self.root / "out").read_text()


class Run:
    """A converger that runs on a site."""

    def __init__(self, process):
        self.process = process
        self.warnings = []
        self.echoes = set()

    def heard(self, kind, holds=lambda _: True):
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == "warning":
                self.warnings.append(event["text"])
            if event["event"] == kind and holds(event):
                return event
        raise AssertionError(f"ended without {kind}: {self.process.stderr.read().decode()}")

    def warned(self, words):
        """Wait for a warning, if it has not come yet."""
        if not any(words in each for each in self.warnings):
            self.heard("warning", lambda event: words in event["text"])
