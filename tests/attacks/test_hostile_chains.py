"""Thousands of symlinks of another user, one leading to the next: what is behind them fails in words, and fails alone."""

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")

STRANGER = 12345
COUNT = 3000
"""More than the kernel follows, and more than the calls that Python nests."""

_WISHES = {
    "tidy": "tidy: [{%s: {age: 1d, recurse: true}}]",
    "line": "line: [{it: {path: %s, line: x}}]",
    "mount": "mount: [{%s: {ensure: mounted, device: tmpfs, fstype: tmpfs}}]",
    "scaffold": "scaffold: [{%s: {ensure: present, source: /etc/skel}}]",
    "known_host": "known_host: [{example.com: {path: %s, key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG0lz3NMSaHdJz5Nj6tfW9uNEJnsBej9x8HXNHd2SKtz}}]",
    "file": 'file: [{%s/app.conf: {ensure: present, content: x, owner: root, group: root, mode: "0644"}}]',
}


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    """The first of the symlinks, in a directory of the stranger."""
    (home := tmp_path / "home").mkdir()
    for number in range(COUNT):
        (link := home / str(number)).symlink_to(str(number + 1))
        os.lchown(link, STRANGER, STRANGER)
    os.chown(home, STRANGER, STRANGER)
    return home / "0"


@pytest.mark.parametrize("kind", sorted(_WISHES))
@pytest.mark.parametrize("dry", [True, False])
def test_a_kind_says_where_too_many_symlinks_are(reactor, manifest, chain, kind, dry):
    words = ["--noop"] if dry else []
    done = reactor("run", "--converge-once", *words, manifest(f"resources: [{{{_WISHES[kind] % chain}}}]"))
    told = done.out + done.err
    assert "unexpectedly" not in told
    assert "Traceback" not in told
    assert f"{chain}" in told
    assert done.code == 1


def test_a_service_is_planned_beside_too_many_symlinks(reactor, manifest, chain):
    path = manifest(f"resources: [{{{_WISHES['line'] % chain}}}]")
    done = reactor("service", "install", "--dry-run", path)
    assert "Traceback" not in done.out + done.err
    assert "ExecStart=" in done.out
