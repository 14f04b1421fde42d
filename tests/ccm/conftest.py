import subprocess

import pytest


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
def run(tmp_path, reactor):
    """``reactor run`` once; returns its exit code, its events, and its plain output."""

    def call(manifest, flags=()):
        form = () if "--render" in flags else ("--format", "json")
        done = reactor("run", "--converge-once", *form, "--state-dir", tmp_path / "state", *flags, manifest)
        events = done.records if form else []
        return done.code, events, done.out

    return call
