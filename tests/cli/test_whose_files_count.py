"""Whose files a command believes: what another user could change is not carried out, and not read unasked."""

import contextlib
import errno
import json
import os
import shutil
import struct
import subprocess
import sys

import pytest
from processes_of_cli import GUARD, environment, finish, spawned, wait_until, with_constant

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away")

MALLORY = 12345
"""The user of the attacks: nobody on this host, and neither root nor who called sudo."""


def given_away(path):
    os.chown(path, MALLORY, MALLORY, follow_symlinks=False)


def writable_by_all(path):
    path.chmod(path.stat().st_mode | 0o002)


def writable_by_a_group(path):
    os.chown(path, 0, MALLORY)
    path.chmod(path.stat().st_mode | 0o020)


def writable_by_a_list(path):
    """As ``setfacl -m u:12345:rw`` does."""
    none = 0xFFFFFFFF
    entries = [(0x01, 6, none), (0x02, 6, MALLORY), (0x04, 4, none), (0x10, 6, none), (0x20, 4, none)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", acl)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            pytest.skip("this file system has no access control lists")
        raise


@pytest.fixture
def command(reactor):
    """A command in this process, with another current directory and further environment variables."""

    def call(*args, cwd=".", **variables):
        with pytest.MonkeyPatch.context() as patch, contextlib.chdir(cwd):
            for name, value in variables.items():
                patch.setenv(name, value)
            return reactor(*args)

    return call


@pytest.fixture
def place(tmp_path):
    """A directory of root, and a manifest that leaves ``ran`` beside it."""
    directory = tmp_path / "place"
    directory.mkdir()
    (directory / "m.yaml").write_text(
        f"resources:\n  - exec: [{{mark: {{command: 'touch {tmp_path}/ran', creates: '{tmp_path}/ran'}}}}]\n"
    )
    return directory


@pytest.fixture
def ran(tmp_path):
    return (tmp_path / "ran").exists


@pytest.fixture
def greeting(tmp_path, command):
    """A command that writes down what expressions see as ``Environ.GREETING``."""
    path = tmp_path / "greeting.yaml"
    path.write_text(
        "resources:\n"
        f"  - file: [{{{tmp_path}/greeting: {{ensure: present, owner: root, group: root, mode: '0644', "
        "content: '${ Environ.GREETING }'}}]\n"
    )

    def greet(directory, *options):
        run = ("run", "--converge-once", "--format", "json", *options, path)
        done = command(*run, cwd=directory, GREETING="from the environment")
        assert done.code == 0, done.err
        for line in done.out.splitlines():
            json.loads(line)
        return (tmp_path / "greeting").read_text(), done.err

    return greet


# Files that nobody has named


@pytest.mark.parametrize(
    ("harm", "name", "fix"),
    [
        (given_away, ".env", "chown root "),
        (writable_by_all, ".env", "chmod o-w "),
        (writable_by_a_group, ".env", "chmod g-w "),
        (writable_by_a_list, ".env", "setfacl -b "),
        (given_away, ".", "keep it in a directory"),
        (writable_by_all, ".", "chmod o-w "),
        (writable_by_a_group, ".", "chmod g-w "),
        (given_away, "..", "keep it in a directory"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_an_env_file_that_others_could_change_is_left_out_and_that_is_said(
    tmp_path, greeting, harm, name, fix
):
    place = tmp_path / "outer" / "place"
    place.mkdir(parents=True)
    (place / ".env").write_text("GREETING='from the file'\n")
    harm(place / name)
    seen, said = greeting(place)
    assert seen == "from the environment"
    assert f"warning: {place}/.env is not used for the environment" in said
    assert fix in said
    assert "--no-read-env" in said


def test_an_env_file_behind_a_symlink_of_another_user_is_left_out(place, greeting):
    (place / "good").write_text("GREETING='from the file'\n")
    (place / ".env").symlink_to("good")
    given_away(place / ".env")
    seen, said = greeting(place)
    assert seen == "from the environment"
    assert f"{place}/.env belongs to {MALLORY}" in said


def test_an_env_file_of_ours_counts_and_one_line_says_so(place, greeting):
    (place / ".env").write_text("GREETING='from the file'\n")
    seen, said = greeting(place)
    assert seen == "from the file"
    assert said.count(f"read {place}/.env") == 1
    assert "warning" not in said
    assert greeting(place, "--no-read-env") == ("from the environment", "")


def test_in_a_sticky_directory_a_file_of_ours_counts_unless_it_has_another_name(place, greeting):
    place.chmod(0o1777)
    (place / ".env").write_text("GREETING='from the file'\n")
    assert greeting(place)[0] == "from the file"
    (place / "other").hardlink_to(place / ".env")
    seen, said = greeting(place)
    assert seen == "from the environment"
    assert "hard links" in said


def test_the_user_who_called_sudo_is_not_asked_for_files_that_no_one_has_named(place, greeting, monkeypatch):
    monkeypatch.setenv("SUDO_UID", str(MALLORY))
    (place / ".env").write_text("GREETING='from the file'\n")
    given_away(place / ".env")
    assert greeting(place)[0] == "from the environment"


def test_data_of_the_current_directory_that_others_could_change_are_left_out(place, command):
    (place / ".hiera").write_text("data: {word: foreign}")
    ensure = ("ensure", "exec", "echo {{ Data.word ?? 'none' }}", "--noop")
    own = command(*ensure, cwd=place)
    assert "echo foreign" in own.out
    assert f"read {place}/.hiera" in own.err
    given_away(place / ".hiera")
    done = command(*ensure, cwd=place)
    assert "echo none" in done.out
    assert f"warning: {place}/.hiera is not used for data" in done.err


def test_a_fact_file_in_a_directory_of_another_user_is_left_out(place, command):
    (place / "reactor").mkdir()
    (place / "reactor/facts.yaml").write_text("role: foreign")
    given_away(place)
    done = command("facts", "--format", "json", XDG_CONFIG_HOME=str(place))
    assert "role" not in json.loads(done.out)
    assert f"{place} belongs to {MALLORY}" in done.err


# Files that somebody has named


NAMING_A_FILE = {
    "the content of a file": ("ensure", "file", "{outer}/ran", "--content-file", "{dir}/named"),
    "a password": ("ensure", "user", "root", "--noop", "--password-file", "{dir}/named"),
    "the token of metrics": (
        "run", "{dir}/m.yaml", "--converged-timeout", "0.01",
        "--metrics", "127.0.0.1:0", "--metrics-token-file", "{dir}/named",
    ),
}  # fmt: skip
"""Commands that read another file."""


@pytest.mark.parametrize("words", NAMING_A_FILE.values(), ids=NAMING_A_FILE)
def test_root_takes_no_file_of_an_option_that_another_user_could_change(place, ran, words, command):
    named = place / "named"
    named.write_text(f"$6$salt${'x' * 86}\n")  # the hash of a password will do for all of them
    words = [word.format(dir=place, outer=place.parent) for word in words]
    assert command(*words).code == 0
    (place.parent / "ran").unlink(missing_ok=True)
    given_away(named)
    refused = command(*words)
    assert refused.code == 2
    assert f"{named} belongs to {MALLORY}" in refused.err
    assert f"--trust-owner {MALLORY}" in refused.err
    assert not ran()
    assert command(*words, "--trust-owner", MALLORY).code == 0


@pytest.mark.parametrize(
    ("harm", "name"),
    [
        (given_away, "m.yaml"),
        (writable_by_all, "m.yaml"),
        (writable_by_a_group, "m.yaml"),
        (writable_by_a_list, "m.yaml"),
        (given_away, "."),
        (writable_by_all, "."),
        (writable_by_a_group, "."),
        (given_away, ".."),
        (given_away, "link.yaml"),
        (given_away, "way"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_root_runs_no_manifest_that_another_user_could_change(place, ran, harm, name, command):
    named = place / "m.yaml"
    if name in ("link.yaml", "way"):
        (place / name).symlink_to("m.yaml" if name == "link.yaml" else ".")
        named = place / name if name == "link.yaml" else place / name / "m.yaml"
    harm(place / name)
    done = command("run", "--converge-once", named)
    assert (done.code, ran()) == (2, False)
    assert (
        f"error[R0401]: the manifest {named} can't be trusted: {os.path.normpath(place / name)} " in done.err
    )
    assert "hint: " in done.err
    assert "Traceback" not in done.err


def test_a_dry_run_and_a_fresh_look_run_checks_and_so_are_refused_too(place, command):
    given_away(place / "m.yaml")
    for words in (
        ["run", "--noop", "--converge-once"],
        ["run", "--monitor-only", "--converge-once"],
        ["graph", "--state"],
    ):
        assert "can't be trusted" in command(*words, place / "m.yaml").err


@pytest.mark.parametrize("words", [["validate"], ["render"], ["data"], ["graph"], ["run", "--render"]])
def test_what_only_shows_a_manifest_reads_those_of_everybody(place, ran, words, command):
    given_away(place / "m.yaml")
    given_away(place)
    done = command(*words, place / "m.yaml")
    assert (done.code, ran()) == (0, False)
    if words == ["validate"]:
        assert done.err.startswith(
            f"warning: 'reactor run' would refuse {place / 'm.yaml'}: {place} belongs to "
        )
    else:
        assert done.err == ""


def test_a_user_who_called_sudo_runs_manifests_of_their_own_and_of_no_other_user(place, ran, command):
    given_away(place)
    given_away(place / "m.yaml")
    run = ("run", "--converge-once", place / "m.yaml")
    other = command(*run, SUDO_UID=str(MALLORY + 1))
    assert (other.code, ran()) == (2, False)
    own = command(*run, SUDO_UID=str(MALLORY))
    assert (own.code, own.err, ran()) == (0, "", True)


def test_what_a_run_would_refuse_is_that_of_a_run_with_the_same_owners(place, command):
    manifest = place / "m.yaml"
    warning = f"warning: 'reactor run' would refuse {manifest}: {place} belongs to "
    os.chown(place, MALLORY, MALLORY)
    assert warning in command("validate", "--trust-owner", str(MALLORY + 1), manifest).err
    done = command("validate", "--trust-owner", str(MALLORY), manifest)
    assert (done.code, done.err) == (0, "")


def test_owners_and_groups_that_are_named_are_trusted(place, ran, command):
    given_away(place)
    writable_by_a_group(place / "m.yaml")
    run = ("run", "--converge-once", place / "m.yaml")
    assert f"--trust-owner {MALLORY}\n" in command(*run).err
    one = command(*run, "--trust-owner", str(MALLORY))
    assert (one.code, ran()) == (2, False)
    assert f"--trust-owner :{MALLORY}\n" in one.err
    assert command(*run, "--trust-owner", str(MALLORY), "--trust-owner", f":{MALLORY}").code == 0
    assert ran()


def test_an_owner_that_is_nobody_is_bad_usage(place, command):
    for owner, words in (
        ("nobody-here", "no user 'nobody-here'"),
        (":nobody-here", "no group 'nobody-here'"),
    ):
        done = command("run", "--trust-owner", owner, place / "m.yaml")
        assert done.code == 2
        assert words in done.err


def test_a_manifest_through_a_pipe_is_of_who_starts_us(place, ran):
    with (
        (place / "m.yaml").open() as text,
        spawned("run", "--converge-once", "/dev/stdin", stdin=text) as process,
    ):
        assert finish(process).code == 0
    assert ran()


PULLED_IN = {
    "child.yaml": ("resources: [{apply: [child.yaml: {}]}]", []),
    "data.yaml": ("resources: [{exec: ['{{ Data.do }}': {}]}]", ["--data-file", "data.yaml"]),
    "site.yaml": ("data: {do: 'true'}\nresources: [{exec: ['{{ Data.do }}': {}]}]", ["--hiera", "site.yaml"]),
    "facts.yaml": ("resources: [{exec: ['{{ Facts.do }}': {}]}]", ["--facts", "facts.yaml"]),
    "word.txt": ("resources: [{exec: [\"{{ file('word.txt') }}\": {}]}]", []),
    "late.txt": ("resources: [{exec: [{late: {command: \"{{ file('late.txt') }}\"}}]}]", []),
    "text.templ": ("resources: [{exec: [\"{{ template('text.templ') }}\": {}]}]", []),
    "text.jet": ("resources: [{exec: [\"{{ jet('text.jet') }}\": {}]}]", []),
    "list.jet": ("ccm: {resources_jet_file: list.jet}", []),
    "goss.yaml": (
        "resources: [{exec: ['true': {health_checks: [{goss_rules: {gossfile: {'%(place)s/goss.yaml': {}}}}]}]}]",
        [],
    ),
    "templates": (
        "resources: [{scaffold: [{'%(place)s/made': {ensure: present, source: templates, engine: jinja}}]}]",
        [],
    ),
}  # fmt: skip
CONTENTS = {
    "child.yaml": "resources: [{exec: ['touch %(ran)s': {}]}]",
    "data.yaml": "do: touch %(ran)s",
    "site.yaml": "data: {do: touch %(ran)s}",
    "facts.yaml": "do: touch %(ran)s",
    "list.jet": "- exec: [{'touch %(ran)s': {}}]",
    "goss.yaml": "command: {'touch %(ran)s': {exit-status: 0}}",
}


@pytest.mark.parametrize("name", list(PULLED_IN))
def test_nothing_that_a_manifest_pulls_in_may_be_of_another_user(tmp_path, place, ran, name, command):
    manifest, options = PULLED_IN[name]
    words = {"ran": tmp_path / "ran", "place": place}
    (place / "m.yaml").write_text(manifest % words)
    pulled = place / name
    if name == "templates":
        pulled.mkdir()
        (pulled / "ran").write_text("foreign")
    else:
        pulled.write_text(CONTENTS.get(name, "touch %(ran)s") % words)
    run = ("run", "--converge-once", *options, "m.yaml")
    given_away(pulled)
    done = command(*run, cwd=place)
    assert done.code in (1, 2)
    assert not ran()
    assert not (place / "made").exists()
    assert "can't be trusted" in done.out + done.err
    assert f"belongs to {MALLORY}" in done.out + done.err
    os.chown(pulled, 0, 0)
    good = command(*run, cwd=place)
    assert good.code == 0, good.out + good.err
    assert ran() or (place / "made/ran").exists()


def test_a_running_manifest_that_is_given_away_is_not_adopted_until_it_can_be_trusted(place, tmp_path, ran):
    """A hint may say `chmod o-w DIRECTORY`, and no event tells of the mode of a directory above."""
    manifest, said, foreign = place / "m.yaml", tmp_path / "said", place / "foreign.yaml"
    text = "resources: [{{exec: [{{first: {{command: 'touch {}'}}}}]}}]"
    manifest.write_text(text.format(tmp_path / "first"))
    at_once = with_constant("reactor.cli.running.reloading", "FACTS_INTERVAL", 0.05)
    with said.open("wb") as log, spawned("run", manifest, program=at_once, stderr=log) as process:
        wait_until((tmp_path / "first").exists)
        foreign.write_text(text.format(tmp_path / "ran"))
        given_away(foreign)
        foreign.replace(manifest)
        wait_until(lambda: "can't be trusted" in said.read_text() or ran())
        place.chmod(0o777)
        wait_until(lambda: f"{place} can be written by every user" in said.read_text() or ran())
        os.chown(manifest, 0, 0)
        assert not ran()
        place.chmod(0o755)
        wait_until(ran)
        process.terminate()
        process.wait(GUARD)


def test_a_user_who_is_not_root_is_as_careful(place, ran, open_tmp_path):
    """The right to read everything, for the interpreter of these tests; to reactor it is just a user."""
    if shutil.which("setpriv") is None:
        pytest.skip("there is no setpriv")
    open_tmp_path.chmod(0o777 | 0o1000)
    state = open_tmp_path / "state-of-a-user"
    state.mkdir(0o700)
    given_away(state)
    words = ["setpriv", f"--reuid={MALLORY}", f"--regid={MALLORY}", "--clear-groups"]
    words += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]

    def run():
        call = [*words, sys.executable, "-m", "reactor", "run", "--converge-once", "--state-dir", str(state)]
        variables = environment(HOME=str(state))
        done = subprocess.run(
            [*call, str(place / "m.yaml")],
            capture_output=True,
            text=True,
            check=False,
            env=variables,
            cwd=place,
        )
        return done.returncode, done.stderr

    os.chown(place / "m.yaml", MALLORY + 1, MALLORY + 1)
    code, said = run()
    assert (code, ran()) == (2, False)
    assert f"belongs to {MALLORY + 1}" in said
    given_away(place / "m.yaml")
    assert run()[0] == 0
    assert ran()


# What is kept


@pytest.mark.parametrize(
    "harm", ["a group writes to it", "a symlink of another user", "another user's parent"]
)
def test_a_state_directory_that_others_could_change_is_refused(place, ran, tmp_path, harm, command):
    state = place / "kept" / "state"
    state.mkdir(0o700, parents=True)
    if harm == "a group writes to it":
        writable_by_a_group(state)
    elif harm == "another user's parent":
        given_away(state.parent)
    else:
        (place / "way").symlink_to("kept")
        given_away(place / "way")
        state = place / "way" / "state"
    done = command("run", "--converge-once", "--state-dir", state, place / "m.yaml")
    assert (done.code, ran()) == (2, False)
    assert f"error[R0401]: the state directory {state} can't be trusted: " in done.err
    assert "--state-dir" in done.err
    assert list(state.iterdir()) == []


def test_no_state_directory_is_made_in_a_directory_of_another_user(place, ran, command):
    (place / "theirs").mkdir()
    given_away(place / "theirs")
    done = command("run", "--converge-once", "--state-dir", place / "theirs/a/state", place / "m.yaml")
    assert (done.code, ran()) == (2, False)
    assert list((place / "theirs").iterdir()) == []


def test_nothing_is_restored_from_a_state_directory_that_others_could_change(place, tmp_path, command):
    state, file = place / "state", tmp_path / "file"
    file.write_text("before")
    (place / "file.yaml").write_text(
        f"resources: [{{file: [{{{file}: {{ensure: present, content: after, owner: root, group: root, mode: '0600'}}}}]}}]"
    )
    assert command("run", "--converge-once", "--state-dir", state, place / "file.yaml").code == 0
    given_away(state)
    done = command("restore", "--state-dir", state, file)
    assert (done.code, file.read_text()) == (1, "after")
    assert "can't be trusted" in done.err
    os.chown(state, 0, 0)
    assert command("restore", "--state-dir", state, file).code == 0
    assert file.read_text() == "before"
