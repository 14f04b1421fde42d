"""The command that looks at new content before it is put in place. All commands here are real."""

import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import trio
from file_worlds import ME, MY_GROUP, converge, look, make, mode_of, names_in, picture

from reactor.resource.plan import ResourceError


def shell(script: str) -> str:
    """A validator that runs a script with the file as its first argument."""
    return f"/bin/sh -c {shlex.quote(script)} validator {{path}}"


@pytest.mark.parametrize(
    ("validator", "good", "bad"),
    [
        ("sh -n {path}", "if true; then echo; fi\n", "if true; then\n"),
        (f"{sys.executable} -m json.tool {{path}} /dev/null", '{"a": 1}', '{"a": '),
    ],
    ids=["sh", "json.tool"],
)
async def test_real_validators_let_good_content_in_and_keep_bad_content_out(tmp_path, validator, good, bad):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o600)
    before = picture(path)
    with pytest.raises(ResourceError, match=r"^validate: exit code [12] of ") as failed:
        await converge(make(path, content=bad, validate=validator))
    assert failed.value.hint == f"{path} is unchanged: correct the new content, or the command in `validate`"
    assert picture(path) == before
    assert names_in(tmp_path) == ["f"]
    assert await converge(make(path, content=good, validate=validator)) == [
        "updated the content, changed mode from 0600 to 0644"
    ]
    assert path.read_text() == good
    assert names_in(tmp_path) == ["f"]


async def test_the_last_words_of_the_validator_are_shown_and_name_the_file_itself(tmp_path):
    path = tmp_path / "a.conf"
    validator = shell('echo chatter; for n in 1 2 3 4; do echo "$1: mistake $n" >&2; done; exit 3')
    with pytest.raises(ResourceError) as failed:
        await converge(make(path, content="x", validate=validator))
    assert failed.value.message == "\n  ".join(
        ["validate: exit code 3 of /bin/sh", *(f"{path}: mistake {n}" for n in (2, 3, 4))]
    )
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    "base", ["app.conf", "app", ".hidden", "a.tar.gz", "long" * 60 + ".conf", "two words.d"]
)
async def test_the_candidate_lies_beside_the_target_and_has_its_suffix(tmp_path, base):
    seen = tmp_path / "seen"
    path = tmp_path / "there" / base
    path.parent.mkdir()
    await converge(make(path, content="x", validate=shell(f'printf %s "$1" > {seen}')))
    candidate = Path(seen.read_text())
    assert candidate.parent == path.parent
    assert path.suffix in (candidate.suffix, "")
    assert candidate.name.startswith(".")
    assert names_in(path.parent) == [base]


async def test_the_candidate_has_the_final_content_owner_and_mode(tmp_path):
    seen = tmp_path / "seen"
    path = tmp_path / "f"
    uid, gid = ("4321", "4322") if os.geteuid() == 0 else (ME, MY_GROUP)
    validator = shell(f'stat -c "%u %g %a" "$1" > {seen}; cat "$1" >> {seen}')
    await converge(make(path, content="new", owner=uid, group=gid, mode="0640", validate=validator))
    assert seen.read_text() == f"{uid} {gid} 640\nnew"


async def test_content_copied_from_a_source_is_validated_too(tmp_path):
    source = tmp_path / "source"
    source.write_text("if\n")
    path = tmp_path / "f"
    with pytest.raises(ResourceError, match="validate: exit code 2 of sh\n"):
        await converge(make(path, source=str(source), validate="sh -n {path}"))
    assert not path.exists()


async def test_a_part_of_a_configuration_is_validated_in_its_place_as_the_page_shows(tmp_path):
    page = (Path(__file__).parents[2] / "docs/kinds/file.md").read_text()
    written = " ".join(page[page.index("unshare --mount") :].partition("{path}")[0].split())
    validator = written.replace("/etc/nginx/conf.d", str(tmp_path)) + " {path}"
    validator = validator.replace("nginx -t", f"! grep -l bad {tmp_path}/*.conf")
    (tmp_path / "other.conf").write_text("good")
    site = tmp_path / "site.conf"
    for old in (None, "good"):
        with pytest.raises(ResourceError, match=f"{site}$"):
            await converge(make(site, content="bad", validate=validator))
        assert (site.read_text() if site.exists() else None) == old, "nothing was there for a moment, either"
        await converge(make(site, content="good", validate=validator))
        assert site.read_text() == "good"
    assert not os.path.ismount(tmp_path)


async def test_a_script_may_validate_itself(tmp_path):
    """The kernel refuses to start a program that somebody has open for writing."""
    path = tmp_path / "script"
    script = '#!/bin/sh\ntest "$1" = --check\n'
    await converge(make(path, content=script, mode="0755", validate="{path} --check"))
    assert path.read_text() == script


async def test_nothing_in_the_command_is_expanded_and_each_placeholder_is_replaced(tmp_path):
    seen = tmp_path / "seen"
    path = tmp_path / "two words"
    script = f"import sys; open({str(seen)!r}, 'w').write('|'.join(sys.argv[1:]))"
    words = f"{sys.executable} -c {shlex.quote(script)} '$HOME' * --file={{path}} {{path}}.x {{other}}"
    await converge(make(path, content="x", validate=words))
    home, star, first, second, other = seen.read_text().split("|")
    assert (home, star, other) == ("$HOME", "*", "{other}")
    assert f"{first.removeprefix('--file=')}.x" == second


async def test_only_new_content_is_validated(tmp_path):
    ran = tmp_path / "ran"
    path = tmp_path / "f"
    path.write_text("x")
    path.chmod(0o600)
    file = make(path, content="x", validate=shell(f"echo >> {ran}"))
    await converge(file)
    assert mode_of(path) == 0o644
    assert await look(file) == ()
    changed = make(path, content="y", validate=shell(f"echo >> {ran}"))
    assert [action.would for action in await look(changed)] == ["Would have updated the file"]
    assert not ran.exists()
    await converge(changed)
    assert ran.read_text() == "\n"


async def test_readers_see_the_old_content_for_as_long_as_the_validator_runs(tmp_path):
    path, gate, waiting = tmp_path / "f", tmp_path / "gate", tmp_path / "waiting"
    path.write_text("old")
    os.mkfifo(gate)
    os.mkfifo(waiting)
    file = make(path, content="new", validate=shell(f"echo > {waiting}; cat {gate}; exit 1"))
    failures = []

    async def fail():
        try:
            await converge(file)
        except ResourceError as error:
            failures.append(error)

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
            await trio.to_thread.run_sync(waiting.read_text)
            assert path.read_text() == "old"
            await trio.to_thread.run_sync(gate.write_text, "go on")
    assert len(failures) == 1
    assert path.read_text() == "old"


async def test_a_cancelled_validator_is_killed_with_all_its_children_and_leaves_nothing(tmp_path):
    path, pids = tmp_path / "f", tmp_path / "pids"
    path.write_text("old")
    file = make(path, content="new", validate=shell(f"sleep 600 & echo $$ $! > {pids}; wait"))
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(converge, file)
            while not (pids.exists() and pids.read_text().endswith("\n")):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
    for pid in map(int, pids.read_text().split()):
        with suppress(FileNotFoundError, ProcessLookupError):  # it is gone
            assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    assert path.read_text() == "old"
    assert sorted(names_in(tmp_path)) == ["f", "pids"]


@pytest.mark.parametrize(
    ("validator", "words"),
    [
        ("no-such-validator {path}", "validate: there is no executable 'no-such-validator' in "),
        ("/bin/sh -c 'kill -9 $$' {path}", "validate: killed by SIGKILL"),
    ],
)
async def test_a_validator_that_gives_no_answer_keeps_the_content_out(tmp_path, validator, words):
    path = tmp_path / "f"
    with pytest.raises(ResourceError) as failed:
        await converge(make(path, content="x", validate=validator))
    assert failed.value.message.startswith(words)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("validator", ["no-such-validator {path}", "/etc {path}"])
async def test_a_dry_run_knows_that_a_validator_can_not_be_started(tmp_path, validator):
    file = make(tmp_path / "f", content="x", validate=validator)
    state = await file.observe()
    with pytest.raises(ResourceError) as predicted:
        await file.preflight(state)
    with pytest.raises(ResourceError) as failed:
        await converge(file)
    assert predicted.value.message == failed.value.message
    for error in (predicted, failed):  # `provider: shell` and `path` are properties of an exec
        assert "require the resource that installs the command" in error.value.hint or validator[0] == "/"
        assert "provider" not in error.value.hint
    (tmp_path / "f").write_text("x")
    (tmp_path / "f").chmod(0o600)
    await file.preflight(await file.observe())  # where only attributes change, nothing is validated


_KILLED = """
import sys
import trio
from file_worlds import converge, make
trio.run(converge, make(sys.argv[1], content="new", validate=sys.argv[2]))
"""


def test_killed_while_the_validator_runs_leaves_the_old_file_and_the_next_run_no_litter(tmp_path):
    path, waiting = tmp_path / "f.conf", tmp_path / "waiting"
    path.write_text("old")
    os.mkfifo(waiting)
    validator = shell(f"echo $$ > {waiting}; sleep 600")
    environment = os.environ | {"PYTHONPATH": f"{Path(__file__).parent}:{Path(__file__).parents[2]}"}
    with subprocess.Popen([sys.executable, "-c", _KILLED, path, validator], env=environment) as process:
        orphan = int(waiting.read_text())
        process.kill()
    with suppress(ProcessLookupError):  # the guardian was faster
        os.killpg(orphan, signal.SIGKILL)
    waiting.unlink()
    assert path.read_text() == "old"
    assert len(names_in(tmp_path)) == 2
    did = trio.run(converge, make(path, content="new", validate="test -e {path}"))
    assert did[0] == "removed a temporary file of an interrupted run"
    assert path.read_text() == "new"
    assert names_in(tmp_path) == ["f.conf"]


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"content": "x", "validate": "visudo -cf"}, "the command does not name the file to validate"),
        ({"content": "x", "validate": ""}, "the command does not name the file to validate"),
        ({"content": "x", "validate": "visudo '{path}"}, "unterminated single quote"),
        ({"content": "x", "validate": "'' {path}"}, "the command is empty"),
        ({"content": "x", "validate": "visudo {path}\0"}, "a command can't hold a NUL character"),
        ({"validate": "visudo {path}"}, "there is nothing to validate"),
        ({"ensure": "directory", "validate": "visudo {path}"}, "there is nothing to validate"),
        ({"ensure": "absent", "validate": "visudo {path}"}, "there is nothing to validate"),
    ],
)
def test_a_validator_that_can_not_work_is_refused(properties, words):
    with pytest.raises(ValueError, match=r"validate|NUL|quote|empty|names") as refused:
        make("/a", **properties)
    assert words in str(refused.value)


def test_what_the_validator_runs_and_reads_goes_first():
    file = make("/etc/a", content="x", validate="/usr/local/bin/check -c /etc/check.conf {path} x{path}")
    assert list(file.relations().depends_on) == ["/etc", "/usr/local/bin/check", "/etc/check.conf"]
