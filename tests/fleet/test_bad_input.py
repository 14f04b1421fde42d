"""Each bad input of the network gets one line that says what is wrong, where, and how to fix it; the host stays as it is."""

import json
import time

import pytest
import trustme
from nats_accounts import SignedAccounts
from nats_servers import NatsServer
from nats_site import archive, manifest
from ports import free_port


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    """One that asks for a password, one with signed accounts, and one with TLS; with the context of a user for each."""
    root = tmp_path_factory.mktemp("bad")
    authority, accounts = trustme.CA(), SignedAccounts()
    authority.cert_pem.write_to_path(root / "ca.pem")
    issued = authority.issue_cert("localhost")
    issued.private_key_pem.write_to_path(root / "key.pem")
    issued.cert_chain_pems[0].write_to_path(root / "cert.pem")
    (root / "old.creds").write_text(accounts.credentials("web7", expires=int(time.time()) - 60))
    password = "authorization { user: ann, password: right }"
    tls = f'tls {{ cert_file: "{root}/cert.pem", key_file: "{root}/key.pem" }}'
    with (
        NatsServer(root / "a", password, jetstream=False) as asking,
        NatsServer(root / "b", accounts.configuration(), jetstream=False) as signed,
        NatsServer(root / "c", tls, jetstream=False) as encrypted,
    ):
        yield {
            "unreachable": (
                {"url": f"nats://127.0.0.1:{free_port()}"},
                "can't reach the NATS server nats://",
            ),
            "password": (
                {"url": asking.url, "user": "ann", "password": "wrong"},
                f"the NATS server {asking.url} refuses the password of user 'ann'",
            ),
            "expired": (
                {"url": signed.url, "creds": str(root / "old.creds")},
                f"the JWT in {root}/old.creds expired on ",
            ),
            "certificate": (
                {"url": f"tls://127.0.0.1:{encrypted.port}", "ca": str(root / "ca.pem")},
                f"the certificate of the NATS server tls://127.0.0.1:{encrypted.port} is refused: ",
            ),
        }


def connected_with(site, context):
    (site.root / "config/nats/context/CCM.json").write_text(json.dumps(context))


@pytest.mark.parametrize("case", ["unreachable", "password", "expired", "certificate"])
def test_a_server_that_can_not_be_used_is_named_in_one_line(case, site, servers, reactor):
    context, message = servers[case]
    connected_with(site, context)
    options = ("run", "--converge-once", "--cache", site.root / "cache")
    for words in (("--hiera", site.data, site.written("x")), (site.manifest,)):
        said = refused(reactor(*options, *words), message)
        assert "hint: " in said
        assert not (site.root / "out").exists()


@pytest.mark.parametrize("case", ["unreachable", "password", "expired", "certificate"])
def test_a_value_of_such_a_server_blocks_its_resource(case, site, servers, reactor):
    context, message = servers[case]
    connected_with(site, context)
    done = reactor(
        "run", "--converge-once", "--format", "json", site.written(f'${{ kvGet("{site.bucket}", "k") }}')
    )
    assert done.code == 1
    [event] = [event for line in done.out.splitlines() if (event := json.loads(line))["event"] == "blocked"]
    assert f"waits for network: kv://{site.bucket}/k: {message}" in event["detail"]
    assert not (site.root / "out").exists()


def test_what_can_not_be_used_of_a_bucket_is_named_in_one_line(site, reactor):
    def run(*words):
        return reactor("run", "--converge-once", "--cache", site.root / "cache", *words)

    path = site.written("x")
    refused(run("--hiera", "kv://none/k", path), "there is no key-value bucket none at the NATS server")
    refused(run("obj://none/site.tgz"), "there is no object store none at the NATS server")
    site.store(b"no archive")
    refused(run(site.manifest), site.manifest)
    site.put("data: [")
    assert "hint: correct it there" in refused(run("--hiera", site.data, path), f"{site.data} is invalid: ")
    site.store(archive("resources: ["))
    assert f"the file is in {site.manifest}" in refused(run(site.manifest), "manifest.yaml:1:")
    site.store(archive(manifest(site.root, "x").replace("content", "contnet")))
    assert f"the file is in {site.manifest}" in refused(run(site.manifest), "file has no property 'contnet'")
    assert not (site.root / "out").exists()


def refused(done, message):
    """The one error of a command, which is of bad input."""
    assert done.code == 2, (done.out, done.err)
    lines = [line for line in done.err.splitlines() if message in line]
    assert len(lines) == 1, done.err
    assert "Traceback" not in done.err
    return done.err
