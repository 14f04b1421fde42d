"""A one-shot run that nothing has changed for is proven without a run; whatever has changed is found by one."""

import os
import pty
import re
import shutil
import signal
import time

import pytest
from processes_of_cli import finish
from proven_worlds import PYTHON, RESOURCES, TEXT, ProvenWorld, tables_of

from reactor.cli.running import proof, run_proof
from reactor.cli.running.run_proof import RunProof
from reactor.journal.schema import open_for_writing
from reactor.journal.state_directory import StateDirectory


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A world after its first run."""
    world = ProvenWorld(tmp_path_factory.mktemp("proven") / "world")
    was_proven, (code, out, err) = world.run()
    assert (was_proven, code, err) == (False, 0, [])
    assert f"changed {RESOURCES}" in out[-1], out
    world.settle()
    return world


def test_the_second_run_is_proven_and_shows_what_a_run_does(first):
    """Also in the journal, whatever the form of the output."""
    for args in ((), ("--format", "json", "--diff", "--detailed-exitcodes")):
        was_proven, shown = first.run(*args)
        assert was_proven, shown
        before = tables_of(first)
        first.proof.unlink()
        was_proven, by_a_run = first.run(*args)
        after = tables_of(first)
        assert not was_proven
        assert shown[0] == by_a_run[0] == 0
        assert sorted(map(str, shown[1])) == sorted(map(str, by_a_run[1]))
        assert shown[1][-2:] == by_a_run[1][-2:]
        assert shown[2] == by_a_run[2] == []
        rows, added = before["events"], after["events"][len(before["events"]) :]
        assert [each[1:] for each in added] == [rows[-1][1:]]
        assert {**after, "events": 0} == {**before, "events": 0}
    assert (first.directory / "made/log").read_text() == "ran\n"


def test_a_terminal_shows_the_same_table(first):
    def on_terminal():
        main, terminal = pty.openpty()
        with open(main, "rb", buffering=0) as reader:
            was_proven, _ = first.run(stdout=terminal)
            os.close(terminal)
            shown = b""
            try:
                while data := reader.read(4096):
                    shown += data
            except OSError:  # the terminal has no writer any more
                pass
        return was_proven, proven_untimed(shown.decode())

    proven, shown = on_terminal()
    first.proof.unlink()
    by_run, shown_by_run = on_terminal()
    assert (proven, by_run) == (True, False)
    assert shown == shown_by_run
    assert "ok" in shown


def proven_untimed(text):
    return re.sub(r"\d+(\.\d+)? m?s", "TIME", text)


@pytest.mark.parametrize("target", ["/dev/full", "pipe"])
def test_an_output_that_is_lost_ends_as_that_of_a_run(first, target):
    first.run()  # one that has lost its output leaves no proof
    found = []
    for is_proven in (True, False):
        if not is_proven:
            first.proof.unlink()
        if target == "pipe":
            reader, writer = os.pipe()
            os.close(reader)
        else:
            writer = os.open(target, os.O_WRONLY)
        was_proven, shown = first.run(stdout=writer)
        os.close(writer)
        assert was_proven is is_proven
        found.append(shown)
    assert found[0] == found[1]


# ---- what the proof depends on ----


@pytest.fixture
def world(first, monkeypatch):
    """The same world as its first run has left it: the files are not read yet, and the session is that of this process."""
    if not hasattr(first, "original"):
        first.proof.unlink(missing_ok=True)
        first.run()
        first.original = kept_proof(first)
    modules = first.directory / "modules"
    modules.mkdir(exist_ok=True)
    monkeypatch.setattr(run_proof, "session_digest", lambda: first.session)
    monkeypatch.setattr(os, "write", _unless_stdout)
    monkeypatch.chdir(first.directory)
    kept = first.original
    inputs = [str(first.manifest), str(first.directory / "source")]
    proof.write_proof(
        str(first.state),
        kept._replace(
            session=first.session,
            made=time.time(),
            code={str(modules): proof.code_stamp(str(modules)), str(modules / "none"): None},
            stamps={path: [*run_proof.stamp_of(os.lstat(path))] for path in inputs},
        ).text(),
    )
    return first


def kept_proof(world):
    return RunProof.parse(proof.read_proof(str(world.state)))


_write = os.write


def _unless_stdout(descriptor, data):
    return len(data) if descriptor == 1 else _write(descriptor, data)


class Undone:
    """Changes one path for a block; what was there comes back as it was."""

    def __init__(self, world, name, change):
        self.path, self.change = world.directory / name, change
        self.kept = world.directory.with_name("kept")

    def __enter__(self):
        self.path.rename(self.kept)
        if self.kept.is_dir():
            shutil.copytree(self.kept, self.path)
        else:
            shutil.copy2(self.kept, self.path)
        self.change(self.path)

    def __exit__(self, *_):
        if self.path.is_dir() and not self.path.is_symlink():
            shutil.rmtree(self.path)
        else:
            self.path.unlink(missing_ok=True)
        self.kept.rename(self.path)


def by_link(path):
    moved = path.with_name("moved")
    if moved.is_dir():
        shutil.rmtree(moved)
    moved.unlink(missing_ok=True)
    path.rename(moved)
    path.symlink_to(moved)


def same_times(path):
    before = path.stat()
    path.write_text("ONE")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


REPLACED = {
    "nothing": ("managed/a", lambda _: None, True),
    "content": ("managed/a", same_times, False),
    "mode": ("managed/a", lambda path: path.chmod(0o640), False),
    "no file": ("managed/a", lambda path: path.unlink(), False),
    "a link": ("managed/a", by_link, False),
    "a second name": ("managed/a", lambda path: path.with_name("second").hardlink_to(path), False),
    "content of a copy": ("managed/copy", lambda path: path.write_text("Copied\n"), False),
    "content that is not managed": ("managed/plain", lambda path: path.write_text("any"), True),
    "mode alone": ("managed/plain", lambda path: path.chmod(0o600), False),
    "mode of a directory": ("managed/inner", lambda path: path.chmod(0o700), False),
    "a file in a directory": ("managed/inner", lambda path: (path / "other").touch(), True),
    "no directory": ("managed/inner", lambda path: path.rmdir(), False),
    "a link above": ("managed", by_link, False),
    "another directory above": ("managed", lambda _: None, False),
    "what a command creates": ("made/x", lambda path: path.unlink(), False),
    "a link there": ("made/x", by_link, False),
    "the manifest": ("site.yaml", lambda path: path.write_text(TEXT), False),
    "the source": ("source", lambda path: path.write_text("other\n"), False),
}  # fmt: skip


@pytest.mark.parametrize("what", REPLACED)
def test_what_replaces_a_path_before_it_was_read(world, what):
    name, change, still_proven = REPLACED[what]
    with Undone(world, name, change):
        assert world.proves() is still_proven
    (world.managed / "second").unlink(missing_ok=True)


def chmod_above(world):
    world.managed.chmod(0o777)


def touch(name):
    return lambda world: (world.directory / name).touch()


def write_event(world):
    connection = open_for_writing(str(world.state / "journal.sqlite"))
    connection.execute("INSERT INTO events (time, event, ref, record) VALUES (1, 'checked', 'file#/x', '{}')")
    connection.close()


def owe_refresh(world):
    connection = open_for_writing(str(world.state / "journal.sqlite"))
    connection.execute(
        "INSERT INTO refreshes (source, subscriber, owed_since) VALUES ('file#/x', 'exec#y', 1.0)"
    )
    connection.close()


def forget(statement):
    def undo(world):
        connection = open_for_writing(str(world.state / "journal.sqlite"))
        connection.execute(statement)
        connection.close()

    return undo


def rewrite(path):
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)


CHANGES = {
    "content": (lambda world: same_times(world.managed / "a"), lambda world: (world.managed / "a").write_text("one")),
    "mode": (lambda world: (world.managed / "a").chmod(0o600), lambda world: (world.managed / "a").chmod(0o644)),
    "writers of a directory": (chmod_above, lambda world: world.managed.chmod(0o755)),
    "what a killed run left": (
        touch("managed/.a.0123456789ab.reactor"),
        lambda world: (world.managed / ".a.0123456789ab.reactor").unlink(),
    ),
    "a new module": (touch("modules/new"), lambda world: (world.directory / "modules/new").unlink()),
    "a module that was missing": (touch("modules/none"), lambda world: (world.directory / "modules/none").unlink()),
    ".env": (touch(".env"), lambda world: (world.directory / ".env").unlink()),
    "a pause": (touch("state/pauses.json"), lambda world: (world.state / "pauses.json").unlink()),
    "a run that did not begin": (touch("state/refused.json"), lambda world: (world.state / "refused.json").unlink()),
    "another run": (write_event, forget("DELETE FROM events WHERE ref = 'file#/x'")),
    "a refresh that is due": (owe_refresh, forget("DELETE FROM refreshes WHERE subscriber = 'exec#y'")),
    "another session": (lambda world: setattr(world, "session", "other"), lambda world: delattr(world, "session")),
    "a day": (lambda world: world.change_proof(made=time.time() - 90000), None),
    "a clock set back": (lambda world: world.change_proof(made=time.time() + 60), None),
    "another manifest": (lambda world: world.change_proof(manifests=["other.yaml"]), None),
    "a proof in part": (lambda world: world.proof.write_bytes(world.proof.read_bytes()[:-9]), None),
    "a proof of another form": (lambda world: world.change_proof(more=1), None),
    "a field of another form": (lambda world: world.change_proof(ways=[1]), None),
    "values of another form": (lambda world: world.change_proof(stamps={"/": "x"}), None),
    "too deep": (lambda world: proof.write_proof(str(world.state), "[" * 100_000), None),
    "one bit": (lambda world: rewrite(world.proof), None),
    "no proof": (lambda world: world.proof.unlink(), None),
    "a link to a proof": (lambda world: by_link(world.proof), lambda world: world.proof.unlink()),
    "a state of all": (lambda world: world.state.chmod(0o777), lambda world: world.state.chmod(0o700)),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_what_has_changed_is_found_by_a_run(world, what):
    change, undo = CHANGES[what]
    assert world.proves()
    assert world.proves()  # its own row in the journal is no change
    change(world)
    try:
        assert not world.proves()
    finally:
        if undo is not None:
            undo(world)


def test_a_proof_of_another_user_is_not_used(world, monkeypatch):
    assert world.proves()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not world.proves()


@pytest.mark.parametrize("variable", ["NOTIFY_SOCKET"])
def test_a_service_manager_is_told_by_a_run(world, monkeypatch, variable):
    monkeypatch.setenv(variable, "/run/x")
    assert not world.proves()


def test_what_others_do_beside_the_managed_files_is_no_change(world):
    assert world.proves()
    (world.managed / "other").touch()
    assert world.proves()
    (world.managed / "other").unlink()
    assert world.proves()


def test_files_that_were_read_are_not_read_again(world):
    assert world.proves()
    kept = kept_proof(world)
    assert (kept.unread, {*kept.stamps}) == (
        [],
        {
            str(world.directory / name)
            for name in ("site.yaml", "source", "managed/a", "managed/copy", "managed/plain")
        },
    )


def test_stamps_that_may_not_show_a_change_are_not_kept(world, monkeypatch):
    monkeypatch.setattr(run_proof, "stamp_is_reliable", lambda *_: False)
    assert world.proves()
    assert len(kept_proof(world).unread) == 3


def test_while_another_run_is_active_a_run_says_so(world):
    other = StateDirectory.make(str(world.state))
    other.lock("other.yaml")
    try:
        assert not world.proves()
    finally:
        other.release()
    assert world.proves()


def test_a_run_that_was_killed_before_its_proof_leaves_none_that_holds(first):
    world = first
    world.run()
    (world.managed / "a").write_text("two")
    code = (
        "import os, reactor.cli.running.run_evidence as module\n"
        "module.keep_proof = lambda *_: os.kill(os.getpid(), 9)\n"
        "from reactor.cli import main; main()"
    )
    _, (code, *_) = world.run(program=(*PYTHON, "-c", code))
    assert code == -signal.SIGKILL
    assert (world.managed / "a").read_text() == "one"
    world.settle()
    was_proven, (code, *_) = world.run()
    assert (was_proven, code) == (False, 0)
    assert world.run()[0]


def test_two_at_once_are_each_proven_or_refused(first):
    first.run()
    with first.started() as one, first.started() as other:
        codes = sorted(finish(each).code for each in (one, other))
    assert codes in ([0, 0], [0, 1])


def test_another_environment_and_another_command_line_need_a_run(first):
    first.run()
    assert first.run()[0]
    assert not first.run("--jobs", "2")[0]
    assert first.run()[0]  # that one has changed nothing
    assert not first.run(env={"COLOUR": "red"})[0]
    assert first.run(env={"COLOUR": "red", "OLDPWD": "/", "INVOCATION_ID": "1"})[
        0
    ]  # these only name a session


def test_a_module_that_appears_in_the_search_path_needs_a_run(first):
    first.run()
    assert first.run()[0]
    (first.code / "new.py").touch()
    assert not first.run()[0]
