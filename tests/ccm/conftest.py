import json
import subprocess
from typing import NamedTuple

import pytest

from reactor.cli.group import reactor as command
from reactor.resource import secrecy


class Done(NamedTuple):
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def no_secrets():
    yield
    secrecy.forget_all()


@pytest.fixture
def world(tmp_path):
    """Lay out the directory of a case; returns the path of its manifest, with ``$DIR`` filled in everywhere."""

    def lay_out(case):
        directory = tmp_path / "case"
        for name, text in {**case.get("files", {}), "manifest.yaml": case["manifest"]}.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("$DIR", str(directory)))
        if setup := case.get("setup"):
            subprocess.run(["/bin/sh", "-ec", setup.replace("$DIR", str(directory))], check=True)
        return directory / "manifest.yaml"

    return lay_out


@pytest.fixture
def reactor(capfd):
    """A command of reactor, in this process; returns its exit code, stdout and stderr."""

    def call(*arguments):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            command(list(map(str, arguments)), prog_name="reactor")
        return Done(ended.value.code or 0, *capfd.readouterr())

    return call


@pytest.fixture
def run(tmp_path, reactor):
    """``reactor run`` once; returns its exit code, its events, and its plain output."""

    def call(manifest, flags=()):
        form = () if "--render" in flags else ("--format", "json")
        done = reactor("run", "--converge-once", *form, "--state-dir", tmp_path / "state", *flags, manifest)
        events = [json.loads(line) for line in done.out.splitlines()] if form else []
        return done.code, events, done.out

    return call
