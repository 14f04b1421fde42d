"""Where the unit files of a systemd are, and what their names mean."""

import pytest

from reactor.watchers import units
from reactor.watchers.dbus import CallError, Scope
from reactor.watchers.units import directories, is_unit_name, object_path, real_name, subscribe, template_of


@pytest.mark.parametrize(
    ("scope", "first"), [(Scope.SYSTEM, "/etc/systemd/system"), (Scope.USER, "/config/systemd/user")]
)
def test_the_directory_of_the_administrator_or_the_user_wins(monkeypatch, scope, first):
    monkeypatch.setenv("XDG_CONFIG_HOME", "/config")
    assert next(iter(directories(scope))).startswith(first)


@pytest.fixture
def unit_files(tmp_path, monkeypatch):
    """Directories of unit files, that of the administrator first."""
    found = [tmp_path / name for name in ("admin", "vendor")]
    for directory in found:
        directory.mkdir()
    monkeypatch.setattr(units, "_SYSTEM_DIRECTORIES", tuple(map(str, found)))
    return found


def test_an_alias_has_the_name_of_its_unit_by_any_number_of_links(unit_files):
    admin, vendor = unit_files
    (vendor / "mmm.service").touch()
    (admin / "aaa.service").symlink_to("zzz.service")
    (vendor / "zzz.service").symlink_to("/usr/lib/systemd/system/mmm.service")
    assert real_name("aaa.service", Scope.SYSTEM) == "mmm.service"
    assert real_name("zzz.service", Scope.SYSTEM) == "mmm.service"
    assert real_name("mmm.service", Scope.SYSTEM) == "mmm.service"
    assert real_name("none.service", Scope.SYSTEM) == "none.service"


def test_what_is_masked_or_taken_over_by_a_file_is_no_alias(unit_files):
    admin, vendor = unit_files
    (admin / "masked.service").symlink_to("/dev/null")
    (admin / "own.service").touch()
    (vendor / "own.service").symlink_to("other.service")
    (admin / "linked.service").symlink_to("/opt/linked.service")
    for name in ("masked.service", "own.service", "linked.service"):
        assert real_name(name, Scope.SYSTEM) == name


def test_a_circle_of_aliases_ends(unit_files):
    admin, _ = unit_files
    (admin / "a.service").symlink_to("b.service")
    (admin / "b.service").symlink_to("a.service")
    assert real_name("a.service", Scope.SYSTEM) in ("a.service", "b.service")


@pytest.mark.parametrize(
    ("name", "is_accepted"),
    [
        ("a.service", True),
        ("a@b:c\\x2d.timer", True),
        ("a.b.socket", True),
        (".service", False),
        ("@a.service", False),
        ("a.conf", False),
        ("a b.service", False),
        ("a" * 247 + ".service", True),
        ("a" * 248 + ".service", False),
    ],
)
def test_names_that_systemd_accepts(name, is_accepted):
    assert is_unit_name(name) is is_accepted


def test_the_path_of_a_unit_has_letters_and_digits_only():
    assert object_path("1a-b.service") == "/org/freedesktop/systemd1/unit/_31a_2db_2eservice"


@pytest.mark.parametrize(
    ("unit", "template"),
    [("app@1.service", "app@.service"), ("app.service", None), ("a.b@.timer", "a.b@.timer")],
)
def test_an_instance_is_made_from_its_template(unit, template):
    assert template_of(unit) == template


class Refusing:
    """A bus whose systemd refuses with this error."""

    def __init__(self, name):
        self.name = name

    async def call(self, *_):
        raise CallError(self.name, "no")


@pytest.mark.parametrize("name", ["AccessDenied", "ZoneFull"])
async def test_who_has_subscribed_already_need_not_do_it_again_and_other_errors_are_raised(name):
    await subscribe(Refusing("org.freedesktop.systemd1.AlreadySubscribed"))
    with pytest.raises(CallError):
        await subscribe(Refusing(f"org.freedesktop.systemd1.{name}"))
