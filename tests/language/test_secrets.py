"""A secret leaves the process in the files and commands that need it, and in nothing else."""

import base64
import json
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import urllib.parse
from contextlib import closing

import pytest
from line_pipe import started

from reactor.resource import redaction
from reactor.resource.diagnostic import ManifestError


def forms(secret):
    """How a secret may hide: as it is, upper case, encoded in base64 at any alignment, quoted for URLs."""
    raw = secret.encode()
    yield from (
        raw,
        secret.upper().encode(),
        urllib.parse.quote(secret).encode(),
        urllib.parse.quote_plus(secret).encode(),
    )
    yield json.dumps(secret).strip('"').encode()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + raw)
        yield encoded[4 if shift else 0 : -4]


@pytest.mark.parametrize(
    "secret", ["hunter2hunter", "p@ss w/rd+é", 'quo"te\\d', "two\nlines here", "x" * 300]
)
def test_a_secret_is_masked_in_all_its_forms(secret):
    redaction.register_secret(secret)
    for form in (
        secret,
        urllib.parse.quote(secret, safe=""),
        json.dumps(secret),
        base64.b64encode(secret.encode()).decode(),
    ):
        assert form not in redaction.redact(f"before {form} after")
    hidden = base64.b64encode(b"user:" + secret.encode() + b"@host").decode()
    assert len(redaction.redact(hidden)) < len(hidden)


@pytest.mark.parametrize("before", ["", "u", "us", "usr", "user:"])
@pytest.mark.parametrize("secret", ["hunter22", "hunter222", "hunter2222"])
def test_nothing_of_a_secret_can_be_read_from_what_is_left_of_its_base64(secret, before):
    redaction.register_secret(secret)
    at_the_end = base64.b64encode(f"{before}{secret}".encode()).decode()
    for form in (at_the_end, at_the_end.rstrip("=")):
        assert redaction.redact(form).endswith("[secret]")
    in_the_middle = base64.b64encode(f"{before}{secret}@ho".encode()).decode()
    left = redaction.redact(in_the_middle).partition("[secret]")[2]
    assert len(left) * 6 < 6 + 8 * len("@ho") + 8 * in_the_middle.count("="), (
        "no whole character of the secret"
    )


@pytest.mark.parametrize("secret", ["secret", "ecre", "[secret", "secret]"])
def test_what_is_masked_already_stays_as_it_is_whatever_the_secret(secret):
    redaction.register_secret(secret)
    masked = redaction.redact(f"password: {secret}")
    assert masked == "password: [secret]"
    assert redaction.redact(masked) == masked


def test_the_line_after_a_secret_with_a_last_newline_stays_a_line_of_its_own():
    redaction.register_secret("hunter2hunter\n")
    assert redaction.redact("+a hunter2hunter\n+b\n") == f"+a {redaction.MASK}\n+b\n"


def test_without_secrets_nothing_is_touched():
    text = "nothing to hide"
    assert redaction.redact(text) is text


MANIFEST = """
data:
  port: 80
  # @secret
  password: "{secret}"
ccm:
  pre_message: "with ${{ Data.password }}"
  resources:
    - file:
        - defaults: {{owner: "{uid}", group: "{gid}", mode: "0644", ensure: present}}
        - "{dir}/conf": {{content: "port ${{ Data.port }}\\nkey ${{ Data.password | upper() }}\\n"}}
        - "{dir}/plain": {{content: "${{ Data.port }}"}}
    - exec:
        - say: {{command: "/bin/echo ${{ Data.password }}", logoutput: true}}
        - encoded: {{command: "/bin/sh -c 'echo -n ${{ Data.password }} | base64 -w0'", logoutput: true}}
        - fails: {{command: "/bin/sh -c 'echo wrong: ${{ Data.password }} >&2; exit 3'"}}
        - missing: {{command: "/nonexistent/${{ Data.password }}"}}
        - literal: {{command: "/bin/echo ${{ secret('another-{secret}') }}", logoutput: true}}
"""


@pytest.fixture
def planted(tmp_path):
    secret = secrets.token_hex(12)
    path = tmp_path / "site.yaml"
    path.write_text(MANIFEST.format(secret=secret, dir=tmp_path, uid=os.getuid(), gid=os.getgid()))
    return secret, path


def reactor(*args):
    return subprocess.run(
        [sys.executable, "-m", "reactor", *map(str, args)], capture_output=True, check=False
    )


def clean(secret, *outputs):
    for output in outputs:
        for form in forms(secret):
            assert form not in output, form


def test_a_planted_secret_is_found_in_no_output_of_a_whole_life(planted, tmp_path):
    secret, path = planted
    state = tmp_path / "state"
    for form in ("text", "json"):
        done = reactor(
            "run", "--converge-once", "--diff", "--noop", "--format", form, "--state-dir", state, path
        )
        clean(secret, done.stdout, done.stderr)
    done = reactor("run", "--converge-once", "--diff", "--format", "json", "--state-dir", state, path)
    clean(secret, done.stdout, done.stderr)
    assert f"key {secret.upper()}" in (tmp_path / "conf").read_text(), "the file itself has it"
    assert b"[secret]" in done.stdout
    (tmp_path / "conf").write_text("drift")
    done = reactor("run", "--converge-once", "--diff", "--state-dir", state, path)
    clean(secret, done.stdout, done.stderr)
    for command in (
        ["events", "--state-dir", state, "--format", "json"],
        ["why", "exec#fails", "--state-dir", state],
        ["status", "--state-dir", state, "--format", "json"],
    ):
        done = reactor(*command)
        assert done.stdout
        clean(secret, done.stdout, done.stderr)
    for form in ("html", "json", "dot", "svg"):
        done = reactor("graph", "--format", form, path)
        assert done.returncode == 0
        clean(secret, done.stdout, done.stderr)
    done = reactor("data", path)
    clean(secret, done.stdout, done.stderr)
    done = reactor("render", path)
    assert done.returncode == 0
    clean(secret, done.stdout, done.stderr)
    clean(
        secret,
        *(file.read_bytes() for file in state.rglob("*") if file.is_file() and "backup" not in str(file)),
    )


def test_an_error_in_a_manifest_shows_the_lines_around_it_without_the_secret(planted):
    secret, path = planted
    path.write_text(path.read_text().replace("port: 80\n", "port: ${ nope }\n"))
    done = reactor("validate", path)
    assert done.returncode == 2
    assert b"unknown name nope" in done.stderr
    clean(secret, done.stdout, done.stderr)


def test_a_bug_shows_its_traceback_without_the_secret(planted):
    secret, _path = planted
    code = f"""
import sys
sys.argv = ["reactor"]
from reactor.resource.redaction import register_secret
import reactor.cli.group
register_secret({secret!r})
def broken(**_):
    raise RuntimeError("it was {secret}")
reactor.cli.group.reactor = broken
from reactor.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"RuntimeError: it was [secret]" in done.stderr
    clean(secret, done.stdout, done.stderr)


def test_the_socket_of_a_running_converger_reports_no_secret(planted, tmp_path):
    secret, path = planted
    state = tmp_path / "state"
    with started(
        [sys.executable, "-m", "reactor", "run", "--format", "json", "--state-dir", str(state), str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        lines, checked = [], set()
        for line in process.stdout:
            lines.append(line)
            if b'"checked"' in line:
                checked.add(json.loads(line)["ref"])
            if len(checked) == 7:
                break
        answers = [reactor("status", "--state-dir", state), reactor("why", "exec#say", "--state-dir", state)]
        process.send_signal(signal.SIGTERM)
        lines.append(process.stdout.read())
    clean(secret, *lines, *(answer.stdout for answer in answers))
    assert b"exec#fails" in answers[0].stdout
    with closing(sqlite3.connect(f"file:{state / 'journal.sqlite'}?mode=ro", uri=True)) as journal:
        dump = "\n".join(journal.iterdump()).encode()
    assert b"exec#fails" in dump
    clean(secret, dump)


def test_a_list_with_a_secret_in_it_is_secret_in_a_property_that_is_read_at_load(site):
    text = "data: {hidden: [a-secret-word]}\nresources: [{exec: [{a: {alias: x, meta: {semaphores: \"${ [secret('a-secret-word')] }\"}}}]}]"
    assert site(text).graph.resources["exec#a"].secrets == {"meta"}


@pytest.mark.parametrize("expression", ["secret('a-literal')", "Data.hidden | upper()", "Data.hidden"])
def test_what_is_made_of_a_secret_is_masked_where_it_shows_without_the_text_around_it(tmp_path, expression):
    """A command says its arguments one by one, not its command line."""
    path = tmp_path / "site.yaml"
    command = f"/bin/echo a ${{ 'open' }} ${{ {expression} }} ${{ Data.hidden == 'x' }} b"
    path.write_text(f'{SECRET_DATA}resources: [{{exec: [{{a: {{command: "{command}", logoutput: true}}}}]}}]')
    done = reactor("run", "--converge-once", "--state-dir", tmp_path / "state", path)
    assert done.stdout.startswith(b"exec#a | a open [secret] false b\n")


# ---- names ----

SECRET_DATA = "data:\n  hidden: a-secret-word  # @secret\n"


@pytest.mark.parametrize(
    ("resources", "place"),
    [
        ("[{exec: [{'/bin/echo {{ Data.hidden }}': {}}]}]", "3:22"),
        ("[{exec: {name: '/bin/echo {{ Data.hidden }}'}}]", "3:27"),
        ("[{exec: [{a: {alias: 'x-{{ Data.hidden }}', command: /bin/true}}]}]", "3:33"),
    ],
)
def test_a_name_that_holds_a_secret_is_refused_where_it_stands(site, resources, place):
    with pytest.raises(ManifestError) as caught:
        site(f"{SECRET_DATA}resources: {resources}")
    (problem,) = caught.value.diagnostics
    assert "must not hold a secret" in problem.message
    assert f"{problem.place.line}:{problem.place.column}" == place


def test_so_is_one_that_a_template_makes(site):
    resources = "- exec:\n    - open: {command: /bin/true}\n    - '/bin/echo [[ Data.hidden ]]': {}\n"
    with pytest.raises(ManifestError) as caught:
        site(f"{SECRET_DATA}ccm: {{resources_jet_file: x.jet}}", **{"x.jet": resources})
    (problem,) = caught.value.diagnostics
    assert "must not hold a secret" in problem.message
    assert problem.place.line == 3


def test_what_a_template_makes_of_secrets_is_not_shown(site, tmp_path):
    resources = (
        "- exec:\n    - open: {command: /bin/true}\n    - hides: {command: '/bin/echo [[ Data.hidden ]]'}\n"
    )
    graph = site(f"{SECRET_DATA}ccm: {{resources_jet_file: x.jet}}", **{"x.jet": resources}).graph
    assert graph.resources["exec#hides"].secrets == {"command"}
    assert graph.resources["exec#open"].secrets == set()


def test_what_refers_to_a_refused_name_is_no_further_problem(site):
    text = "resources: [{exec: [{'/bin/echo {{ Data.hidden }}': {}}, {b: {command: /bin/true, require: 'exec#/bin/echo {{ Data.hidden }}'}}]}]"
    with pytest.raises(ManifestError) as caught:
        site(SECRET_DATA + text)
    assert len(caught.value.diagnostics) == 1


def test_a_word_of_a_name_that_happens_to_be_a_secret_too_keeps_no_one_from_finding_the_resource(tmp_path):
    """Even the kind may be somebody's password."""
    path = tmp_path / "site.yaml"
    text = 'data:\n  one: exec  # @secret\n  other: word  # @secret\nresources: [{exec: [{a-word: {command: "/bin/echo {{ Data.other }}", logoutput: true}}]}]\n'
    path.write_text(text)
    state = tmp_path / "state"
    done = reactor("run", "--converge-once", "--state-dir", state, path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"word" not in done.stdout
    ref = "exec#a-word"
    assert f"{ref} was changed".encode() in reactor("why", ref, "--state-dir", state).stdout
    (resource,) = json.loads(reactor("status", "--all", "--format", "json", "--state-dir", state).stdout)[
        "resources"
    ]
    assert (resource["ref"], resource["state"]) == (ref, "changed")


def test_a_ref_is_shown_and_its_words_elsewhere_are_not():
    redaction.register_secret("word")
    redaction.show_names(["exec#a-word"])
    assert redaction.redacted(["exec#a-word", "a-word", {"exec#a-word": "the word"}]) == [
        "exec#a-word", "a-[secret]", {"exec#a-word": "the [secret]"},
    ]  # fmt: skip


# ---- what a program reads ----


def test_digits_and_words_that_are_secret_leave_json_what_it_is(tmp_path):
    """A time is a number, and a key a word of ours, even if somebody has a password like them."""
    path = tmp_path / "site.yaml"
    path.write_text(
        "data:\n  digits: '1795'  # @secret\n  word: event  # @secret\n"
        "resources: [{exec: [{say: {command: '/bin/echo {{ Data.digits }}', logoutput: true}}]}]\n"
    )
    program = (
        "import time, sys; time.time = lambda: 1795000000.5; sys.argv[0] = 'reactor'\n"
        "from reactor.cli import main; main()"
    )
    arguments = [
        "run",
        "--converge-once",
        "--format",
        "json",
        "--state-dir",
        str(tmp_path / "state"),
        str(path),
    ]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, check=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event["time"] for event in told} == {1795000000.5}
    assert [event["event"] for event in told] == ["output", "checked", "converged", "ended"]
    assert told[0]["line"] == redaction.MASK


def test_a_complaint_to_a_program_quotes_no_secret(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(
        "data:\n  word: message  # @secret\nresources: [{exec: [{say: {command: x, cwd: '{{ Data.word }}'}}]}]\n"
    )
    done = reactor("run", "--converge-once", "--format", "json", "--state-dir", tmp_path / "state", path)
    (problem,) = map(json.loads, done.stdout.splitlines())
    assert (problem["event"], problem["line"]) == ("diagnostic", 3)
    assert "message" not in problem["message"]


def test_a_secret_that_is_handed_to_a_child_is_one_to_its_templates(site):
    parent = """
data:
  # @secret
  pin: "4711pin"
resources: [{apply: [{child.yaml: {data: {deep: {pin: "{{ Data.pin }}"}, open: abc}}}]}]
"""
    files = {
        "child.yaml": "ccm: {resources_jet_file: r.jet}",
        "r.jet": "- exec: [{a: {command: 'x [[ Data.deep.pin ]]'}}]",
    }
    assert "command" in site(parent, **files).graph.resources["exec#a"].secrets
    files["r.jet"] = "- exec: [{a: {command: 'x [[ Data.deep.pin.x ]]'}}]"
    with pytest.raises(ManifestError, match="why is not shown"):
        site(parent, **files)


def test_what_is_given_to_secret_is_masked_also_where_it_is_but_a_part_of_a_value(site):
    site("resources: [{exec: [{a: {command: \"echo Bearer {{ secret('t0ken-t0ken') }}\"}}]}]")
    assert redaction.redact("Bearer t0ken-t0ken") == "Bearer [secret]"
