import os

import pytest
from processes_of_cli import Done

from reactor.cli.group import reactor as command


@pytest.fixture
def reactor(capfd):
    """Run a command in this process, through the real option parser and the real engine."""

    def call(*args):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            command([str(arg) for arg in args], prog_name="reactor")
        out, err = capfd.readouterr()
        return Done(ended.value.code or 0, out, err)

    return call


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest; ``{dir}`` is a directory of the test, ``{own}`` the properties every file needs."""

    def write(text, name="manifest.yaml"):
        own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0644"'
        path = tmp_path / name
        path.write_text(text.replace("{dir}", str(tmp_path)).replace("{own}", own))
        return path

    return write
