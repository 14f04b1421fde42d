"""A secret from each source goes into a file, and commands print it in every encoding: nothing else holds it."""

import base64
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest
from line_pipe import started
from secret_pieces import leaks
from vault_server import Vault, served

RECORDED = Path(__file__).parent / "vectors"
VAULT = "vault-S3cr3t-6b1f0d4c9e"
COMMAND = "cmd-S3cr3t-9c2e7a51d0"
CREDENTIAL = "cred-S3cr3t-51d09c2e7a"
TOKEN = "root-token-of-the-test"
PLANTED = {
    "age": "api-S3cr3t-age-4242",
    "sops": "tok-S3cr3t-json-1234",
    "env": "env-S3cr3t-5678",
    "vault": VAULT,
    "command": COMMAND,
    "credential": CREDENTIAL,
    "sealed": "sealed-S3cr3t-0d1e2f3a4b",
    "plain": "file-S3cr3t-a4b3c2d1e0",
}
PRINTER = """
import base64, json, sys, urllib.parse
for line in open(sys.argv[1]).read().split():
    raw = line.encode()
    print(line, line[::-1], raw.hex(), raw.hex().upper(), raw.hex(":"), raw.hex(" "), base64.b64encode(raw).decode())
    print(base64.b64encode(b"u:" + raw).decode(), json.dumps(line), urllib.parse.quote(line), repr(line))
sys.exit(3)
"""
MANIFEST = """
secrets:
  age: {{age: armored.age, identity: keys.txt}}
  sops: {{sops: db.json, identity: keys.txt}}
  env: {{sops: db.env, identity: keys.txt}}
  vault: {{vault: {{path: secret/app, field: password, address: "{address}"}}}}
  command: {{command: [/bin/sh, -c, "base64 -d {dir}/printed"]}}
  credential: {{credential: db}}
  sealed: {{systemd_creds: sealed}}
  plain: {{file: plain.txt}}
notify:
  page: {{command: [/usr/bin/tee, {dir}/page.json]}}
resources:
  - file:
      - {dir}/conf:
          content: "{{{{ Secrets.age }}}}\\n{{{{ Secrets.sops.token }}}}\\n{{{{ Secrets.env.PASSWORD }}}}\\n{{{{ Secrets.vault }}}}\\n{{{{ Secrets.command }}}}\\n{{{{ Secrets.credential }}}}\\n{{{{ Secrets.sealed }}}}\\n{{{{ Secrets.plain }}}}\\n"
          {own}
          mode: "0600"
          ensure: present
  - exec:
      - prints: {{command: "{python} {dir}/printer.py {dir}/conf", logoutput: true, require: "file#{dir}/conf"}}
      - uses: {{command: /bin/true, environment: ["PASSWORD={{{{ Secrets.vault }}}}"]}}
"""


@pytest.fixture(scope="module")
def vault():
    found = Vault()
    found.secrets["app"] = {"password": VAULT}
    with served(found) as found.address:
        yield found


@pytest.fixture
def site(tmp_path, vault):
    world = tmp_path / "site"
    shutil.copytree(RECORDED, world)
    for each in world.iterdir():
        each.chmod(0o600)
    (world / "db").write_text(CREDENTIAL)
    # By the real program, with its key for initial RAM disks: that needs neither a TPM nor a key on this host.
    seal = ["systemd-creds", "encrypt", "--with-key=auto-initrd", "--name=sealed", "-", world / "sealed"]
    subprocess.run(seal, input=PLANTED["sealed"].encode(), check=True, stderr=subprocess.DEVNULL)
    (world / "plain.txt").write_text(PLANTED["plain"])
    (world / "plain.txt").chmod(0o600)
    (world / "printed").write_text(base64.b64encode(COMMAND.encode()).decode())
    (world / "printer.py").write_text(PRINTER)
    own = f'owner: "{os.getuid()}"\n          group: "{os.getgid()}"'
    text = MANIFEST.format(address=vault.address, dir=world, own=own, python=sys.executable)
    (world / "site.yaml").write_text(text)
    return world


@pytest.fixture
def environment(site):
    return {**os.environ, "VAULT_TOKEN": TOKEN, "CREDENTIALS_DIRECTORY": str(site)}


def reactor(site, environment, *args):
    done = subprocess.run(
        [sys.executable, "-m", "reactor", *map(str, args)],
        capture_output=True, check=False, env=environment, cwd=site,
    )  # fmt: skip
    return done.stdout + done.stderr


def nothing_in(text):
    for name, secret in (*PLANTED.items(), ("token", TOKEN)):
        assert leaks(secret, text) == [], name


def test_a_secret_of_each_source_is_in_its_file_and_nowhere_else(site, environment):
    state = site.parent / "state"
    before = set(site.rglob("*"))
    said = reactor(site, environment, "run", "--converge-once", "--diff", "--state-dir", state, "site.yaml")
    assert (site / "conf").read_text().split() == list(PLANTED.values())
    nothing_in(said)
    assert said.count(b"[secret]") > 20
    assert {path.name for path in site.rglob("*")} - {path.name for path in before} == {"conf", "page.json"}
    nothing_in((site / "page.json").read_text())
    assert json.loads((site / "page.json").read_text())["alerts"][0]["ref"] == "exec#prints"
    with closing(sqlite3.connect(f"file:{state / 'journal.sqlite'}?mode=ro", uri=True)) as journal:
        nothing_in("\n".join(journal.iterdump()))
    for file in state.rglob("*"):
        if file.is_file():
            nothing_in(file.read_bytes())
    for command in (["events"], ["why", "exec#prints"], ["status"]):
        nothing_in(reactor(site, environment, *command, "--state-dir", state))


def test_no_former_content_with_a_secret_is_in_the_backups(site, environment):
    state, conf = site.parent / "state", site / "conf"
    conf.write_text("of the administrator")
    run = ("run", "--converge-once", "--diff", "--state-dir", state, "site.yaml")
    nothing_in(reactor(site, environment, *run))
    for content in ("{}\nmore", *(f"{secret}\n" for secret in PLANTED.values())):
        conf.write_text(content.replace("{}", conf.read_text()))
        said = reactor(site, environment, *run)
        nothing_in(said)
        assert b"no backup of" in said
    conf.write_text("wrong, without a secret")
    reactor(site, environment, *run)
    kept = [file.read_bytes() for file in (state / "backups").rglob("*") if file.is_file()]
    assert b"of the administrator" in kept
    assert b"wrong, without a secret" in kept
    nothing_in(b"\n".join(kept))


def test_commands_that_only_show_the_manifest_read_no_secret(site, environment, vault):
    asked = len(vault.asked)
    for command in (["validate"], ["render"], ["graph", "--format", "json"], ["data"]):
        said = reactor(site, environment, *command, "site.yaml")
        nothing_in(said)
        assert b"error" not in said, said
    assert len(vault.asked) == asked


def processes():
    """The arguments and environments of all processes, as root sees them."""
    for path in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with suppress(OSError):
                yield path.name, name, (path / name).read_bytes()


def test_a_run_that_stays_shows_no_secret_and_follows_what_changes(site, environment, vault):
    state = site.parent / "state"
    text = (site / "site.yaml").read_text()
    text = re.sub(r"(  vault: \{vault: .*\})\}", r"\1, every: 1s}", text)
    (site / "site.yaml").write_text(text)
    command = [
        sys.executable,
        "-m",
        "reactor",
        "run",
        "--format",
        "json",
        "--state-dir",
        str(state),
        "site.yaml",
    ]
    with started(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, cwd=site
    ) as process:
        lines = read_until(process, lambda event: event.get("ref") == "exec#prints")
        for number, name, content in processes():
            if int(number) not in (os.getpid(), process.pid) or name == "cmdline":
                assert not any(secret.encode() in content for secret in PLANTED.values()), (number, name)
        limits = Path(f"/proc/{process.pid}/limits").read_text()
        assert re.search(r"Max core file size\s+0 ", limits)
        nothing_in(reactor(site, environment, "status", "--state-dir", state))
        vault.secrets["app"] = {"password": "another-S3cr3t-vault"}
        try:
            lines += read_until(process, changed(f"file#{site}/conf"))
            assert "another-S3cr3t-vault" in (site / "conf").read_text()
            (site / "db").write_text("another-S3cr3t-credential")
            lines += read_until(process, changed(f"file#{site}/conf"))
            assert "another-S3cr3t-credential" in (site / "conf").read_text()
            vault.sealed = True
            lines += read_until(process, lambda event: "last value is used" in event.get("reason", ""))
            assert "another-S3cr3t-vault" in (site / "conf").read_text()
        finally:
            vault.sealed = False
            vault.secrets["app"] = {"password": VAULT}
        process.send_signal(signal.SIGTERM)
        lines.append(process.stdout.read())
    for each in lines:
        nothing_in(each)
        assert leaks("another-S3cr3t-credential", each) == []


def changed(ref):
    return lambda event: event.get("ref") == ref and event.get("result") == "changed"


def read_until(process, is_last):
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith(b"{") and is_last(json.loads(line)):
            return lines
    raise AssertionError(b"".join(lines).decode())


def test_a_resource_waits_for_a_secret_that_is_not_known_and_the_others_do_not(site, environment, vault):
    vault.sealed = True
    try:
        said = reactor(
            site, environment, "run", "--converge-once", "--state-dir", site.parent / "s", "site.yaml"
        )
    finally:
        vault.sealed = False
    assert b"error[R0134]: waits for the secret vault: Vault at" in said
    assert not (site / "conf").exists()
    assert re.search(rb"exec#uses +failed", said)
    said = reactor(site, environment, "run", "--converge-once", "--state-dir", site.parent / "s", "site.yaml")
    assert (site / "conf").read_text().split() == list(PLANTED.values())
