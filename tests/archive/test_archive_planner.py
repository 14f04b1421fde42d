"""The decision table of archives, as a table."""

import pytest
from archive_worlds import make

from reactor import ResourceError
from reactor.hostfs import FileType
from reactor.resources.archive.state import ArchiveState

FILE, NONE = FileType.FILE, FileType.ABSENT
URL = "http://127.0.0.1:1/app.tar.gz"
SUM = {"checksum": "0" * 64}
INTO = {"extract_parent": "/opt/app"}
MADE = {**INTO, "creates": "/opt/app/bin"}
CLEAN = {**MADE, "cleanup": True}

DOWNLOAD, EXTRACT, CLEANUP = "Would have downloaded", "Would have extracted", "Would have cleaned up"
REMOVE, OWNER = "Would have removed", "Would have updated attributes"
TIDY = "Would have removed what an interrupted run left"


def found(there=FILE, *, owned=True, **state):
    return ArchiveState(there, is_owned=owned, **state)


TABLE = [
    # CCM's decision table
    ({"ensure": "absent"}, found(NONE), []),
    ({"ensure": "absent"}, found(), [REMOVE]),
    ({}, found(NONE), [DOWNLOAD]),
    ({}, found(), []),
    (SUM, found(same_content=True), []),
    (SUM, found(same_content=False), [DOWNLOAD]),
    ({}, found(owned=False), [DOWNLOAD]),
    # unpacking
    (INTO, found(NONE), [DOWNLOAD, EXTRACT]),
    (INTO, found(), []),
    ({**INTO, **SUM}, found(same_content=False), [DOWNLOAD, EXTRACT]),
    (MADE, found(NONE, creates_exists=False), [DOWNLOAD, EXTRACT]),
    (MADE, found(NONE, creates_exists=True), [DOWNLOAD, EXTRACT]),
    (MADE, found(creates_exists=True), []),
    (MADE, found(creates_exists=False), [DOWNLOAD, EXTRACT]),
    ({**MADE, **SUM}, found(same_content=True, creates_exists=False), [EXTRACT]),
    ({**MADE, **SUM}, found(same_content=True, creates_exists=True), []),
    ({**MADE, **SUM}, found(same_content=False, creates_exists=True), [DOWNLOAD, EXTRACT]),
    # cleaning up
    (CLEAN, found(NONE, creates_exists=True), []),
    (CLEAN, found(NONE, creates_exists=False), [DOWNLOAD, EXTRACT, CLEANUP]),
    (CLEAN, found(creates_exists=True), [CLEANUP]),
    (CLEAN, found(creates_exists=False), [DOWNLOAD, EXTRACT, CLEANUP]),
    ({**CLEAN, **SUM}, found(same_content=True, creates_exists=True), [CLEANUP]),
    ({**CLEAN, **SUM}, found(same_content=True, creates_exists=False), [EXTRACT, CLEANUP]),
    ({**CLEAN, **SUM}, found(same_content=False, creates_exists=True), [DOWNLOAD, EXTRACT, CLEANUP]),
    # what the table of CCM leaves open
    (SUM, found(same_content=True, owned=False), [OWNER]),
    ({**CLEAN, **SUM}, found(same_content=True, owned=False, creates_exists=True), [CLEANUP]),
    ({}, found(same_content=False), [DOWNLOAD]),
    (INTO, found(interrupted=True), [DOWNLOAD, EXTRACT]),
    ({**INTO, **SUM}, found(same_content=True, interrupted=True), [EXTRACT]),
    ({**MADE, **SUM}, found(same_content=True, creates_exists=True, interrupted=True), [EXTRACT]),
    ({**CLEAN, **SUM}, found(NONE, creates_exists=True, interrupted=True), [DOWNLOAD, EXTRACT, CLEANUP]),
    # what an interrupted run left
    ({}, found(partial=True), [TIDY]),
    ({}, found(NONE, partial=True), [DOWNLOAD]),
    ({"ensure": "absent"}, found(NONE, partial=True), [TIDY]),
    ({"ensure": "absent", **INTO}, found(interrupted=True), [TIDY, REMOVE]),
    # what else may be there
    ({}, found(FileType.SYMLINK), [DOWNLOAD]),
    ({}, found(FileType.FIFO), [DOWNLOAD]),
    ({"ensure": "absent"}, found(FileType.SYMLINK), [REMOVE]),
]


@pytest.mark.parametrize(("properties", "state", "sentences"), TABLE)
@pytest.mark.parametrize("refresh", [False, True])
def test_each_state_leads_to_its_plan(properties, state, sentences, refresh):
    plan = make("/tmp/app.tar.gz", URL, **properties).plan(state, refresh=refresh)
    assert [action.would for action in plan] == sentences


@pytest.mark.parametrize("ensure", ["present", "absent"])
@pytest.mark.parametrize("there", [FileType.DIRECTORY, FileType.DEVICE])
def test_what_is_in_the_way_is_left_alone(ensure, there):
    with pytest.raises(ResourceError, match="cannot manage it as an archive"):
        make("/tmp/app.tar.gz", URL, ensure=ensure).plan(found(there), refresh=False)
