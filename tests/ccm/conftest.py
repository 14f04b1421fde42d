import json
import subprocess

import pytest

from reactor.cli.group import reactor as command
from reactor.resource import secrecy


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
def run(tmp_path, capfd):
    """``reactor run`` once, in this process; returns its exit code, its events, and its plain output."""

    def call(manifest, flags=()):
        capfd.readouterr()
        arguments = ["run", "--converge-once", "--state-dir", str(tmp_path / "state"), *flags, str(manifest)]
        if "--render" not in flags:
            arguments[1:1] = ["--format", "json"]
        with pytest.raises(SystemExit) as ended:
            command(arguments, prog_name="reactor")
        out, err = capfd.readouterr()
        events = [json.loads(line) for line in out.splitlines()] if "--render" not in flags else []
        return ended.value.code or 0, events, out + err

    return call
