"""What somebody else undoes of a repository between the apply and the look after it: drift, and no failure."""

from __future__ import annotations

from foreign_writer import assert_repaired_after_foreign_writer

from reactor.resources.repository import Repository


async def test_a_repository_undone_by_others_is_drift_again(apt):
    file = apt.root / "etc/apt/sources.list.d/tiny.sources"
    ours = Repository(name="tiny", provider="apt", url=f"copy:{apt.repository}", trusted=True)
    await assert_repaired_after_foreign_writer(ours, lambda: file.write_text("Enabled: no\n"), 3)
    assert "URIs" in file.read_text()


async def test_a_mode_undone_by_others_is_flapping_and_not_a_failure(apt):
    file = apt.root / "etc/apt/sources.list.d/tiny.sources"
    ours = Repository(name="tiny", provider="apt", url=f"copy:{apt.repository}", trusted=True)
    await assert_repaired_after_foreign_writer(ours, lambda: file.chmod(0o600))
    assert file.stat().st_mode & 0o777 == 0o644
