"""What preset files say of a unit: which file wins, which rule, and for which instances."""

from __future__ import annotations

import pytest

from reactor.resources.service import presets
from reactor.watchers.dbus import Scope

ETC = {
    "10-site.preset": "# a comment\ndisable app.service\nenable app-*.service\nenable web@.service one two\n",
    "50-late.preset": "enable app.service\nignore left.service\nnonsense\nenable\n",
    "notes.txt": "disable *\n",
}
VENDOR = {"10-site.preset": "enable *\n", "99-rest.preset": "disable *\n"}


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    for directory, found in (("etc", ETC), ("vendor", VENDOR)):
        (tmp_path / directory).mkdir()
        for name, text in found.items():
            (tmp_path / directory / name).write_text(text)
    directories = (str(tmp_path / "etc"), str(tmp_path / "none"), str(tmp_path / "vendor"))
    monkeypatch.setattr(presets, "preset_directories", lambda _: directories)
    return tmp_path


@pytest.mark.parametrize(
    ("unit", "verdict"),
    [
        ("app.service", False),
        ("app-1.service", True),
        ("web@one.service", True),
        ("web@three.service", False),
        ("left.service", None),
        ("other.service", False),
    ],
)
def test_the_first_rule_that_matches_decides(unit, verdict):
    assert presets.preset_of(unit, Scope.SYSTEM) is verdict


def test_without_a_rule_a_unit_is_enabled(files):
    (files / "vendor" / "99-rest.preset").unlink()
    assert presets.preset_of("other.service", Scope.SYSTEM) is True


def test_a_file_hides_those_of_its_name_in_later_directories(files):
    (files / "etc" / "10-site.preset").write_text("")
    assert presets.preset_of("web@one.service", Scope.SYSTEM) is False
