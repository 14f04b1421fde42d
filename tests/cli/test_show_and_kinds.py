"""``reactor show`` tells how a thing is and changes nothing; ``reactor kinds`` tells what can be managed."""

import json
import os
import pty
import termios
import textwrap

import pytest
from files_of_cli import written
from processes_of_cli import GUARD, environment, spawned

from reactor.resource.base import Resource
from reactor.resource.registry import find_kind, kind_names


def shown(reactor, *args):
    done = reactor("show", *args, "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_file_is_shown_as_it_is(reactor, tmp_path, state_directory):
    path = tmp_path / "file"
    path.write_text("hi")
    path.chmod(0o640)
    before = written(path)
    told = shown(reactor, "file", path)
    assert (told["ensure"], told["mode"], told["checksum"][:8]) == ("present", "0640", "8f434346")
    assert written(path) == before
    assert shown(reactor, "file", tmp_path)["ensure"] == "directory"
    assert shown(reactor, "file", tmp_path / "no") == {"name": str(tmp_path / "no"), "ensure": "absent"}
    assert not state_directory.exists()


def test_people_get_a_line_for_each_value(reactor, tmp_path):
    done = reactor("show", "file", tmp_path / "no", "--format", "text")
    assert done.out == f"name  {tmp_path}/no\nensure  absent\n"


def test_what_a_kind_requires_need_not_be_given_to_look(reactor):
    assert shown(reactor, "sysctl", "kernel.ostype")["running"] == "Linux"
    assert shown(reactor, "mount", "/proc")["fstype"] == "proc"
    assert shown(reactor, "mount", "/nowhere")["ensure"] == "absent"


def test_a_package_is_shown_by_its_version(reactor):
    told = shown(reactor, "package", "dpkg", "--provider", "apt")
    version = told.pop("ensure")
    assert version[0].isdecimal()
    assert told == {"name": "dpkg", "version": version, "held": False, "whole": True}
    absent = {"name": "no-such-package", "ensure": "absent", "version": None}
    assert shown(reactor, "package", "no-such-package", "--provider", "apt") == absent


def test_accounts_are_shown_without_their_hashes(reactor):
    told = shown(reactor, "user", "root")
    assert (told["uid"], told["ensure"]) == (0, "present")
    assert "password" not in json.dumps(told)
    assert shown(reactor, "user", "nobody-is-called-so")["ensure"] == "absent"
    assert shown(reactor, "group", "root")["gid"] == 0


def test_options_say_where_to_look(reactor):
    assert shown(reactor, "address", "127.0.0.1/8", "--link", "lo")["ensure"] in ("present", "absent")
    done = reactor("show", "address", "127.0.0.1/8")
    assert done.code == 2
    assert "link" in done.err


def test_a_guard_is_asked_and_the_command_is_not_run(reactor, tmp_path):
    told = shown(reactor, "exec", f"touch {tmp_path}/ran", "--onlyif", "true")
    assert told["onlyif_ok"] is True
    assert os.listdir(tmp_path) == []


def test_what_cannot_be_reported_is_an_error(reactor):
    done = reactor("show", "exec", "true", "--onlyif", "/no/such/program")
    assert done.code == 1
    assert "error[" in done.err
    assert "Traceback" not in done.err


def test_every_kind_is_listed_with_what_it_is_for(reactor):
    done = reactor("kinds")
    assert [line.split()[0] for line in done.out.splitlines()] == list(kind_names())
    assert "Manage one file, directory or symlink" in done.out


def test_on_a_terminal_the_list_is_folded_beside_the_names():
    outside, inside = pty.openpty()
    with spawned("kinds", stdout=inside, env=environment(COLUMNS="50")) as process:
        process.wait(GUARD)
    os.close(inside)
    with os.fdopen(outside, "rb") as screen:
        lines = screen.read1().decode().splitlines()
    width = max(map(len, kind_names())) + 2
    sentence = "Manage one IP address of a link. Other addresses of the link are not changed."
    first, *more = textwrap.wrap(sentence, 50 - width)
    assert lines[: 1 + len(more)] == [
        f"{'address':<{width}}{first}",
        *(" " * width + line for line in more),
    ]


def test_on_a_terminal_the_names_in_a_hint_are_folded():
    outside, inside = pty.openpty()
    termios.tcsetwinsize(inside, (25, 60))
    with spawned("kinds", "zzz", stderr=inside, env=environment()) as process:
        process.wait(GUARD)
    os.close(inside)
    with os.fdopen(outside, "rb") as screen:
        lines = screen.read1().decode().splitlines()
    assert lines[1].startswith("hint: the kinds are address, ")
    assert lines[2].startswith("      ")
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize("kind", kind_names())
def test_what_is_reported_a_kind_fits_the_terminal(reactor, monkeypatch, kind):
    monkeypatch.setenv("COLUMNS", "70")
    page, _, example = reactor("kinds", kind).out.partition("Example: ")
    assert [line for line in page.splitlines() if len(line) > 70] == []
    assert "\n" not in example.rstrip("\n")


@pytest.mark.parametrize("kind", kind_names())
def test_a_kind_is_reported_with_all_its_properties(reactor, kind):
    told = json.loads(reactor("kinds", kind, "--format", "json").out)
    model = find_kind(kind)
    own = [
        field.alias or name for name, field in model.model_fields.items() if name not in Resource.model_fields
    ]
    assert set(told["properties"]) == set(own)
    assert [*told["providers"]] == [*model.providers]
    for name, each in told["properties"].items():
        assert each["meaning"], f"{kind}: {name} has no docstring"
    page = reactor("kinds", kind).out
    assert all(f"\n  {name}  (" in page for name in own)


def test_a_kind_says_what_it_watches_and_whether_its_provider_works(reactor):
    page = reactor("kinds", "service").out
    assert "Watches: The unit, with its files" in page
    works = os.path.isdir("/run/systemd/system")
    assert ("Provider systemd: works here" in page) is works
    assert "on_refresh  (restart | reload | reload-or-restart, default restart)" in page


def test_a_kind_says_what_goes_first_by_itself_and_what_can_be_undone(reactor):
    page = reactor("kinds", "file").out
    assert "Depends on: The parent directory, the source, " in page
    assert "Undo, with meta: {reverse: true}: The file or directory as it was" in page
    page = reactor("kinds", "link").out
    assert "Undo, with meta: {reverse: true}: not possible" in page


def test_defaults_are_reported_as_a_person_writes_them(reactor):
    assert "timeout  (duration, default 10m)" in reactor("kinds", "archive").out
    assert "interval  (duration, default 1h)" in reactor("kinds", "package").out


def test_an_unknown_kind_is_answered_with_the_nearest(reactor):
    done = reactor("kinds", "fil")
    assert done.code == 1
    assert "did you mean 'file'?" in done.err
