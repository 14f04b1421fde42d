"""Commands after rendering, in a user's directory: they never get a path that the user can lead elsewhere."""

import os
import stat
from pathlib import Path

import pytest
from scaffold_worlds import converge, look, make

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")

STRANGER = 12345
SWAPS = """#!/bin/sh
echo "$1" > {0}/seen
rm {0}/home/app.conf; ln -s ../secret {0}/home/app.conf
echo made >> "$1"; chmod 640 "$1"
"""


def test_a_command_after_rendering_does_not_follow_a_symlink_that_a_user_puts_there(
    reactor, manifest, tmp_path
):
    (tmp_path / "secret").write_text("of root")
    (tmp_path / "secret").chmod(0o600)
    for name in ("home", "templates"):
        (tmp_path / name).mkdir()
    os.chown(tmp_path / "home", STRANGER, STRANGER)
    (tmp_path / "templates/app.conf").write_text("ours\n")
    command = tmp_path / "command"
    command.write_text(SWAPS.format(tmp_path))
    command.chmod(0o755)
    text = f"{{ensure: present, source: {tmp_path}/templates, post: [{{'*.conf': '{command} {{}}'}}]}}"
    path = manifest(f"resources: [scaffold: [{{{tmp_path}/home: {text}}}]]")
    done = reactor("run", "--converge-once", path)
    assert done.code == 0, done
    assert (tmp_path / "secret").read_text() == "of root"
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    made = tmp_path / "home/app.conf"
    assert not made.is_symlink()
    assert made.read_text() == "ours\nmade\n"
    assert stat.S_IMODE(made.stat().st_mode) == 0o640
    seen = Path((tmp_path / "seen").read_text().strip())
    assert seen.name == "app.conf"
    assert seen.parent != tmp_path / "home"
    assert not seen.exists()


FORGES = """#!/bin/sh
[ -e {0}/forged ] && exit
rm {0}/out/app.conf; echo forged > {0}/out/app.conf; chown 12345 {0}/out/app.conf; touch {0}/forged
"""


async def test_what_a_user_puts_there_while_a_command_runs_is_not_taken_for_what_the_command_has_made(
    tmp_path,
):
    for name in ("out", "templates"):
        (tmp_path / name).mkdir()
    os.chown(tmp_path / "out", STRANGER, STRANGER)
    (tmp_path / "templates/app.conf").write_text("ours\n")
    command = tmp_path / "command"
    command.write_text(FORGES.format(tmp_path))
    command.chmod(0o755)
    scaffold = make(tmp_path, post=[{"*.conf": f"{command} {{}}"}])
    for action in await look(scaffold):
        await action.run()
    assert (tmp_path / "out/app.conf").read_text() == "forged\n"
    await converge(scaffold)
    assert (tmp_path / "out/app.conf").read_text() == "ours\n"
