"""dpkg's files: without them nobody knows what is installed."""

import pytest

from reactor.resources.package.dpkg_database import DpkgDatabase


async def test_a_status_file_that_is_gone_does_not_mean_that_nothing_is_installed(tmp_path):
    database = DpkgDatabase(str(tmp_path), "/nowhere")
    (tmp_path / "status").write_text(
        "Package: app\nStatus: install ok installed\nArchitecture: all\nVersion: 1\n"
    )
    await database.load()
    assert database.find("app").version == "1"
    (tmp_path / "status").unlink()
    with pytest.raises(FileNotFoundError):
        await database.load()
