"""Commands and Vault are asked at an interval, and their last value stays in memory while they do not answer."""

import os
import ssl

import pytest
import trustme
from vault_server import Vault, served

from reactor.secrets.declarations import Source
from reactor.secrets.declarations import Vault as VaultSource
from reactor.secrets.errors import SecretError
from reactor.secrets.store import RETRY, SecretStore
from reactor.secrets.vault import VaultClient
from reactor.secrets.vault_login import VaultLogin

VALUE = "vault-S3cr3t-of-the-test"


@pytest.fixture(scope="module")
def server():
    vault = Vault()
    with served(vault) as address:
        yield vault, address


@pytest.fixture
def vault(server):
    found, address = server
    found.__init__()
    found.secrets["app/db"] = {"password": VALUE, "user": "shop"}
    found.address = address
    return found


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def of_vault(vault, environ=None, **more):
    clock = Clock()
    store = SecretStore({"VAULT_TOKEN": "root-token-of-the-test"} if environ is None else environ, clock)
    declared = {"path": "secret/app/db", "field": "password", "address": vault.address, **more}
    source = Source(vault=declared, every="60s")
    return store, clock, lambda: store.value("db", source, "/", set())


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("is_declared", [True, False])
def test_a_field_is_read_from_both_versions_of_the_engine(vault, version, is_declared):
    vault.version = version
    _, _, value = of_vault(vault, **({"version": version} if is_declared else {}))
    assert value() == VALUE


def test_without_a_field_the_secret_is_a_map(vault):
    _, _, value = of_vault(vault, field=None)
    assert value() == {"password": VALUE, "user": "shop"}


def test_a_login_by_approle_is_made_once_and_again_when_its_token_has_expired(vault, tmp_path):
    file = tmp_path / "secret-id"
    file.write_text("secret-id-of-the-role\n")
    file.chmod(0o600)
    store, clock, value = of_vault(vault, {}, role_id="web", secret_id_file=str(file))
    assert value() == VALUE
    clock.now += 60
    assert not store.refresh()
    assert vault.logins == 1
    vault.tokens.clear()
    vault.secrets["app/db"]["password"] = "another-S3cr3t"
    clock.now += 60
    assert store.refresh()
    assert (vault.logins, value()) == (2, "another-S3cr3t")


@pytest.fixture
def by_role(vault, tmp_path):
    """Reads a secret with a login by AppRole."""
    file = tmp_path / "secret-id"
    file.write_text("secret-id-of-the-role\n")
    file.chmod(0o600)
    return {"role_id": "web", "secret_id_file": str(file)}


def test_the_token_of_a_login_is_renewed_in_the_middle_of_its_lease(vault):
    clock = Clock()
    declared = VaultSource(path="secret/app/db", address=vault.address, role_id="web")
    logins = {(vault.address, None, "approle", "web", None): VaultLogin(clock)}
    client = VaultClient(declared, {"VAULT_SECRET_ID": "secret-id-of-the-role"}, 5, logins)
    for now, renewals in ((0, 0), (29, 0), (30, 1), (59, 1), (61, 2), (130, 3)):
        clock.now = now
        assert client.read()["password"] == VALUE
        assert vault.renewals == renewals
    assert vault.logins == 1


def test_what_the_policy_forbids_makes_no_further_login(vault, by_role):
    vault.forbidden.add("app/db")
    store, clock, value = of_vault(vault, {}, **by_role)
    for _ in range(3):
        with pytest.raises(SecretError, match="refuses to show"):
            value()
        clock.now += RETRY
        store.refresh()
    assert vault.logins == 1


def test_two_secrets_of_one_role_log_in_once(vault, by_role):
    vault.secrets["app/mail"] = {"password": "mail-S3cr3t"}
    store, _, value = of_vault(vault, {}, **by_role)
    assert value() == VALUE
    declared = {"path": "secret/app/mail", "field": "password", "address": vault.address, **by_role}
    assert store.value("mail", Source(vault=declared), "/", set()) == "mail-S3cr3t"
    assert vault.logins == 1


def test_a_login_that_is_refused_says_why(vault, by_role):
    _, _, value = of_vault(vault, {}, **{**by_role, "role_id": "other"})
    with pytest.raises(
        SecretError, match="refuses the login by AppRole: it answers 400: invalid role or secret ID"
    ):
        value()


def test_the_last_value_stays_while_vault_does_not_answer(vault):
    store, clock, value = of_vault(vault)
    assert value() == VALUE
    vault.sealed = True
    clock.now += 60
    assert not store.refresh()
    assert value() == VALUE
    (known, words) = store.states()["db"]
    assert known
    assert "answers 503: Vault is sealed, and the last value is used" in words
    assert store.seconds_left() == RETRY
    vault.sealed = False
    vault.secrets["app/db"]["password"] = "another-S3cr3t"
    clock.now += RETRY
    assert store.refresh()
    assert value() == "another-S3cr3t"
    assert "value" not in store.states()["db"][1]


def test_between_two_intervals_vault_is_not_asked(vault):
    _, clock, value = of_vault(vault)
    value()
    before = len(vault.asked)
    clock.now += 59
    value()
    assert len(vault.asked) == before


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        (lambda vault: vault.tokens.clear(), {}, "refuses to show"),
        (lambda vault: vault.secrets.clear(), {}, "there is no secret/app/db"),
        (lambda _: None, {"field": "pasword"}, "has no field pasword"),
        (lambda vault: setattr(vault, "sealed", True), {}, "answers 503: Vault is sealed"),
        (
            lambda vault: vault.secrets.update({"app/db": None}),
            {},
            "the last version of secret/app/db .* is deleted",
        ),
        (
            lambda vault: vault.forbidden.add("app/db"),
            {},
            "refuses to show .*: 1 error occurred: .* permission denied",
        ),
        (lambda _: None, {"path": "nowhere/x"}, "there is no nowhere/x .*: no handler for route"),
        (lambda _: None, {"version": 1}, "there is no secret/app/db .*: Invalid path for a versioned"),
        (lambda vault: setattr(vault, "redirect", "file:///etc/passwd"), {}, "answers 307"),
    ],
)
def test_an_answer_without_the_secret_is_an_error_that_may_pass(vault, change, more, message):
    change(vault)
    _, _, value = of_vault(vault, **more)
    with pytest.raises(SecretError, match=message) as found:
        value()
    assert found.value.may_pass
    assert found.value.code == "R0134"


def test_without_a_server_the_secret_is_not_known(vault):
    store, _, value = of_vault(vault, address="http://127.0.0.1:1")
    with pytest.raises(SecretError, match="does not answer"):
        value()
    assert not store.states()["db"][0]


def test_a_token_that_every_user_can_read_is_refused(vault, tmp_path):
    token = tmp_path / "token"
    token.write_text("root-token-of-the-test")
    token.chmod(0o644)
    _, _, value = of_vault(vault, {}, token_file=str(token))
    with pytest.raises(SecretError, match="can be read by every user"):
        value()
    token.chmod(0o600)
    _, _, value = of_vault(vault, {}, token_file=str(token))
    assert value() == VALUE


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def with_certificate(vault, authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with served(vault, context) as address:
        vault.address = address
        yield vault


@pytest.mark.parametrize("by_variable", [True, False])
def test_a_server_with_a_certificate_of_its_own_authority_is_trusted_by_its_file(
    with_certificate, authority, tmp_path, by_variable
):
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    environ = {"VAULT_TOKEN": "root-token-of-the-test"} | ({"VAULT_CACERT": str(file)} if by_variable else {})
    _, _, value = of_vault(with_certificate, environ, **({} if by_variable else {"ca_file": str(file)}))
    assert value() == VALUE


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not answer: .*certificate"),
        (trustme.CA().cert_pem.bytes(), "does not answer: .*certificate"),
        (b"no certificate", "can't be asked"),
    ],
)
def test_a_server_whose_certificate_is_of_another_authority_gets_no_token(
    with_certificate, tmp_path, content, message
):
    (tmp_path / "ca.pem").write_bytes(content or b"")
    more = {} if content is None else {"ca_file": str(tmp_path / "ca.pem")}
    with pytest.raises(SecretError, match=message) as found:
        of_vault(with_certificate, **more)[2]()
    assert "ca_file" in found.value.hint
    assert not with_certificate.asked


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away")
@pytest.mark.parametrize("by_variable", [True, False])
def test_another_user_does_not_choose_the_server_that_gets_the_token(
    with_certificate, authority, tmp_path, by_variable
):
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(file)
    os.chown(file, 12345, 12345)
    environ = {"VAULT_TOKEN": "root-token-of-the-test"} | ({"VAULT_CACERT": str(file)} if by_variable else {})
    _, _, value = of_vault(with_certificate, environ, **({} if by_variable else {"ca_file": str(file)}))
    with pytest.raises(SecretError, match=r"ca_file can't be trusted: .* belongs to 12345"):
        value()
    assert not with_certificate.asked


def of_command(*command, **more):
    store = SecretStore(
        {"SOPS_AGE_KEY": "AGE-SECRET-KEY-1ABC", "VAULT_TOKEN": "a-token", "HOME": "/"}, Clock()
    )
    return lambda: store.value("name", Source(command=command, **more), "/", set())


def test_a_command_prints_the_secret_and_its_last_newline_is_removed():
    assert of_command("/bin/echo", "cmd-S3cr3t")() == "cmd-S3cr3t"
    assert of_command("/bin/echo", "cmd-S3cr3t", trim=False)() == "cmd-S3cr3t\n"


def test_a_command_gets_none_of_our_secrets():
    found = of_command("/usr/bin/env")().splitlines()
    assert {each.partition("=")[0] for each in found} == {"HOME", "LANG", "PATH"}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("/bin/sh", "-c", "echo S3cr3t; echo S3cr3t >&2; exit 3"), "failed with exit code 3"),
        (("/bin/missing",), "can't be started: No such file"),
        (("/bin/sh", "-c", "sleep 60 & exec sleep 60"), "took more than 0.2 s"),
        (("/usr/bin/yes",), "prints more than 4 MiB"),
        (("/usr/bin/printf", r"\377"), "is not UTF-8 text"),
    ],
)
def test_a_command_that_gives_no_secret_says_why_and_quotes_nothing(command, message):
    with pytest.raises(SecretError, match=message) as found:
        of_command(*command, **({"timeout": "200ms"} if "sleep" in str(command) else {}))()
    assert "S3cr3t" not in found.value.message
