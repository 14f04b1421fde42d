import pytest
from served import GUARD, served

from reactor.hostfs import disks
from reactor.resource import mount_health


@pytest.fixture
def mount(tmp_path):
    """A file system of a server that the test can stop, with ``f`` in it."""
    with served(tmp_path / "point", tmp_path / "source") as mounted:
        (mounted.source / "f").write_text("foreign")
        yield mounted
        mounted.go_on()


@pytest.fixture
def short_mount_timeout(monkeypatch):
    monkeypatch.setattr(mount_health, "TIMEOUT", 0.3)


@pytest.fixture
def short_disk_timeout(monkeypatch):
    monkeypatch.setattr(disks, "TIMEOUT", 0.3)


@pytest.fixture
def patient(monkeypatch):
    """A disk that hangs is waited for longer than the test lasts, however slow the machine is."""
    monkeypatch.setattr(disks, "TIMEOUT", 2 * GUARD)
    monkeypatch.setattr(disks, "FLUSH_TIMEOUT", 2 * GUARD)


@pytest.fixture
def questions(monkeypatch):
    """The mount points that a process was started to ask, as they are asked."""
    asked, spawn = [], mount_health.os.posix_spawn

    def noted(program, words, *more, **options):
        asked.append(words[-1])
        return spawn(program, words, *more, **options)

    monkeypatch.setattr(mount_health.os, "posix_spawn", noted)
    return asked
