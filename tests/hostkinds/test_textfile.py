"""Files that several resources have lines in: what is no file is neither waited for nor replaced."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from reactor.resource.plan import ResourceError
from reactor.resources import textfile


def pipe(path):
    os.mkfifo(path)


def link_to_a_device(path):
    """As an administrator masks a file of a `*.d` directory."""
    device = path.with_name("device")
    os.mknod(device, 0o600 | 0o020000, os.makedev(1, 3))  # what /dev/null is
    path.symlink_to(device)


def what_is_in(directory):
    return {path.name: (path.lstat().st_ino, path.lstat().st_mode) for path in directory.iterdir()}


@pytest.mark.parametrize("make", [pipe, link_to_a_device, os.mkdir])
async def test_what_is_no_file_is_refused_and_stays(tmp_path, make):
    path = tmp_path / "file.conf"
    make(path)
    before = what_is_in(tmp_path)
    with pytest.raises(ResourceError, match=r"file\.conf"):
        textfile.read(str(path))
    with pytest.raises(ResourceError, match=r"file\.conf|device"):
        await textfile.replace(str(path), "text\n")
    assert what_is_in(tmp_path) == before


async def test_what_another_program_writes_meanwhile_is_kept(tmp_path):
    path = tmp_path / "fstab"
    path.write_text("first\n")
    meanwhile = iter(["theirs\n", "theirs, too\n"])

    def change(text):
        if (line := next(meanwhile, None)) is not None:
            with path.open("a") as file:
                file.write(line)
        return f"{text}ours\n"

    await textfile.edit(str(path), change)
    assert path.read_text() == "first\ntheirs\ntheirs, too\nours\n"


async def test_the_diff_of_a_removal_shows_what_goes(tmp_path):
    path = tmp_path / "zz-own.conf"
    path.write_text("vm.swappiness = 1\n")
    step = textfile.replace_step(str(path), None)
    shown = await step.diff()
    await step.make()
    assert (await shown()).endswith("@@ -1 +0,0 @@\n-vm.swappiness = 1\n")
    assert not path.exists()


async def test_a_missing_file_is_made_also_an_empty_one_and_through_a_link(tmp_path):
    await textfile.replace(str(tmp_path / "empty"), "", mode=0o640)
    assert (tmp_path / "empty").stat().st_mode & 0o777 == 0o640
    (tmp_path / "link").symlink_to("real")
    await textfile.replace(str(tmp_path / "link"), "new\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new\n"


async def test_what_is_as_it_should_be_is_not_written(tmp_path):
    path = tmp_path / "file"
    path.write_text("same\n")
    before = what_is_in(tmp_path)
    await textfile.replace(str(path), "same\n")
    assert what_is_in(tmp_path) == before


async def test_a_symlink_to_a_file_stays_and_leads_to_the_new_text(tmp_path):
    (tmp_path / "real").write_text("old\n")
    (tmp_path / "link").symlink_to("real")
    await textfile.replace(str(tmp_path / "link"), "new\n")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new\n"


def test_what_a_killed_run_left_beside_the_file_goes_with_the_next_change(tmp_path):
    path = tmp_path / "file.conf"
    path.write_text("old\n")
    kill = "os.rename = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)"
    edit = "import os, signal, sys, trio; from reactor.resources import textfile; {}; trio.run(textfile.replace, sys.argv[1], 'new\\n')"
    killed = subprocess.run([sys.executable, "-c", edit.format(kill), path], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(what_is_in(tmp_path)) == 2
    subprocess.run([sys.executable, "-c", edit.format("pass"), path], check=True)
    assert path.read_text() == "new\n"
    assert list(what_is_in(tmp_path)) == ["file.conf"]
