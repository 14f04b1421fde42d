"""Keys and certificates: made, renewed and replaced as one pair, by our own authority and by an ACME server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import one_shot
import pytest
from acme_server import AcmeServer, serving

from reactor.engine.events import Result
from reactor.engine.options import RunOptions
from reactor.resource.backup_store import state_directory_for
from reactor.resources.certificate import Certificate
from reactor.testing.contract import CONTRACT, Case
from reactor.testing.story import converge_once, running

HOST = "app.example.com"


@pytest.fixture
def pair(tmp_path):
    return tmp_path / "app"


@pytest.fixture
def converge(tmp_path, pair):
    async def converge(*, noop=False, **properties):
        resource = Certificate(**{"name": str(pair), "names": [HOST], **properties})
        with state_directory_for(str(tmp_path / "state")):
            return await one_shot.converged(resource, noop=noop)

    return converge


@pytest.fixture
def must_change(converge, tmp_path):
    return partial(one_shot.must_change, converge, seen=partial(snapshot, tmp_path))


def snapshot(root):
    return {
        str(path): (os.lstat(path).st_ino, os.lstat(path).st_mtime_ns)
        for path in root.rglob("*")
        if "state" not in str(path)
    }


def openssl(*words, data=None):
    done = subprocess.run(["openssl", *words], capture_output=True, text=True, check=False, input=data)
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"


def fits(pair):
    """Whether the certificate is for the key, as openssl says."""
    public = openssl("x509", "-in", str(pair / "cert.pem"), "-noout", "-pubkey")
    return public == openssl("pkey", "-in", str(pair / "key.pem"), "-pubout")


def shown(pair, *what):
    return openssl("x509", "-in", str(pair / "cert.pem"), "-noout", *what)


@pytest.mark.parametrize(
    ("kind", "size", "words"),
    [
        ("ec", None, "ASN1 OID: prime256v1"),
        ("ec", 384, "secp384r1"),
        ("rsa", None, "2048 bit"),
        ("ed25519", None, "ED25519"),
    ],
)
async def test_a_self_signed_pair_is_made(must_change, pair, kind, size, words):
    did = await must_change(names=[HOST, "10.1.2.3"], key_type=kind, key_size=size)
    assert did == "issued a key and a certificate, as there is none"
    assert fits(pair)
    assert words in openssl("pkey", "-in", str(pair / "key.pem"), "-text", "-noout")
    assert "DNS:app.example.com, IP Address:10.1.2.3" in shown(pair, "-ext", "subjectAltName")
    assert "TLS Web Server Authentication" in shown(pair, "-ext", "extendedKeyUsage")
    assert openssl("verify", "-CAfile", str(pair / "cert.pem"), str(pair / "cert.pem")).endswith("OK\n")
    assert (pair / "key.pem").stat().st_mode & 0o777 == 0o600
    assert (pair / "cert.pem").stat().st_mode & 0o777 == 0o644
    assert (pair / "combined.pem").read_bytes() == (pair / "key.pem").read_bytes() + (
        pair / "fullchain.pem"
    ).read_bytes()


async def test_an_authority_signs(must_change, converge, pair, tmp_path):
    await must_change(name=str(tmp_path / "ca"), names=[], authority=True, common_name="Our CA")
    ca = {"ca_certificate": str(tmp_path / "ca/cert.pem"), "ca_key": str(tmp_path / "ca/key.pem")}
    await must_change(usages=["client_auth"], **ca)
    assert openssl("verify", "-CAfile", ca["ca_certificate"], str(pair / "cert.pem")).endswith("OK\n")
    assert "issuer=CN = Our CA" in shown(pair, "-issuer")
    assert (pair / "chain.pem").read_text() == ""
    await must_change(name=str(tmp_path / "between"), names=[], authority=True, common_name="Between", **ca)
    below = {
        "ca_certificate": str(tmp_path / "between/fullchain.pem"),
        "ca_key": str(tmp_path / "between/key.pem"),
    }
    assert "another authority has signed it" in await must_change(usages=["client_auth"], **below)
    assert (pair / "chain.pem").read_bytes() == (tmp_path / "between/cert.pem").read_bytes()
    wrong = {"ca_certificate": ca["ca_certificate"], "ca_key": below["ca_key"]}
    for noop in (True, False):
        result, words = await converge(noop=noop, **wrong)
        assert (result, "is not the key of" in words) == (Result.FAILED, True), words
    assert fits(pair)
    result, words = await converge(
        noop=True,
        ca_certificate=str(pair / "cert.pem"),
        ca_key=str(pair / "key.pem"),
        name=str(tmp_path / "x"),
    )
    assert (result, "may not sign others" in words) == (Result.FAILED, True)


async def test_only_a_request_is_made(must_change, pair):
    assert await must_change(only_request=True) == "made a key and a request, as there is none"
    assert (
        "verify OK"
        in subprocess.run(
            ["openssl", "req", "-in", pair / "request.pem", "-noout", "-verify"],
            capture_output=True,
            text=True,
            check=False,
        ).stderr
    )
    assert sorted(os.listdir(pair)) == sorted(
        ["current", "key.pem", "request.pem", os.readlink(pair / "current")]
    )
    await must_change()
    assert not (pair / "request.pem").is_symlink()


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"names": [HOST, "www.example.com"]}, "as its names are app.example.com"),
        ({"common_name": "other"}, "as its subject is CN=app.example.com"),
        ({"usages": ["client_auth"]}, "as its usages differ"),
        ({"key_type": "ed25519"}, "as its key is ec of 256 bits"),
        ({"authority": True, "common_name": HOST}, "as it is not a certificate authority"),
    ],
)  # fmt: skip
async def test_what_is_declared_otherwise_is_issued_again(converge, must_change, pair, properties, words):
    await converge()
    first = (pair / "key.pem").read_bytes()
    assert words in await must_change(**properties)
    assert fits(pair)
    assert (pair / "key.pem").read_bytes() != first
    assert len([name for name in os.listdir(pair) if name.startswith("pair-")]) == 1


async def test_a_renewal_keeps_the_key_if_it_is_asked_to(converge, must_change, pair):
    await converge()
    first = (pair / "key.pem").read_bytes()
    await must_change(keep_key=True, names=["www.example.com"])
    assert (pair / "key.pem").read_bytes() == first
    assert fits(pair)


@pytest.mark.parametrize(
    "spoilt", ["key", "certificate", "chain", "link", "mode", "current", "other key", "combined", "left"]
)
async def test_what_others_spoil_is_repaired(converge, must_change, pair, spoilt, tmp_path):
    await converge()
    now = pair / "current"
    match spoilt:
        case "key":
            (now / "key.pem").write_text("spoilt")
        case "certificate":
            (now / "cert.pem").write_bytes((now / "cert.pem").read_bytes()[:-200])
        case "chain":
            (now / "chain.pem").unlink()
        case "combined":
            (now / "combined.pem").write_text("x")
        case "link":
            (pair / "key.pem").unlink()
            (pair / "key.pem").write_text("mine")
        case "mode":
            (now / "key.pem").chmod(0o644)
        case "current":
            now.unlink()
        case "other key":
            await converge(name=str(tmp_path / "other"))
            (now / "key.pem").write_bytes((tmp_path / "other/key.pem").read_bytes())
        case "left":
            (pair / "pair-0123456789abcdef").mkdir()
    await must_change()
    assert fits(pair)
    assert (pair / "key.pem").stat().st_mode & 0o777 == 0o600


async def test_it_is_removed(converge, must_change, pair):
    await converge()
    assert await must_change(ensure="absent") == "removed the key and the certificate"
    assert not pair.exists()


@pytest.mark.parametrize("other", ["a directory", "a file"])
async def test_what_is_not_ours_is_left_alone(converge, pair, other):
    if other == "a file":
        pair.write_text("mine")
    else:
        pair.mkdir()
        (pair / "mine").write_text("mine")
    for properties in ({}, {"ensure": "absent"}):
        for noop in (True, False):
            assert (await converge(noop=noop, **properties))[0] is Result.FAILED
    assert (pair if other == "a file" else pair / "mine").read_text() == "mine"


async def test_it_is_renewed_when_its_time_has_come(pair):
    resource = Certificate(name=str(pair), names=[HOST], valid_for="3s", renew_before="2s")
    async with running(resource) as story:
        await story.rest()
        first = os.readlink(pair / "current")
        await story.until(lambda: os.readlink(pair / "current") != first)
        await story.rest()
    assert fits(pair)
    assert "as it expires at" in str([check.actions for check in story.checks(resource.ref)])


LOOP = """
import sys, trio
from reactor.resources.certificate import Certificate
from reactor.testing.story import converge_once

async def main():
    while True:
        for name in ("a.example.com", "b.example.com"):
            await converge_once(Certificate(name=sys.argv[1], names=[name], keep_key=False))
            print(flush=True)

trio.run(main)
"""


async def test_a_certificate_from_the_future_is_a_failure_until_its_time_has_come(
    pair, converge, monkeypatch
):
    """The clock was wrong when it was issued. It is not replaced: the clock may be wrong now."""
    await converge()
    before = snapshot(pair)
    with monkeypatch.context() as clock:
        clock.setattr(
            "reactor.resources.certificate.kind.time", SimpleNamespace(time=lambda: time.time() - 3600)
        )
        for noop in (True, False):
            result, words = await converge(noop=noop)
            assert result is Result.FAILED
            assert words.startswith("the certificate is not valid before 20")
    assert await converge() == (Result.OK, "")
    assert snapshot(pair) == before


async def test_the_pair_fits_at_every_instant(pair, converge):
    """A stopped process is as one that was killed at that instant."""
    command = [sys.executable, "-c", LOOP, str(pair)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: ASYNC220 - it is stopped and read at set instants
        process.stdout.readline()
        for delay in range(15):
            process.stdout.readline()
            threading.Event().wait(delay / 4000)  # nothing can tell of such an instant
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # noqa: ASYNC222 - as above
            key, both = (pair / "key.pem").read_bytes(), (pair / "combined.pem").read_bytes()
            assert both.startswith(key)
            assert fits(pair)
            for path in pair.glob("pair-*/*"):
                assert b"PRIVATE KEY" not in path.read_bytes() or path.stat().st_mode & 0o077 == 0
            process.send_signal(signal.SIGCONT)
        process.kill()
    assert (await converge())[0] is Result.CHANGED
    assert fits(pair)
    assert len(os.listdir(pair)) == 7


@pytest.fixture(scope="module")
def webroot(tmp_path_factory):
    root = tmp_path_factory.mktemp("webroot")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(root)))
    with serving(server):
        yield root, server.server_port


@pytest.fixture(scope="module")
def acme(webroot, tmp_path_factory):
    server = AcmeServer(tmp_path_factory.mktemp("acme") / "ca.pem", webroot[1])
    server.trusted = str(tmp_path_factory.getbasetemp() / "acme-ca.pem")
    server.authority.cert_pem.write_to_path(server.trusted)
    with serving(server.server):
        yield server


async def test_an_acme_server_signs_what_the_webroot_proves(must_change, acme, webroot, pair, tmp_path):
    server = {"acme": acme.directory, "acme_trust": acme.trusted, "webroot": str(webroot[0])}
    issued = acme.issued
    assert (
        await must_change(**server, contacts=["ada@example.com"])
        == "issued a key and a certificate, as there is none"
    )
    assert acme.issued == issued + 1
    assert fits(pair)
    assert openssl("verify", "-CAfile", acme.trusted, str(pair / "cert.pem")).endswith("OK\n")
    assert not [path for path in webroot[0].rglob("*") if path.is_file()]
    accounts = list((tmp_path / "state/acme").iterdir())
    assert [path.stat().st_mode & 0o777 for path in accounts] == [0o600]
    assert "its names are" in await must_change(**server, names=[HOST, "www.example.com"])
    assert list((tmp_path / "state/acme").iterdir()) == accounts
    assert "as its subject is empty" in await must_change(names=[HOST, "www.example.com"])


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file away")
@pytest.mark.parametrize("noop", [False, True])
async def test_another_user_does_not_choose_the_acme_server_that_is_trusted(converge, acme, tmp_path, noop):
    theirs = tmp_path / "ca.pem"
    shutil.copy(acme.trusted, theirs)
    os.chown(theirs, 12345, 12345)
    issued = acme.issued
    result, words = await converge(acme=acme.directory, acme_trust=str(theirs), dns_command="true", noop=noop)
    assert (result, "another user can change which ACME server is trusted" in words) == (Result.FAILED, True)
    assert acme.issued == issued


async def test_an_acme_server_signs_what_a_command_proves(must_change, acme, pair, tmp_path):
    log = tmp_path / "log"
    acme.records = Records(log)
    command = f"sh -c 'echo \"$ACTION $RECORD $VALUE\" >>{log}'"
    await must_change(
        acme=acme.directory, acme_trust=acme.trusted, dns_command=command, names=["*.example.com"]
    )
    assert "DNS:*.example.com" in shown(pair, "-ext", "subjectAltName")
    words = [line.split()[:2] for line in log.read_text().splitlines()]
    assert words == [["add", "_acme-challenge.example.com"], ["remove", "_acme-challenge.example.com"]]


class Records:
    """The TXT records that the command has set."""

    def __init__(self, log):
        self.log = log

    def get(self, name):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return next((line.split()[2] for line in reversed(lines) if line.startswith(f"add {name} ")), None)


async def test_a_name_that_is_not_proved_gets_no_certificate(converge, acme, pair, tmp_path):
    acme.records = {}
    other = tmp_path / "other"
    other.mkdir()
    server = {"acme": acme.directory, "acme_trust": acme.trusted}
    await converge()
    before = snapshot(pair)
    result, words = await converge(**server, webroot=str(other))
    assert (result, f"could not verify {HOST}: nothing answers for {HOST}" in words) == (
        Result.FAILED,
        True,
    ), words
    assert snapshot(pair) == before
    assert not [path for path in other.rglob("*") if path.is_file()]
    result, words = await converge(noop=True, acme="https://127.0.0.1:9/directory", webroot=str(other))
    assert (result, "can't be asked" in words) == (Result.FAILED, True), words
    result, words = await converge(noop=True, **server, webroot=str(tmp_path / "missing"))
    assert result is Result.FAILED
    result, words = await converge(noop=True, **server, dns_command="/no/such/program")
    assert result is Result.FAILED


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"names": []}, "names is missing"),
        ({"names": [HOST, HOST]}, "listed twice"),
        ({"names": ["bücher.example"]}, "ASCII form"),
        ({"names": ["a b"]}, "is not the name"),
        ({"mode": "0644"}, "all users may use the private key"),
        ({"key_size": 1024}, "has no 1024 bits"),
        ({"ca_key": "/x"}, "requires ca_certificate"),
        ({"webroot": "/x"}, "only valid with acme"),
        ({"acme": "letsencrypt"}, "requires webroot or dns_command"),
        ({"acme": "http://x/", "webroot": "/x"}, "write letsencrypt"),
        (
            {"acme": "letsencrypt", "webroot": "/x", "names": ["*.example.com"]},
            "can't be proved by a webroot",
        ),
        ({"acme": "letsencrypt", "webroot": "/x", "only_request": True}, "mutually exclusive"),
        ({"authority": True, "names": []}, "common_name is missing"),
    ],
)
def test_what_makes_no_sense_is_found_at_load(properties, words):
    with pytest.raises(ValueError, match=words):
        Certificate(**{"name": "/x", "names": [HOST], **properties})


@pytest.mark.skipif(os.geteuid() != 0, reason="acts as another user")
@pytest.mark.parametrize("spoilt", ["owner", "writable", "way", "link"])
async def test_no_key_is_written_where_another_user_can_read_or_replace_it(spoilt):
    with tempfile.TemporaryDirectory(prefix="certificate-") as root:
        os.chmod(root, 0o755)
        home = Path(root) / "home"
        home.mkdir()
        resource = Certificate(name=str(home / "app"), names=[HOST])
        if spoilt != "link":
            await converge_once(resource)
        match spoilt:
            case "owner":
                os.chown(home / "app", 65534, 65534)
            case "writable":
                (home / "app").chmod(0o777)
            case "way":
                os.chown(home, 65534, 65534)
            case "link":
                (home / "elsewhere").mkdir()
                (home / "app").symlink_to(home / "elsewhere")
                os.chown(home, 65534, 65534)
        for noop in (True, False):
            resource = Certificate(name=str(home / "app"), names=[HOST, "new.example.com"])
            _, story = await converge_once(resource, options=RunOptions(noop=noop))
            assert story.result(resource.ref) is Result.FAILED
        assert not (home / "elsewhere").exists() or not os.listdir(home / "elsewhere")


@pytest.mark.parametrize("promise", CONTRACT)
async def test_the_certificate_kind_keeps_the_contract(promise, tmp_path):
    pair = tmp_path / "app"

    def make():
        return Certificate(name=str(pair), names=[HOST])

    def world():
        return pair.exists() and (
            fits(pair),
            sorted(name for name in os.listdir(pair) if name.endswith(".pem")),
        )

    await promise(Case(make, world, lambda: (pair / "current/key.pem").write_text("spoilt")))
