"""The kinds timezone, locale, keyboard and ntp, on an /etc of the tests' own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone

from reactor import ManifestError, load
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.plan import ResourceError
from reactor.resources.assignments import values, with_values
from reactor.resources.keyboard import Keyboard
from reactor.resources.locale import Locale
from reactor.resources.locale.generated import is_listed, with_entry
from reactor.resources.locale.installed import is_installed
from reactor.resources.ntp import Ntp
from reactor.resources.timezone import Timezone
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once

LOCALTIME, TIMEZONE = Path("/etc/localtime"), Path("/etc/timezone")
DEFAULT_LOCALE, LIST = Path("/etc/default/locale"), Path("/etc/locale.gen")
KEYBOARD, VCONSOLE = Path("/etc/default/keyboard"), Path("/etc/vconsole.conf")
SERVERS = Path("/etc/systemd/timesyncd.conf.d/reactor.conf")


@pytest.fixture(autouse=True)
def debian(monkeypatch):
    """As Debian installs it, and out of reach of the systemd of the host."""
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/no/such/bus")
    Path("/etc/debian_version").write_text("12.0\n")
    Path("/etc/default").mkdir()
    LOCALTIME.symlink_to("/usr/share/zoneinfo/Etc/UTC")
    TIMEZONE.write_text("Etc/UTC\n")
    LIST.write_text("# C.UTF-8 UTF-8\n# de_AT ISO-8859-1\n# de_AT.UTF-8 UTF-8\n")
    KEYBOARD.write_text('XKBMODEL="pc105"\nXKBLAYOUT="us"\nXKBVARIANT="intl"\n\nBACKSPACE="guess"\n')


def world():
    """What is in /etc, with the targets of links."""
    found = {}
    for path in sorted(Path("/etc").rglob("*")):
        found[str(path)] = os.readlink(path) if path.is_symlink() else path.is_file() and path.read_text()
    return found


def relink(target):
    LOCALTIME.unlink()
    LOCALTIME.symlink_to(target)


CASES = {
    "timezone": (lambda: Timezone(name="Europe/Vienna"), lambda: relink("/usr/share/zoneinfo/Asia/Tokyo")),
    "timezone by its file": (lambda: Timezone(name="here", zone="Asia/Tokyo"), lambda: TIMEZONE.write_text("UTC\n")),
    "timezone without a link": (lambda: Timezone(name="Europe/Vienna"), LOCALTIME.unlink),
    "default locale": (
        lambda: Locale(name="C.UTF-8", default=True, variables={"LC_TIME": "C"}),
        lambda: DEFAULT_LOCALE.write_text("LANG=C\n"),
    ),
    "locale on the list": (lambda: Locale(name="C.UTF-8"), lambda: LIST.write_text(LIST.read_text().replace("C.UTF-8", "# C.UTF-8", 1))),
    "keyboard": (lambda: Keyboard(name="de", variant="nodeadkeys"), lambda: KEYBOARD.write_text(KEYBOARD.read_text().replace("XKBLAYOUT=de", "XKBLAYOUT=us"))),
    "ntp": (lambda: Ntp(name="pool", servers=("ntp.example.org",)), SERVERS.unlink),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_the_regional_kinds_keep_the_contract(promise, case):
    make, spoil = CASES[case]
    await promise(Case(make, world, spoil))


@pytest.mark.parametrize(
    ("before", "steps"),
    [
        ("../usr/share/zoneinfo/Europe/Vienna", []),
        ("/usr/share/zoneinfo/Europe/Vienna", []),
        ("/usr/share/zoneinfo/Europe/../Europe/Vienna", []),
        ("/usr/share/zoneinfo/Etc/UTC", ["set the time zone to Europe/Vienna, from Etc/UTC"]),
        ("/elsewhere", ["set the time zone to Europe/Vienna"]),
        (None, ["set the time zone to Europe/Vienna, from UTC"]),
        ("a file", ["set the time zone to Europe/Vienna"]),
    ],
)
async def test_the_link_says_the_zone(before, steps):
    LOCALTIME.unlink()
    TIMEZONE.write_text("Europe/Vienna\n")
    if before == "a file":
        LOCALTIME.write_bytes(b"TZif2")
    elif before is not None:
        LOCALTIME.symlink_to(before)
    zone = Timezone(name="Europe/Vienna")
    assert [step.did for step in await zone.verify()] == steps
    await converge_once(zone)
    assert LOCALTIME.resolve() == Path("/usr/share/zoneinfo/Europe/Vienna")
    assert await zone.verify() == ()
    if not steps:
        assert os.readlink(LOCALTIME) == before


async def test_an_unknown_zone_is_told_before_with_one_that_is_known():
    for options in (RunOptions(noop=True), RunOptions()):
        ended, story = await converge_once(Timezone(name="Europe/Viena"), options=options)
        assert ended.counts[Result.FAILED] == 1
        assert "there is no time zone Europe/Viena" in story.checks("timezone#Europe/Viena")[-1].error
        assert "did you mean Europe/Vienna?" in story.checks("timezone#Europe/Viena")[-1].hint
    assert os.readlink(LOCALTIME) == "/usr/share/zoneinfo/Etc/UTC"


async def test_without_debian_there_is_no_file_of_the_zone():
    Path("/etc/debian_version").unlink()
    TIMEZONE.unlink()
    await converge_once(Timezone(name="Europe/Vienna"))
    assert not TIMEZONE.exists()


async def test_a_time_zone_is_undone():
    await assert_undone(Timezone(name="Europe/Vienna"), lambda: (LOCALTIME.resolve(), TIMEZONE.read_text()))


async def test_servers_are_undone():
    await assert_undone(Ntp(name="pool", servers=("a.example",)), SERVERS.exists)


@pytest.mark.parametrize(
    ("make", "directory"),
    [
        (lambda: Timezone(name="Europe/Vienna"), "/etc"),
        (lambda: Locale(name="C.UTF-8", default=True), "/etc/default"),
        (lambda: Locale(name="de_AT.UTF-8"), "/usr/lib/locale"),
        (lambda: Keyboard(name="de"), "/etc/default"),
        (lambda: Ntp(name="pool", servers=("a.example",)), "/etc"),
    ],
)
async def test_what_is_read_only_is_told_before(make, directory):
    subprocess.run(["mount", "--bind", directory, directory], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", directory], check=True)
    try:
        for options in (RunOptions(noop=True), RunOptions()):
            ended, story = await converge_once(make(), options=options)
            assert ended.counts[Result.FAILED] == 1
            assert "ead-only" in story.checks(make().ref)[-1].error
    finally:
        subprocess.run(["umount", "--lazy", directory], check=True)


@pytest.fixture(scope="module")
def own_locales(own_directories, tmp_path_factory):
    """A directory of locales without any but C.utf8, in the mount namespace of the tests."""
    directory, kept = Path("/usr/lib/locale"), tmp_path_factory.mktemp("locale")
    subprocess.run(["cp", "-a", directory / "C.utf8", kept], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "own", directory], check=True)
    subprocess.run(["mv", kept / "C.utf8", directory], check=True)
    yield directory
    subprocess.run(["umount", "--lazy", directory], check=True)


async def test_a_locale_is_made_and_removed(own_locales):
    def usable():
        return (
            "de_AT.utf8"
            in subprocess.run(["locale", "-a"], capture_output=True, text=True, check=True).stdout.split()
        )

    present = Locale(name="de_AT.UTF-8", default=True)
    assert not usable()
    await converge_once(present)
    assert usable()
    assert is_installed("de_AT.UTF-8")
    assert await present.verify() == ()
    assert LIST.read_text() == "# C.UTF-8 UTF-8\n# de_AT ISO-8859-1\nde_AT.UTF-8 UTF-8\n"
    assert DEFAULT_LOCALE.read_text() == "LANG=de_AT.UTF-8\n"
    absent = Locale(name="de_AT.UTF-8", ensure="absent")
    await converge_once(absent)
    assert not usable()
    assert not is_installed("de_AT.UTF-8")
    assert LIST.read_text() == "# C.UTF-8 UTF-8\n# de_AT ISO-8859-1\n# de_AT.UTF-8 UTF-8\n"
    assert await absent.verify() == ()


async def test_a_locale_of_a_package_is_not_removed(own_locales):
    absent = Locale(name="C.UTF-8", ensure="absent")
    state = await absent.observe()
    with pytest.raises(
        ResourceError, match=r"the locale C.UTF-8 is not in the archive, but in /usr/lib/locale/C.utf8"
    ):
        absent.plan(state, refresh=False)


async def test_a_locale_without_a_source_is_told_before():
    with pytest.raises(ResourceError, match=r"there is no source of the locale xx_YY.UTF-8") as caught:
        Locale(name="xx_YY.UTF-8").plan(await Locale(name="xx_YY.UTF-8").observe(), refresh=False)
    assert caught.value.missing == "/usr/share/i18n/locales/xx_YY"


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 7, b"\0" * 56, b"\x09\x01\x02\xde" + b"\xff" * 52, b"\x09\x01\x02\xde" * 14]
)
def test_a_damaged_archive_has_no_locales(own_locales, content):
    Path(own_locales, "locale-archive").write_bytes(content)
    assert not is_installed("de_AT.UTF-8")
    assert is_installed("C.UTF-8")
    assert is_installed("POSIX")


@pytest.mark.parametrize(
    ("before", "name", "after"),
    [
        ("", "de_AT.UTF-8", "de_AT.UTF-8 UTF-8\n"),
        ("# x", "de_AT.UTF-8", "# x\nde_AT.UTF-8 UTF-8\n"),
        ("#de_AT.UTF-8 UTF-8\n", "de_AT.UTF-8", "de_AT.UTF-8 UTF-8\n"),
        ("  de_AT.UTF-8   UTF-8  \n", "de_AT.UTF-8", "de_AT.UTF-8 UTF-8\n"),
        ("# de_AT.UTF-8 UTF-8\nde_AT.UTF-8 UTF-8\n", "de_AT.UTF-8", "de_AT.UTF-8 UTF-8\n"),
        ("# de_AT ISO-8859-1\n", "de_AT.UTF-8", "# de_AT ISO-8859-1\nde_AT.UTF-8 UTF-8\n"),
        ("# de_AT ISO-8859-1\n", "de_AT.ISO-8859-1", "de_AT ISO-8859-1\n"),
        ("# ca_ES@valencia UTF-8\n", "ca_ES.UTF-8@valencia", "ca_ES@valencia UTF-8\n"),
        ("", "ca_ES.UTF-8@valencia", "ca_ES.UTF-8@valencia UTF-8\n"),
    ],
)
def test_the_list_of_locales_is_edited_line_by_line(before, name, after):
    assert with_entry(before, name, listed=True) == after
    assert is_listed(after, name)
    assert not is_listed(with_entry(after, name, listed=False), name)


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        ("", {"A": "b"}, "A=b\n"),
        ("# A=x\nA=old # c\nB='y'\nA=more", {"A": "b c"}, "# A=x\nA=\"b c\"\nB='y'\n"),
        ("B=1", {"A": 'q"$`\\'}, 'B=1\nA="q\\"\\$\\`\\\\"\n'),
        ("A=1\r\nB=2\r\n", {"B": "3"}, "A=1\r\nB=3\n"),
        ("A=1\n", {"A": ""}, 'A=""\n'),
    ],
)
def test_assignments_are_edited_line_by_line(before, wanted, after):
    assert with_values(before, wanted) == after
    assert values(after).items() >= wanted.items()


async def test_a_keyboard_keeps_what_it_does_not_name():
    await converge_once(Keyboard(name="de,us", options=("grp:alt_shift_toggle",)))
    assert KEYBOARD.read_text() == (
        'XKBMODEL="pc105"\nXKBLAYOUT=de,us\nXKBVARIANT=""\n\nBACKSPACE="guess"\nXKBOPTIONS=grp:alt_shift_toggle\n'
    )
    assert not VCONSOLE.exists()


async def test_where_both_are_one_file_no_keymap_is_written_into_that_of_debian():
    """Debian 13 makes the one a link to the other, and has no keymaps of that name."""
    VCONSOLE.symlink_to("default/keyboard")
    for changes in (1, 0):
        ended, _ = await converge_once(Keyboard(name="de"))
        assert ended.changes == changes
    assert "KEYMAP" not in KEYBOARD.read_text()
    assert VCONSOLE.is_symlink()


async def test_elsewhere_the_keymap_of_the_console_is_set():
    Path("/etc/debian_version").unlink()
    KEYBOARD.unlink()
    VCONSOLE.write_text("FONT=eurlatgr\n")
    await converge_once(Keyboard(name="de,us", keymap="de-latin1"))
    assert VCONSOLE.read_text() == "FONT=eurlatgr\nKEYMAP=de-latin1\n"
    assert not KEYBOARD.exists()


async def test_servers_are_those_of_the_daemon_that_is_there():
    await converge_once(Ntp(name="pool", servers=("a.example", "192.0.2.1"), fallback=("b.example",)))
    assert SERVERS.read_text().splitlines()[1:] == [
        "[Time]", "NTP=", "NTP=a.example 192.0.2.1", "FallbackNTP=", "FallbackNTP=b.example",
    ]  # fmt: skip
    chrony = Ntp(name="pool", provider="chrony", servers=("a.example",))
    state = await chrony.observe()
    with pytest.raises(ResourceError, match="chrony has no directory"):
        chrony.plan(state, refresh=False)
    os.makedirs("/etc/chrony/sources.d")
    await converge_once(Ntp(name="pool", servers=("a.example",), pools=("p.example",)))
    text = Path("/etc/chrony/sources.d/reactor.sources").read_text()
    assert text.splitlines()[1:] == ["server a.example iburst", "pool p.example iburst"]
    await converge_once(Ntp(name="pool", provider="timesyncd", ensure="absent"))
    assert not SERVERS.exists()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("timezone: [{'../../etc/shadow': {}}]", "is not a time zone"),
        ("timezone: [{'posix/Europe/Vienna': {}}]", "is not a time zone"),
        ("timezone: [{Europe/Vienna: {}}, {Asia/Tokyo: {}}]", "do not agree on"),
        ("locale: [{de_AT: {}}]", "is not a locale with its character set"),
        ("locale: [{'de_AT.UTF-8; reboot': {}}]", "is not a locale with its character set"),
        ("locale: [{de_AT.UTF-8: {variables: {LC_TIME: C}}}]", "variables belong to the default locale"),
        ("locale: [{de_AT.UTF-8: {default: true, variables: {LC_ALL: C}}}]", "is not a variable of locale.conf(5)"),
        ("locale: [{de_AT.UTF-8: {default: true, variables: {LC_TIME: 'a b'}}}]", "is not the name of a locale"),
        ("locale: [{de_AT.UTF-8: {default: true, ensure: absent}}]", "an absent locale can't be the default"),
        ("locale: [{C: {ensure: absent}}]", "is a part of every system"),
        ("locale: [{de_AT.UTF-8: {default: true}}, {en_US.UTF-8: {default: true}}]", "do not agree on name"),
        ("keyboard: [{'d e': {}}]", "is not a name of xkeyboard-config"),
        ("keyboard: [{de: {variant: \"a'b\"}}]", "is not a name of xkeyboard-config"),
        ("ntp: [{pool: {}}]", "there are no servers"),
        ("ntp: [{pool: {servers: 'a b'}}]", "is not a server"),
        ("ntp: [{pool: {servers: a.example, ensure: absent}}]", "servers are only valid with 'ensure: present'"),
        ("ntp: [{pool: {fallback: a.example, provider: chrony}}]", "chrony has no fallback servers"),
    ],
)  # fmt: skip
def test_a_wrong_manifest_is_told_with_its_line(tmp_path, entry, message):
    path = tmp_path / "manifest.yaml"
    path.write_text(f"resources:\n  - {entry}\n")
    with pytest.raises(ManifestError) as caught:
        load(str(path))
    assert message in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].place.line == 2
