"""The decision table of the specification, with states only: no host."""

import pytest
from file_worlds import make

from reactor.hostfs import Attributes, FileType
from reactor.resource.plan import ResourceError
from reactor.resources.file.state import FileState

WANTED = Attributes(1000, 1000, 0o644)
AS_DIRECTORY = Attributes(1000, 1000, 0o755)


def found(kind=FileType.FILE, mode=0o644, uid=1000, gid=1000, wanted=WANTED, **more) -> FileState:
    return FileState(kind, mode, uid, gid, wanted, **more)


ABSENT = FileState(FileType.ABSENT, wanted=WANTED)
GONE = {"ensure": "absent", "owner": None, "group": None, "mode": None}
FORCED = {**GONE, "force": True}
DIRECTORY = {"ensure": "directory"}
CONTENT = {"content": "x"}
SOURCE = {"source": "/y"}
ATTRIBUTES = {"content": None}

NOTHING = []
TABLE = [
    (GONE, ABSENT, NOTHING),
    (FORCED, ABSENT, NOTHING),
    (GONE, found(), ["Would have removed the file"]),
    (FORCED, found(), ["Would have removed the file"]),
    (GONE, found(FileType.SYMLINK), ["Would have removed the file"]),
    (FORCED, found(FileType.SYMLINK), ["Would have removed the file"]),
    (GONE, found(FileType.FIFO), ["Would have removed the file"]),
    (GONE, found(FileType.DIRECTORY), ["Would have removed the directory"]),
    (FORCED, found(FileType.DIRECTORY), ["Would have recursively removed the directory"]),
    (FORCED, found(FileType.DIRECTORY, occupied=True), ["Would have recursively removed the directory"]),
    (DIRECTORY, found(FileType.DIRECTORY, mode=0o755, wanted=AS_DIRECTORY), NOTHING),
    (DIRECTORY, ABSENT, ["Would have created directory"]),
    (DIRECTORY, found(), ["Would have created directory"]),
    (
        DIRECTORY,
        found(FileType.DIRECTORY, mode=0o700, wanted=AS_DIRECTORY),
        ["Would have updated attributes"],
    ),
    (
        DIRECTORY,
        found(FileType.SYMLINK, mode=0o755, wanted=AS_DIRECTORY, target=FileType.DIRECTORY),
        NOTHING,
    ),
    (DIRECTORY, found(FileType.SYMLINK, target=FileType.FILE), ["Would have created directory"]),
    (
        DIRECTORY,
        found(FileType.SYMLINK, mode=0o755, uid=0, wanted=AS_DIRECTORY, target=FileType.DIRECTORY),
        ["Would have created directory"],
    ),
    (DIRECTORY, found(FileType.SYMLINK), ["Would have created directory"]),
    (CONTENT, found(same_content=True), NOTHING),
    (CONTENT, ABSENT, ["Would have created the file"]),
    (CONTENT, found(same_content=False), ["Would have updated the file"]),
    (CONTENT, found(same_content=None), ["Would have updated the file"]),
    (CONTENT, found(same_content=True, mode=0o600), ["Would have updated attributes"]),
    (CONTENT, found(same_content=True, uid=0), ["Would have updated attributes"]),
    (CONTENT, found(same_content=True, gid=0), ["Would have updated attributes"]),
    (CONTENT, found(same_content=False, mode=0o600), ["Would have updated the file"]),
    (CONTENT, found(FileType.SYMLINK), ["Would have replaced a symlink with the file"]),
    (CONTENT, found(FileType.FIFO), ["Would have replaced a FIFO with the file"]),
    (CONTENT, found(FileType.SOCKET), ["Would have replaced a socket with the file"]),
    (SOURCE, ABSENT, ["Would have created the file"]),
    (SOURCE, found(same_content=True), NOTHING),
    (SOURCE, found(same_content=False), ["Would have updated the file"]),
    (ATTRIBUTES, found(), NOTHING),
    (ATTRIBUTES, found(mode=0o600), ["Would have updated attributes"]),
    (ATTRIBUTES, found(mode=0o4644), ["Would have updated attributes"]),
    (ATTRIBUTES, ABSENT, ["Would have created an empty file with requested attributes"]),
    (ATTRIBUTES, found(FileType.SYMLINK, target=FileType.FILE), NOTHING),
]


@pytest.mark.parametrize(("properties", "state", "sentences"), TABLE)
def test_each_state_leads_to_its_plan_with_a_refresh_and_without(properties, state, sentences):
    plan = make("/x", **properties).plan(state, refresh=False)
    assert [action.would for action in plan] == sentences
    assert plan == make("/x", **properties).plan(state, refresh=True)


ERRORS = [
    (GONE, found(FileType.DIRECTORY, occupied=True), "cannot remove /x: directory is not empty"),
    (CONTENT, found(FileType.DIRECTORY), "/x exists as a directory; cannot manage it as a file"),
    (SOURCE, found(FileType.DIRECTORY), "/x exists as a directory; cannot manage it as a file"),
    (ATTRIBUTES, found(FileType.DIRECTORY), "/x exists as a directory; cannot manage it as a file"),
    (CONTENT, found(FileType.DEVICE), "/x exists as a device; cannot manage it as a file"),
    (DIRECTORY, found(FileType.DEVICE), "/x exists as a device; cannot manage it as a directory"),
    (ATTRIBUTES, found(FileType.SYMLINK), "/x is a symlink; refusing to set attributes through it"),
    (
        ATTRIBUTES,
        found(FileType.SYMLINK, mode=0o600, target=FileType.FILE),
        "/x is a symlink; refusing to set attributes through it",
    ),
    (ATTRIBUTES, found(FileType.FIFO), "/x is a FIFO, not a regular file; refusing to set its attributes"),
]


@pytest.mark.parametrize(("properties", "state", "message"), ERRORS)
def test_the_errors_of_the_decision_table(properties, state, message):
    with pytest.raises(ResourceError) as caught:
        make("/x", **properties).plan(state, refresh=False)
    assert caught.value.message == message
    assert caught.value.hint


def test_the_error_for_a_directory_with_something_in_it_mentions_force():
    with pytest.raises(ResourceError) as caught:
        make("/x", **GONE).plan(found(FileType.DIRECTORY, occupied=True), refresh=False)
    assert "force: true" in caught.value.hint


@pytest.mark.parametrize(
    ("properties", "state", "did"),
    [
        (CONTENT, found(same_content=True, mode=0o600), "changed mode from 0600 to 0644"),
        (CONTENT, found(same_content=False), "updated the content"),
        (
            {**CONTENT, "owner": "app"},
            found(same_content=False, uid=0, mode=0),
            "updated the content, changed owner from 0 to app, changed mode from 0000 to 0644",
        ),
        (
            CONTENT,
            found(same_content=None, mode=0),
            "replaced content that can't be read, changed mode from 0000 to 0644",
        ),
        (
            {**DIRECTORY, "group": "app"},
            found(FileType.DIRECTORY, mode=0o755, gid=0, wanted=AS_DIRECTORY),
            "changed group from 0 to app",
        ),
        (DIRECTORY, found(), "created the directory in place of a regular file"),
        (GONE, found(FileType.SYMLINK), "removed the symlink"),
        (FORCED, found(FileType.DIRECTORY), "removed the directory and everything in it"),
    ],
)
def test_what_was_done_is_said_in_particular(properties, state, did):
    assert [action.did for action in make("/x", **properties).plan(state, refresh=False)] == [did]


def test_litter_goes_first_and_alone_is_enough_for_a_plan():
    (only,) = make("/x", **CONTENT).plan(found(same_content=True, stale_temporaries=("a",)), refresh=False)
    assert only.would == "Would have removed a temporary file of an interrupted run"
    first, second = make("/x", **CONTENT).plan(
        found(same_content=False, stale_temporaries=("a", "b")), refresh=False
    )
    assert first.did == "removed 2 temporary files of an interrupted run"
    assert second.did == "updated the content"
