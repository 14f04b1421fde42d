"""The kind cron: a file of its own, or lines in the table of a user, as the real cron reads them."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from hostkinds_worlds import assert_undone, shell
from hypothesis import example, given
from hypothesis import strategies as st

from reactor import ManifestError, load
from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resources.accounts import User
from reactor.resources.cron import Cron
from reactor.resources.cron.job import Job
from reactor.resources.cron.schedule import FIELDS, NICKNAMES, check, numbers_of
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once

FILE = Path("/etc/cron.d/backup")
SPOOL = Path("/var/spool/cron/crontabs")
TABLE = SPOOL / "ada"
HEADER = "# Managed by reactor: what is changed here is changed back.\n"
CRONTAB = 4711


@pytest.fixture(autouse=True)
def places(own_directories):
    """The directories of cron, as Debian makes them."""
    subprocess.run(["mount", "-t", "tmpfs", "none", "/var/spool"], check=True)
    SPOOL.mkdir(parents=True)
    os.chown(SPOOL, 0, CRONTAB)
    SPOOL.chmod(0o1730)
    FILE.parent.mkdir()
    shell("useradd --uid 1500 --no-create-home ada")
    yield
    subprocess.run(["umount", "/var/spool"], check=True)


def a_job(name="backup", **more):
    return Cron(name=name, **({"command": "/usr/local/bin/backup", "schedule": "0 3 * * *"} | more))


def hers(name="backup", **more):
    return a_job(name, table="user", user="ada", **more)


def world():
    paths = sorted([*FILE.parent.iterdir(), *SPOOL.iterdir()])
    return {
        path: (path.lstat().st_mode, path.lstat().st_uid, path.lstat().st_gid, path.read_bytes())
        for path in paths
    }


def its_file():
    return Case(lambda: a_job(environment={"MAILTO": "root"}), world, lambda: FILE.write_text("vandal\n"))


def its_mode():
    return Case(a_job, world, lambda: FILE.chmod(0o666))


def no_file():
    FILE.write_text("@daily root true\n")
    return Case(
        lambda: a_job(ensure="absent", command=None, schedule=None), world, lambda: FILE.write_text("x\n")
    )


def a_table():
    put("# hers\n@daily true\n")
    return Case(hers, world, lambda: put(TABLE.read_text().replace("0 3", "5 5")))


def no_job_in_a_table():
    text = "# reactor: backup\n0 3 * * * true\n@daily true\n"
    put(text)
    return Case(lambda: hers(ensure="absent"), world, lambda: put(text))


def put(text, mode=0o600):
    TABLE.write_bytes(text if isinstance(text, bytes) else text.encode())
    TABLE.chmod(mode)
    os.chown(TABLE, 1500, CRONTAB)


CASES = [its_file, its_mode, no_file, a_table, no_job_in_a_table]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("promise", CONTRACT, ids=lambda promise: promise.__name__)
async def test_a_cron_job_keeps_the_contract(promise, case):
    await promise(case())


async def test_the_file_has_what_cron_needs():
    job = a_job(
        schedule=None, minute=5, hour="3", weekday="mon-fri", user="ada", command="date +%F >/tmp/x",
        environment={"PATH": "/usr/bin:/bin", "MAILTO": "", "GREETING": ' "hi" '},
    )  # fmt: skip
    await converge_once(job)
    lines = [
        "PATH=/usr/bin:/bin",
        'MAILTO=""',
        "GREETING=' \"hi\" '",
        "5 3 * * mon-fri ada date +\\%F >/tmp/x",
    ]
    assert FILE.read_text() == HEADER + "".join(f"{line}\n" for line in lines)
    status = FILE.stat()
    assert (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o644, 0, 0)


async def test_a_table_is_readable_for_cron_and_keeps_all_other_lines():
    put(b"MAILTO=caf\xe9\n# hers\r\n@daily true")
    await converge_once(hers())
    lines = b"MAILTO=caf\xe9\n# hers\r\n@daily true\n# reactor: backup\n0 3 * * * /usr/local/bin/backup\n"
    assert TABLE.read_bytes() == lines
    status = TABLE.stat()
    assert (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o600, 1500, CRONTAB)


async def test_a_new_table_belongs_to_its_user_as_crontab_makes_it():
    await converge_once(hers(command="echo 100%"))
    status = TABLE.stat()
    assert (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o600, 1500, CRONTAB)
    listed = subprocess.run(["crontab", "-u", "ada", "-l"], capture_output=True, text=True, check=True).stdout
    assert listed == "\n# reactor: backup\n0 3 * * * echo 100\\%\n"
    subprocess.run(["crontab", "-u", "ada", TABLE], check=True)


async def test_a_table_with_a_mode_that_cron_refuses_is_corrected():
    await converge_once(hers())
    TABLE.chmod(0o644)
    await converge_once(hers())
    assert TABLE.stat().st_mode & 0o7777 == 0o600


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "\n# reactor: backup\n0 3 * * * /usr/local/bin/backup\n"),
        ("0 3 * * * /usr/local/bin/backup\n", "\n# reactor: backup\n0 3 * * * /usr/local/bin/backup\n"),
        ("# reactor: backup\n# note\n@daily x\n", "# reactor: backup\n0 3 * * * /usr/local/bin/backup\n# note\n@daily x\n"),
        ("# reactor: backup\n5 5 * * * old\n@daily x\n", "# reactor: backup\n0 3 * * * /usr/local/bin/backup\n@daily x\n"),
        ("# reactor: backup\n5 5 * * * a\n# reactor: backup\n5 5 * * * b\n", "# reactor: backup\n0 3 * * * /usr/local/bin/backup\n"),
        ("@daily x\n# reactor: backup\nMAILTO=ada\n@daily x\n", "@daily x\n# reactor: backup\n0 3 * * * /usr/local/bin/backup\nMAILTO=ada\n@daily x\n"),
        ("# reactor: backup\n0 3 * * * /usr/local/bin/backup", "# reactor: backup\n0 3 * * * /usr/local/bin/backup\n"),
        ("@daily x\n0 3 * * * /usr/local/bin/backup", "@daily x\n# reactor: backup\n0 3 * * * /usr/local/bin/backup\n"),
        ("# reactor: backup\n0 3 * * * /usr/local/bin/backup\n@daily x", "# reactor: backup\n0 3 * * * /usr/local/bin/backup\n@daily x\n"),
        ("# reactor: backup\r\n0 3 * * * /usr/local/bin/backup\r\n", "# reactor: backup\n0 3 * * * /usr/local/bin/backup\n"),
        ("# reactor: other\n0 3 * * * /usr/local/bin/backup\n", "# reactor: other\n0 3 * * * /usr/local/bin/backup\n# reactor: backup\n0 3 * * * /usr/local/bin/backup\n"),
    ],
)  # fmt: skip
async def test_one_job_is_brought_right(before, after):
    put(before)
    await converge_once(hers())
    assert TABLE.read_bytes() == after.encode()
    ended, _ = await converge_once(hers())
    assert ended.changes == 0


async def test_a_last_line_without_an_end_is_told_as_what_it_is():
    put("# reactor: backup\n0 3 * * * /usr/local/bin/backup\n@daily x")
    _, story = await converge_once(hers())
    assert story.checks("cron#backup")[0].actions == (
        "ended the last line, without which cron ignores the table",
    )


async def test_one_job_of_a_table_goes_and_another_comes(tmp_path):
    put("# reactor: old\n@daily x\n")
    old = "old: {table: user, user: ada, ensure: absent}"
    new = "new: {table: user, user: ada, command: y, schedule: '@daily'}"
    (tmp_path / "site.yaml").write_text(f"resources:\n  - cron:\n      - {old}\n      - {new}\n")
    await converge_once(*load(str(tmp_path / "site.yaml")).graph.resources.values())
    assert TABLE.read_text() == "\n# reactor: new\n@daily y\n"


async def test_the_jobs_of_a_table_are_written_at_once_and_lose_nothing():
    await converge_once(*(hers(f"job {n}", schedule=f"{n} 3 * * *") for n in range(50)))
    assert len(TABLE.read_text().splitlines()) == 101
    await converge_once(*(hers(f"job {n}", ensure="absent") for n in range(0, 50, 2)))
    assert {line.partition(" ")[0] for line in TABLE.read_text().splitlines()[2::2]} == {
        str(n) for n in range(1, 50, 2)
    }


async def test_without_a_cron_it_is_an_error_in_a_rehearsal_too(tmp_path):
    (tmp_path / "no").touch()
    shell('mount --bind "$1" /usr/sbin/cron', tmp_path / "no")
    try:
        for noop in (True, False):
            ended, story = await converge_once(a_job(), options=RunOptions(noop=noop))
            assert ended.counts[Result.FAILED] == 1
            assert "no cron is installed" in story.checks("cron#backup")[-1].error
        assert not FILE.exists()
    finally:
        shell("umount /usr/sbin/cron")


async def test_the_user_must_exist_and_goes_first():
    ended, story = await converge_once(a_job(user="eve"), options=RunOptions(noop=True))
    assert ended.counts[Result.FAILED] == 1
    _, story = await converge_once(User(name="eve"), a_job(user="eve"), options=RunOptions(noop=True))
    assert story.checks("cron#backup")[-1].actions[0].startswith("Can't tell before user#eve is applied")
    ended, _ = await converge_once(User(name="eve"), a_job(user="eve"))
    assert ended.counts[Result.CHANGED] == 2


def as_cron_reads(command):
    """The command that Debian's cron gives to the shell; a plain % ends it."""
    read, at = "", 0
    while at < len(command) and command[at] != "%":
        pair = command[at : at + 2]
        read += pair[1] if pair in ("\\%", "\\\\") else pair if pair[0] == "\\" else pair[0]
        at += len(pair) if pair[0] == "\\" else 1
    return read


@given(st.text("a%\\", max_size=12))
@example("a\\%b")
@example("a\\\\b")
def test_cron_gives_the_command_to_the_shell_as_it_is_written(text):
    command = f"{text}z"
    *_, line = Job("a", "@daily", command).line.partition(" ")
    assert as_cron_reads(line) == command


async def test_a_symlink_at_its_file_is_replaced_which_cron_would_not_follow():
    (FILE.parent / "real.conf").write_text("untouched\n")
    FILE.symlink_to("real.conf")
    await converge_once(a_job())
    assert not FILE.is_symlink()
    assert (FILE.parent / "real.conf").read_text() == "untouched\n"


async def test_it_is_undone():
    put("@daily true\n")
    await assert_undone(hers(), world)
    await assert_undone(a_job(), world)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("backup.sh: {command: x, schedule: '@daily'}", "cron ignores a file with the name 'backup.sh'"),
        ("a: {schedule: '@daily'}", "command is required"),
        ("a: {command: x}", "nothing says when it runs"),
        ("a: {command: x, hour: 3}", "it would run every minute of that hour"),
        ("a: {command: x, minute: 0, weekday: 1}", "it would run every hour of that weekday"),
        ("a: {command: x, schedule: '@often'}", "'@often' is not known"),
        ("a: {command: x, schedule: '0 3 * *'}", "has 4 fields, not five"),
        ("a: {command: x, schedule: '0 25 * * *'}", "there is no hour 25: it goes from 0 to 23"),
        ("a: {command: x, minute: '60', hour: 1}", "there is no minute 60"),
        ("a: {command: x, minute: '5/10', hour: 1}", "a step needs a range, such as 5-59/10"),
        ("a: {command: x, minute: '*/0', hour: 1}", "the step is a number from 1 to 59"),
        ("a: {command: x, schedule: '0 3 * * fri-sun'}", "goes upwards; Sunday is also 7"),
        ("a: {command: x, schedule: '0 3 30 feb *'}", "would never run: month feb has no day 30"),
        ("a: {command: x, minute: 0, hour: 3, day: 31, month: '4,6'}", "would never run"),
        ('a: {command: "x\\ny", schedule: "@daily"}', "a command is one line of text"),
        ("a: {command: 'x \\', schedule: '@daily'}", "must not end with a backslash"),
        (f"a: {{command: x{'%' * 500}, schedule: '@daily'}}", "at most 998 bytes"),
        ("a: {command: x, schedule: '@daily', hour: 3}", "mutually exclusive"),
        (
            "a: {command: x, schedule: '@daily', table: user, environment: {A: b}}",
            "variables hold for all jobs",
        ),
        ('a: {command: x, schedule: "@daily", environment: {A: "b\\nc"}}', "one line of text"),
        (
            "a: {command: x, schedule: '@daily', environment: {'A B': c}}",
            "'A B' is not the name of a variable",
        ),
    ],
)
def test_what_is_wrong_is_an_error_with_its_place(entry, message, tmp_path):
    (tmp_path / "site.yaml").write_text(f"resources:\n  - cron:\n      - {entry}\n")
    with pytest.raises(ManifestError) as raised:
        load(str(tmp_path / "site.yaml"))
    (found,) = raised.value.diagnostics
    assert message in found.message
    assert found.place.line == 3


def test_a_file_with_another_content_is_a_contradiction(tmp_path):
    file = "file: [{/etc/cron.d/a: {ensure: present, content: x, owner: root, group: root, mode: '0644'}}]"
    text = f"resources:\n  - cron: [{{a: {{command: x, schedule: '@daily'}}}}]\n  - {file}\n"
    (tmp_path / "site.yaml").write_text(text)
    with pytest.raises(ManifestError, match=r"do not agree on content of the path /etc/cron\.d/a"):
        load(str(tmp_path / "site.yaml"))


def fields():
    """Fields that are right, with the numbers that they mean."""

    @st.composite
    def one(draw):
        field = draw(st.sampled_from(FIELDS))
        first = draw(st.integers(field.low, field.high))
        last = draw(st.integers(first, field.high))
        step = draw(st.integers(1, field.high))
        form = draw(st.sampled_from(["{a}", "{a}-{b}", "{a}-{b}/{s}", "*/{s}", "*"]))
        start, end = (field.low, field.high) if "*" in form else (first, last if "b" in form else first)
        meant = frozenset(range(start, end + 1, step if "s" in form else 1))
        return field, form.format(a=first, b=last, s=step), meant

    return one()


@given(fields())
def test_a_field_means_its_numbers(drawn):
    field, text, meant = drawn
    assert numbers_of(field, text) == meant


@given(st.text(max_size=20))
def test_no_text_breaks_the_parser(text):
    with suppress(ValueError):
        assert check(text) == text or len(text.split()) == 5
    assert all(check(name) == name for name in NICKNAMES)
