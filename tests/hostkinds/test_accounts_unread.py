"""Accounts that can't be read are not absent."""

import pytest

from reactor import ResourceError
from reactor.resources.accounts import database


@pytest.mark.parametrize(("path", "find"), [("PASSWD", database.find_user), ("GROUP", database.find_group)])
def test_without_the_file_no_one_is_called_absent(path, find, monkeypatch, tmp_path):
    monkeypatch.setattr(database, path, str(tmp_path / "gone"))
    with pytest.raises(ResourceError):
        find("root")
