"""One secret in a file, commands that print it in every encoding, and others that share the lines of the file:

nothing that leaves the process holds the secret, and the lines beside it can be read everywhere.
"""

import json
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from line_pipe import started
from secret_pieces import leaks

from reactor.resource.redaction import MASK

PRINTER = r"""
import base64, html, json, shlex, sys, urllib.parse
secret = open(sys.argv[1]).read().split("password=")[1].split("\n")[0]
raw = secret.encode()
for line in (
    secret, "x" + secret + "y", secret[::-1], raw.hex(), raw.hex().upper(), raw.hex(":"), raw.hex(" "),
    base64.b64encode(raw).decode(), base64.b64encode(b"user:" + raw + b"\n").decode(), base64.b32encode(b"").decode(),
    base64.urlsafe_b64encode(b"u" + raw).decode(), urllib.parse.quote(secret), urllib.parse.quote_plus(secret),
    json.dumps({"password": secret}), json.dumps(json.dumps(secret)), repr(secret), shlex.quote(secret),
    html.escape(secret), "https://user:%s@host/?token=%s" % (urllib.parse.quote(secret, safe=""), secret),
):
    print("line", line)
print("user=app-user of the neighbour", file=sys.stderr)
sys.exit(int(sys.argv[2]))
"""

MANIFEST = """
data:
  # @secret
  password: {secret}
resources:
  - file:
      - {dir}/conf:
          content: "user=app-user\\npassword={{{{ Data.password }}}}\\nlisten=port-80801\\n"
          owner: "{uid}"
          group: "{gid}"
          mode: "0600"
          ensure: present
  - exec:
      - prints: {{command: "{python} {dir}/printer.py {dir}/conf 0", logoutput: true, subscribe: "file#{dir}/conf"}}
      - fails: {{command: "{python} {dir}/printer.py {dir}/conf 3", require: "file#{dir}/conf"}}
      - neighbour: {{command: "/bin/sh -c 'echo listen=port-80801; echo user=app-user is taken >&2; exit 4'", logoutput: true}}
"""


@pytest.fixture
def planted(tmp_path):
    secret = f"{secrets.token_hex(8)}'&<é/+ {secrets.token_hex(4)}"
    (tmp_path / "printer.py").write_text(PRINTER)
    path = tmp_path / "site.yaml"
    text = MANIFEST.format(
        secret=json.dumps(secret), dir=tmp_path, uid=os.getuid(), gid=os.getgid(), python=sys.executable
    )
    path.write_text(text)
    return secret, path


def reactor(*args, **options):
    done = subprocess.run(
        [sys.executable, "-m", "reactor", *map(str, args)], capture_output=True, check=False, **options
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_console_shows_the_neighbours_and_not_the_secret(planted, tmp_path, form):
    secret, path = planted
    (tmp_path / "conf").write_text("user=app-user\npassword=a-former-secret-of-old\nlisten=port-80801\n")
    said = reactor(
        "run", "--converge-once", "--diff", "--format", form, "--state-dir", tmp_path / "state", path
    )
    assert f"password={secret}\n" in (tmp_path / "conf").read_text()
    assert leaks(secret, said) == []
    assert b"a-former-secret-of-old" not in said
    assert b"+password=[secret]" in said
    assert b" user=app-user" in said
    assert b" listen=port-80801" in said
    assert b"user=app-user is taken" in said
    assert said.count(b"line ") > 15
    assert said.count(MASK.encode()) > 15


def test_what_is_on_disk_holds_the_neighbours_and_not_the_secret(planted, tmp_path):
    secret, path = planted
    state = tmp_path / "state"
    reactor("run", "--converge-once", "--diff", "--state-dir", state, path)
    with closing(sqlite3.connect(f"file:{state / 'journal.sqlite'}?mode=ro", uri=True)) as journal:
        dump = "\n".join(journal.iterdump())
    kept = [file.read_bytes() for file in state.rglob("*") if file.is_file()]
    for each in (dump, *kept):
        assert leaks(secret, each) == []
    assert "user=app-user is taken" in dump
    assert all(
        (file.stat().st_mode & 0o077) == 0 for file in (state, *state.rglob("*")) if not file.is_socket()
    )
    for command in (["events"], ["why", "exec#neighbour"], ["why", "exec#fails"]):
        said = reactor(*command, "--state-dir", state)
        assert leaks(secret, said) == []
    assert b"user=app-user is taken" in reactor("why", "exec#neighbour", "--state-dir", state)


def test_what_commands_report_of_the_manifest_holds_no_secret(planted):
    secret, path = planted
    told = [reactor(*command, path) for command in (["render"], ["data"], ["validate"])]
    told += [reactor("graph", "--format", form, path) for form in ("html", "json", "dot", "svg")]
    for each in told:
        assert leaks(secret, each) == []
    assert b"port-80801" in told[0]


def test_the_socket_reports_the_neighbours_and_not_the_secret(planted, tmp_path):
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
            if len(checked) == 4:
                break
        asked = (["status", "--format", "json"], ["why", "exec#neighbour"], ["why", "exec#fails"], ["events"])
        answers = [reactor(*each, "--state-dir", state) for each in asked]
        process.send_signal(signal.SIGTERM)
        lines.append(process.stdout.read())
    for each in (*lines, *answers):
        assert leaks(secret, each) == []
    assert b"user=app-user is taken" in b"".join(answers)


def test_a_bug_shows_neither_the_secret_nor_where_it_was_chained(tmp_path):
    secret = secrets.token_hex(12)
    code = f"""
import sys
sys.argv = ["reactor"]
from reactor.resource.redaction import register_secret
import reactor.cli.group
from pydantic import BaseModel
class Model(BaseModel):
    number: int
register_secret({secret!r})
def broken(**_):
    try:
        Model(number={secret!r})
    except ValueError as error:
        raise RuntimeError("neighbour " + {secret!r}.encode().hex()) from error
reactor.cli.group.reactor = broken
from reactor.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert leaks(secret, done.stderr) == []
    assert b"input_value='[secret]'" in done.stderr
    assert b"RuntimeError: neighbour [secret]" in done.stderr


def test_a_diff_with_a_secret_that_is_too_short_to_be_masked_is_not_shown(tmp_path):
    path = tmp_path / "site.yaml"
    own = f'owner: "{os.getuid()}", group: "{os.getgid()}", mode: "0600", ensure: present'
    path.write_text(
        "data:\n  # @secret\n  pin: q7z\nresources:\n  - file:\n"
        f"      - {tmp_path}/conf: {{content: 'pin={{{{ Data.pin }}}}', {own}}}\n"
    )
    said = reactor("run", "--converge-once", "--diff", "--state-dir", tmp_path / "state", path)
    assert (tmp_path / "conf").read_text() == "pin=q7z"
    assert b"not shown: content of file#" in said
    assert b"q7z" not in said
