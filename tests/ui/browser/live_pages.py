"""``reactor run --ui`` as a process, and its page in a browser."""

import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager

import yaml
from chromium import DEADLINE, Tab
from processes_of_cli import environment, spawned

OWN = {"owner": str(os.getuid()), "group": str(os.getgid()), "mode": "0644"}
_ADDRESS = re.compile(r"http://[\d.]+:\d+/\?token=\S+")


def file(content, **more):
    """The properties of a file that is there."""
    return {"ensure": "present", "content": content, **OWN, **more}


def write_manifest(path, **kinds):
    """A manifest of resources by kind and name, which takes the place of the one before at once."""
    resources = [
        {kind: [{str(name): properties} for name, properties in named.items()]}
        for kind, named in kinds.items()
    ]
    scratch = path.with_suffix(".new")
    scratch.write_text(
        yaml.dump({"resources": resources}, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False)
    )
    scratch.replace(path)
    return path


@contextmanager
def served(manifest, *options, port=0):
    """A converger with a page. Gives the address of the page, with its token."""
    log = manifest.with_suffix(".log")
    log.unlink(missing_ok=True)
    log.touch(mode=0o600)  # the token is written to no file that others may read
    with log.open("wb") as said:
        arguments = ("run", "--ui", f"127.0.0.1:{port}", *options, manifest)
        with spawned(*arguments, stdout=said, stderr=said) as process:
            yield told(process, log).group()
            process.terminate()
            process.wait(DEADLINE)


def told(process, log):
    """The address in what the process wrote, once it is there."""
    deadline = time.monotonic() + DEADLINE
    while not (found := _ADDRESS.search(log.read_text())):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.01)
    return found


def paused(directory):
    """What is paused and why, as ``reactor status`` says."""
    done = subprocess.run(
        [sys.executable, "-m", "reactor", "status", "--format", "json", "--all", "--state-dir", directory],
        capture_output=True, text=True, timeout=DEADLINE, env=environment(), check=False,
    )  # fmt: skip
    resources = json.loads(done.stdout)["resources"]
    return {each["ref"]: each["paused"]["reason"] for each in resources if each["paused"]}


def vertex(ref):
    """What the page knows of a resource, as an expression."""
    return f"page.runState.byRef.get({json.dumps(str(ref))})"


class PageTab(Tab):
    """A tab with the live page in it."""

    def visit(self, url):
        """Open the page of a run, and wait until it shows all of the graph, and each resource was checked."""
        self.open(url)
        self.wait("document.querySelector('#connection.live')")
        self.evaluate(
            "import(new URL('page/main.js', document.baseURI)).then((page) => { window.page = page; })"
        )
        self.wait("page.runState.vertices.length > 0 && page.view.whole && !page.view.glide")
        self.wait("page.runState.vertices.every(({ status }) => status.state !== 'unknown')")

    def select(self, ref):
        """Search a resource by keyboard and open it."""
        self.click("#search")
        self.evaluate("document.getElementById('search').select()")
        self.write(ref)
        self.wait(f"document.querySelector('#found button')?.innerText === {json.dumps(ref)}")
        self.key("Enter")
        self.key("Escape")
        self.wait("document.querySelector('#resource .badge')")

    def wait_for_state(self, ref, state):
        self.wait(f"{vertex(ref)}?.status.state === {json.dumps(state)}")

    def counted(self, aspect, number):
        """Wait until the header counts so many resources of an aspect."""
        shown = f"(document.querySelector('.chip.{aspect}:not([hidden]) b')?.textContent ?? '0')"
        self.wait(f"{shown} === '{number}'")

    def spot(self, ref):
        """Where the box of a resource is on the screen: its middle."""
        return self.evaluate(
            f"(() => {{ const v = {vertex(ref)};"
            " const f = document.getElementById('stage').getBoundingClientRect();"
            " const [x, y] = page.view.toScreen(v.x + v.width / 2, v.y + v.height / 2);"
            " return [f.left + x, f.top + y]; })()"
        )
