"""What the tests of parts of files share."""

from __future__ import annotations

from reactor.resources.parts import Block, Line, Setting
from reactor.resources.parts.document import Document

PATHS = {
    "sshd": "/etc/ssh/sshd_config", "systemd": "/etc/systemd/system/app.service", "ini": "/etc/php/8.2/fpm/php.ini",
    "keyvalue": "/etc/sysctl.conf", "json": "/etc/docker/daemon.json", "toml": "/srv/pyproject.toml", "yaml": "/etc/netplan/a.yaml",
}  # fmt: skip


def line(name="wanted", path="/etc/list", **properties):
    return Line(name=name, path=str(path), **properties)


def block(name="ours", path="/etc/hosts", **properties):
    return Block(name=name, path=str(path), **properties)


def setting(name, path, **properties):
    return Setting(name=name, path=PATHS.get(str(path), str(path)), **properties)


def applied(part, data):
    """The bytes after one application; the second one must change nothing."""
    data = data.encode() if isinstance(data, str) else data
    edit = part.change(Document.of(data, part.path))
    if edit is None:
        return data
    assert part.edit(Document.of(edit.after.data, part.path)) is None, (
        "the file, read again, is not as desired"
    )
    return edit.after.data
