"""Contexts of the `nats` CLI."""

import json

import pytest

from reactor.fleet.link.context import read_context, selected_context
from reactor.fleet.link.errors import ContextError
from reactor.fleet.link.options import Options
from reactor.fleet.link.servers import Pool, parse_server


@pytest.fixture
def contexts(tmp_path):
    (tmp_path / "nats/context").mkdir(parents=True)
    environment = {"XDG_CONFIG_HOME": str(tmp_path), "HOME": "/home/ann", "KEYS": "/keys"}

    def write(name, **values):
        (tmp_path / f"nats/context/{name}.json").write_text(json.dumps(values))
        return environment

    return write


def test_every_key_is_read(contexts, tmp_path):
    environment = contexts(
        "CCM",
        description="d",
        url="nats://one, two:4333",
        user="u",
        password="p",
        token="t",
        creds="~/a.creds",
        nkey="file://$KEYS/a.nk",
        cert="${KEYS}/c.pem",
        key="/c.key",
        ca="$UNSET/ca.pem",
        tls_first=True,
        inbox_prefix="_INBOX_web7",
        user_jwt="a.b.c",
        user_seed="SU",
        jetstream_domain="hub",
        nsc="",
        socks_proxy="",
        color_scheme="x",
    )
    assert read_context("CCM", environment=environment) == Options(
        servers=("nats://one", "two:4333"),
        name="reactor CCM",
        user="u",
        password="p",
        token="t",
        credentials="/home/ann/a.creds",
        nkey="/keys/a.nk",
        certificate="/keys/c.pem",
        key="/c.key",
        ca="/ca.pem",
        tls_first=True,
        inbox_prefix="_INBOX_web7",
        jwt="a.b.c",
        seed="SU",
        api_prefix="$JS.hub.API",
        origin=f"{tmp_path}/nats/context/CCM.json",
    )


def test_what_is_not_given_has_the_values_of_the_cli(contexts):
    options = read_context("CCM", environment=contexts("CCM"))
    assert (options.servers, options.api_prefix) == (("nats://127.0.0.1:4222",), "$JS.API")
    assert read_context("A", environment=contexts("A", jetstream_api_prefix="js.")).api_prefix == "js"


def test_secrets_are_not_shown(contexts):
    options = read_context(
        "CCM", environment=contexts("CCM", password="sesame", token="sesame", user_seed="sesame")
    )
    assert "sesame" not in repr(options)


def test_without_a_name_the_selected_context_is_read(contexts, tmp_path):
    environment = contexts("prod", url="nats://prod")
    assert selected_context(environment) is None
    with pytest.raises(ContextError, match="no NATS context is selected"):
        read_context(environment=environment)
    (tmp_path / "nats/context.txt").write_text("prod")
    assert read_context(environment=environment).servers == ("nats://prod",)


def test_without_xdg_it_is_below_the_home(tmp_path):
    (tmp_path / ".config/nats/context").mkdir(parents=True)
    (tmp_path / ".config/nats/context/CCM.json").write_text('{"url": "nats://home"}')
    for more in ({}, {"XDG_CONFIG_HOME": "relative"}, {"XDG_CONFIG_HOME": ""}):
        assert read_context("CCM", environment={"HOME": str(tmp_path)} | more).servers == ("nats://home",)


def test_a_missing_context_says_where_and_which_there_are(contexts, tmp_path):
    environment = contexts("prod")
    with pytest.raises(ContextError) as caught:
        read_context("CCM", environment=environment)
    assert (
        str(caught.value) == f"there is no NATS context CCM: {tmp_path}/nats/context/CCM.json does not exist"
    )
    assert caught.value.hint == "there are: prod"
    for name in ("../x", "..", "a/b", "."):
        with pytest.raises(ContextError, match="not the name of"):
            read_context(name, environment=environment)


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "is not valid JSON at line 1"), ("[]", "is not a JSON object"), ('{"url": 1}', "wrong type"), ('{"nsc": "nsc://x"}', "nsc"),
     ('{"tls_first": "yes"}', "wrong type"), ('{"socks_proxy": "x"}', "socks_proxy"), ('{"creds": "op://v/i"}', "is not a file"), ("[" * 100_000, "is not valid JSON")],
)  # fmt: skip
def test_a_damaged_context_says_why(contexts, tmp_path, text, reason):
    environment = contexts("CCM")
    (tmp_path / "nats/context/CCM.json").write_text(text)
    with pytest.raises(ContextError, match=reason):
        read_context("CCM", environment=environment)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("host", "nats://host:4222"), ("host:1", "nats://host:1"), ("tls://u:p@host", "tls://host:4222"),
     ("nats://[::1]:4333", "nats://[::1]:4333"), (" nats://host/ ", "nats://host:4222")],
)  # fmt: skip
def test_a_url_is_shown_with_its_scheme_and_port_and_without_its_password(text, shown):
    assert str(parse_server(text)) == shown
    assert "p@" not in repr(parse_server(text))


@pytest.mark.parametrize(
    "text", ["", "http://x", "ws://x", "nats://", "nats://u:secret@h:x", "nats://h:99999", "nats://[::1"]
)
def test_malformed_urls_are_refused_without_their_password(text):
    with pytest.raises(ContextError) as caught:
        parse_server(text)
    assert "secret" not in str(caught.value)


def test_the_pool_takes_told_servers_and_forgets_them_when_they_are_not_told_any_more():
    pool = Pool(["tls://u:p@one.example:4222"])
    one = pool.next()
    pool.update_discovered(
        ["10.0.0.2:4222", "two.example:4222", "one.example:4222", 7, "x" * 1000, "bad:port"], one
    )
    told = {each.host: each for each in pool if each.discovered}
    assert set(told) == {"10.0.0.2", "two.example"}
    assert told["10.0.0.2"].tls_name == "one.example", "a certificate is for a name"
    assert (told["two.example"].tls_name, told["two.example"].secure, told["two.example"].user) == (
        "two.example",
        True,
        "u",
    )
    pool.update_discovered(["10.0.0.3:4222"], one)
    assert {each.host for each in pool} == {"one.example", "10.0.0.3"}
    pool.update_discovered("nonsense", one)
    pool.update_discovered([f"h{number}:1" for number in range(10_000)], one)
    assert len(pool) == 65
