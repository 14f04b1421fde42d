"""Secrets from a real Vault: ``PATH=DIRECTORY_OF_VAULT:$PATH pytest tests/secrets/on_vault.py``.

CI speaks with `vault_server`.
"""

import json
import os
import subprocess
import sys
import time

import pytest
from processes_of_cli import environment
from real_vault import BINARY, RealVault

from reactor.secrets.declarations import Source
from reactor.secrets.errors import SecretError
from reactor.secrets.store import RETRY, SecretStore

pytestmark = pytest.mark.skipif(BINARY is None, reason="needs vault")
VALUE = "real-vault-S3cr3t"


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    vault = RealVault(tmp_path_factory.mktemp("vault"))
    vault.start()
    vault.initialize()
    yield vault
    vault.stop()


@pytest.fixture
def vault(server):
    server.write("secret/app/db", password=VALUE, user="shop")
    server.write("old/db", password=VALUE)
    return server


def reader(vault, path="secret/app/db", environ=None, clock=None, **more):
    """A store, and a function that reads a field."""
    store = SecretStore({"VAULT_TOKEN": vault.root} if environ is None else environ, clock or Clock())
    declared = {
        "path": path,
        "field": "password",
        "address": vault.address,
        "ca_file": str(vault.ca_file),
        **more,
    }
    source = Source(vault=declared, every="60s")
    return store, lambda: store.value("db", source, "/", set())


def with_secret_id(tmp_path, vault, name, **properties):
    role, secret_id = vault.role(name, **properties)
    file = tmp_path / f"secret-id-{name}"
    file.write_text(f"{secret_id}\n")
    file.chmod(0o600)
    return {"role_id": role, "secret_id_file": str(file), "environ": {}}


@pytest.mark.parametrize(("path", "version"), [("secret/app/db", 2), ("old/db", 1)])
@pytest.mark.parametrize("is_declared", [True, False])
def test_both_versions_of_the_engine(vault, path, version, is_declared):
    assert reader(vault, path, **({"version": version} if is_declared else {}))[1]() == VALUE


def test_a_mount_with_a_slash_and_a_map_of_all_fields(vault):
    vault.api("POST", "team/kv/data/app", {"data": {"a": "b", "number": 7}})
    assert reader(vault, "team/kv/app", field=None)[1]() == {"a": "b", "number": 7}


@pytest.mark.parametrize(
    ("path", "more", "message"),
    [
        ("secret/app/none", {}, "there is no secret/app/none"),
        ("secret/data/app/db", {}, "there is no secret/data/app/db"),
        ("nowhere/app", {}, "there is no nowhere/app"),
        ("secret", {}, "there is no secret"),
        ("secret/app/db", {"version": 1}, "Invalid path for a versioned"),
        ("old/db", {"version": 2}, "there is no old/db"),
        ("secret/app/db", {"field": "pasword"}, "has no field pasword"),
        ("secret/app/db", {"environ": {"VAULT_TOKEN": "hvs.none"}}, "refuses to show .*invalid token"),
        ("secret/app/db", {"environ": {"VAULT_TOKEN": "x"}, "ca_file": None}, "does not answer: .*certificate"),
    ],
)  # fmt: skip
def test_what_is_not_there_or_not_allowed_is_an_error_that_may_pass(vault, path, more, message):
    with pytest.raises(SecretError, match=message) as found:
        reader(vault, path, **more)[1]()
    assert found.value.may_pass
    assert found.value.hint


@pytest.mark.parametrize("how", ["delete", "destroy"])
def test_a_deleted_version_is_named_as_such(vault, how):
    vault.write(f"secret/{how}d", password="x")
    if how == "delete":
        vault.api("DELETE", "secret/data/deleted")
    else:
        vault.api("POST", "secret/destroy/destroyd", {"versions": [1]})
    with pytest.raises(SecretError, match="is deleted"):
        reader(vault, f"secret/{how}d")[1]()


def test_a_server_that_speaks_tls_is_named_with_https(vault):
    with pytest.raises(SecretError, match="answers 400") as found:
        reader(vault, address=vault.address.replace("https", "http"))[1]()
    assert "https://" in found.value.hint


def test_a_namespace_is_sent(vault):
    """Only Vault Enterprise and OpenBao have namespaces: Vault Community takes no notice of the header."""
    assert reader(vault, namespace="team")[1]() == VALUE


def test_a_login_by_approle_reads_what_its_policy_allows(vault, tmp_path):
    role = with_secret_id(tmp_path, vault, "web")
    assert reader(vault, **role)[1]() == VALUE
    with pytest.raises(SecretError, match="refuses to show old/db"):
        reader(vault, "old/db", **role)[1]()
    with pytest.raises(SecretError, match="400: invalid role or secret ID"):
        reader(vault, **{**role, "role_id": "other"})[1]()


def test_a_secret_id_for_one_use_is_enough_while_the_token_can_be_renewed(vault, tmp_path):
    role = with_secret_id(tmp_path, vault, "once", secret_id_num_uses=1, token_ttl="2s", token_max_ttl="1h")
    clock = Clock()
    store, value = reader(vault, clock=clock, **role)
    assert value() == VALUE
    for number in range(4):  # renewed each time, so it lives for longer than its 2 s
        time.sleep(1.1)
        vault.write("secret/app/db", password=f"{VALUE}-{number}")
        clock.now += 60
        assert store.refresh()
        assert value() == f"{VALUE}-{number}"
    time.sleep(2.5)
    clock.now += 60
    assert not store.refresh()
    known, words = store.states()["db"]
    assert known
    assert "refuses the login by AppRole: it answers 400" in words
    assert "the last value is used" in words


def test_after_a_token_has_ended_another_login_is_made(vault, tmp_path):
    role = with_secret_id(tmp_path, vault, "short", token_ttl="1s", token_max_ttl="1s")
    clock = Clock()
    store, value = reader(vault, clock=clock, **role)
    assert value() == VALUE
    time.sleep(1.5)
    vault.write("secret/app/db", password="after")
    clock.now += 60
    assert store.refresh()
    assert value() == "after"


def test_a_token_with_an_end_and_a_revoked_one_are_refused_and_the_last_value_stays(vault):
    token = vault.api("POST", "auth/token/create", {"policies": ["app"], "ttl": "1h"})["auth"]["client_token"]
    clock = Clock()
    store, value = reader(vault, environ={"VAULT_TOKEN": token}, clock=clock)
    assert value() == VALUE
    vault.api("POST", "auth/token/revoke", {"token": token})
    clock.now += 60
    assert not store.refresh()
    assert value() == VALUE
    assert "refuses to show" in store.states()["db"][1]


def test_a_sealed_and_a_restarted_server_come_back_by_themselves(vault):
    clock = Clock()
    store, value = reader(vault, clock=clock)
    assert value() == VALUE
    vault.api("POST", "sys/seal")
    clock.now += 60
    assert not store.refresh()
    assert "answers 503: Vault is sealed, and the last value is used" in store.states()["db"][1]
    vault.stop()
    clock.now += RETRY
    assert not store.refresh()
    assert "does not answer" in store.states()["db"][1]
    vault.start()
    vault.write("secret/app/db", password="after-the-restart")
    clock.now += RETRY
    assert store.refresh()
    assert value() == "after-the-restart"


def test_a_run_that_stays_follows_a_changed_secret(vault, tmp_path):
    conf, manifest = tmp_path / "conf", tmp_path / "site.yaml"
    token = tmp_path / "token"
    token.write_text(vault.root)
    token.chmod(0o600)
    declared = f"path: secret/app/db, field: password, address: '{vault.address}'"
    manifest.write_text(
        f"secrets:\n  db: {{vault: {{{declared}, ca_file: {vault.ca_file}, token_file: token}}, every: 1s}}\n"
        f"resources:\n  - file:\n      - {conf}:\n          ensure: present\n          owner: {os.geteuid()}\n"
        f"          group: {os.getegid()}\n          mode: '0600'\n          content: '{{{{ Secrets.db }}}}'\n"
    )
    command = [
        sys.executable,
        "-m",
        "reactor",
        "run",
        "--format",
        "json",
        "--state-dir",
        tmp_path / "state",
        manifest,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        until(lambda: conf.exists() and conf.read_text() == VALUE)
        vault.write("secret/app/db", password="changed-S3cr3t")
        until(lambda: conf.read_text() == "changed-S3cr3t")
        process.terminate()
        out = process.stdout.read()
    assert VALUE not in out
    assert "changed-S3cr3t" not in out
    assert [json.loads(line) for line in out.splitlines()]


def until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)
