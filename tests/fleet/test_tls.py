"""TLS at the real server: whom the client trusts, and what it says when it does not."""

import ssl

import pytest
import trio
import trustme
from nats_servers import PATIENCE, NatsServer

from reactor.fleet.link.connection import connected
from reactor.fleet.link.errors import ContextError, TlsError, UnreachableError
from reactor.fleet.link.options import Options, Timing
from reactor.fleet.link.servers import Server
from reactor.fleet.link.tls import explained

CA = trustme.CA()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Paths of the CA, and of a certificate and key for localhost."""
    directory = tmp_path_factory.mktemp("tls")
    CA.cert_pem.write_to_path(directory / "ca.pem")
    trustme.CA().cert_pem.write_to_path(directory / "other.pem")
    for name in ("localhost", "client"):
        issued = CA.issue_cert(name)
        issued.private_key_pem.write_to_path(directory / f"{name}.key")
        issued.cert_chain_pems[0].write_to_path(directory / f"{name}.pem")
    return directory


def configuration(files, more=""):
    return f'tls {{ cert_file: "{files}/localhost.pem", key_file: "{files}/localhost.key", {more} }}'


def on_localhost(server, scheme="tls"):
    return f"{scheme}://localhost:{server.port}"


@pytest.fixture(scope="module")
def server(tmp_path_factory, files):
    with NatsServer(tmp_path_factory.mktemp("s"), configuration(files), jetstream=False) as running:
        yield running


async def try_to_connect(url, **options):
    async with connected(Options(servers=(url,), **options), seconds=PATIENCE) as link:
        await link.publish("x", b"y" * 200_000)
        await link.flush()


async def refusal(url, sort=TlsError, **options):
    with pytest.raises(sort) as caught:
        await try_to_connect(url, **options)
    return f"{caught.value} | {caught.value.hint}".replace(url, "URL")


@pytest.mark.parametrize("scheme", ["tls", "nats"])
async def test_a_trusted_certificate_is_accepted(server, files, scheme):
    await try_to_connect(on_localhost(server, scheme), ca=f"{files}/ca.pem")


async def test_a_certificate_of_another_name_is_told_in_one_line(server, files):
    assert await refusal(f"tls://127.0.0.1:{server.port}", ca=f"{files}/ca.pem") == (
        "the certificate of the NATS server URL is refused: IP address mismatch, certificate is not valid for '127.0.0.1'"
        " | check `url`: it must have the address that the certificate has"
    )


async def test_a_certificate_of_an_unknown_authority_is_refused(server, files):
    host = {"ca": f"{files}/other.pem", "origin": "/etc/reactor/fleet.yaml"}
    operator = {**host, "authority": "reactor fleet init --ca FILE"}
    usual = "name the CA of the server as `ca` in"
    for options, hint in (
        ({}, f"{usual} the context"),
        (host, f"{usual} /etc/reactor/fleet.yaml"),
        (operator, "reactor fleet init --ca FILE"),
    ):
        text = await refusal(on_localhost(server), **options)
        assert text.startswith(
            "the certificate of the NATS server URL is refused: unable to get local issuer certificate"
        )
        assert text.endswith(f" | {hint}")


@pytest.mark.parametrize(("discovered", "hint"), [(True, "`client_advertise`"), (False, "check `url`")])
def test_the_address_that_a_server_announces_is_not_what_to_check_at_the_url(discovered, hint):
    refused = ssl.SSLCertVerificationError("refused")
    refused.verify_code, refused.verify_message = 62, "Hostname mismatch"
    found = explained(refused, Server("10.0.0.2", 4222, discovered=discovered), Options(servers=("nats1",)))
    assert hint in found.hint


async def test_a_server_that_asks_for_a_client_certificate_gets_it(tmp_path, files):
    asked = configuration(files, f'verify: true, ca_file: "{files}/ca.pem"')
    with NatsServer(tmp_path, asked, jetstream=False) as running:
        url = on_localhost(running)
        own = {"certificate": f"{files}/client.pem", "key": f"{files}/client.key"}
        await try_to_connect(url, ca=f"{files}/ca.pem", **own)
        assert "client certificate" in await refusal(url, ca=f"{files}/ca.pem")


async def test_a_server_that_begins_with_tls_is_reached_with_tls_first(tmp_path, files):
    first = configuration(files, "handshake_first: true")
    with NatsServer(tmp_path, first, jetstream=False) as running:
        await try_to_connect(on_localhost(running), ca=f"{files}/ca.pem", tls_first=True)
        with pytest.raises(UnreachableError) as caught:
            async with connected(Options(servers=(on_localhost(running),)), timing=Timing(handshake=0.2)):
                pass
        assert caught.value.hint.endswith("a server with `handshake_first` needs `tls_first` in the context")


async def test_tls_first_at_a_server_that_speaks_first(server, files):
    text = await refusal(on_localhost(server), ca=f"{files}/ca.pem", tls_first=True)
    assert "`tls_first` needs `handshake_first`" in text


async def test_nothing_is_said_to_a_server_without_tls_that_should_have_it(tmp_path, files):
    with NatsServer(
        tmp_path, 'trace: true\nauthorization { user: u, password: "sesame" }', jetstream=False
    ) as running:
        for url, options in (
            (on_localhost(running), {}),
            (on_localhost(running, "nats"), {"ca": f"{files}/ca.pem"}),
        ):
            text = await refusal(url, user="u", password="sesame", **options)
            assert text.startswith("the NATS server URL does not use TLS | ")
        assert "CONNECT" not in (tmp_path / "log").read_text()


async def test_files_of_tls_that_cannot_be_used_are_named(server, files, tmp_path):
    url = on_localhost(server)
    assert "the CA /no/ca.pem can't be used: no such file" in await refusal(
        url, ContextError, ca="/no/ca.pem"
    )
    (tmp_path / "bad.pem").write_text("no certificate")
    assert "bad.pem can't be used" in await refusal(url, ContextError, ca=f"{tmp_path}/bad.pem")
    own = {"certificate": f"{files}/client.pem", "key": f"{files}/localhost.key"}
    assert "key values mismatch" in await refusal(url, ContextError, ca=f"{files}/ca.pem", **own)


async def test_a_connection_trusts_an_authority_that_was_added_to_its_file_meanwhile(tmp_path):
    """So the authority of the servers can be changed while hosts run: first the file, then the certificates."""
    old, new = trustme.CA(), trustme.CA()
    trusted = tmp_path / "ca.pem"

    def certify(authority):
        issued = authority.issue_cert("localhost")
        issued.private_key_pem.write_to_path(tmp_path / "localhost.key")
        issued.cert_chain_pems[0].write_to_path(tmp_path / "localhost.pem")

    certify(old)
    old.cert_pem.write_to_path(trusted)
    with NatsServer(tmp_path / "server", configuration(tmp_path), jetstream=False) as running:
        options = Options(servers=(on_localhost(running),), ca=str(trusted))
        async with connected(options, seconds=PATIENCE) as link:
            new.cert_pem.write_to_path(trusted, append=True)
            certify(new)
            running.kill()
            running.start()
            with trio.fail_after(PATIENCE):
                while link.epoch == 1 or not link.up:  # noqa: ASYNC110 - another program changes it
                    await trio.sleep(0.01)
            await link.flush()
