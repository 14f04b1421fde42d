"""Downloads through a real proxy, as the environment names it."""

import pytest
from archive_server import ArchiveServer
from archive_worlds import FILES, make, packed
from forward_proxy import ForwardProxy
from one_shot import checked

BODY = packed(FILES, "tar.gz")
ACCOUNT = "ada:hunter2-of-the-proxy"


@pytest.fixture
def proxy():
    with ForwardProxy(ACCOUNT) as proxy:
        yield proxy


@pytest.fixture
def path(tmp_path):
    return tmp_path / "app.tar.gz"


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def error_of(resource):
    return (await checked(resource)).error


async def test_http_goes_through_the_proxy_with_its_account(server, proxy, path, monkeypatch):
    monkeypatch.setenv("http_proxy", proxy.url(ACCOUNT))
    server.serve(BODY)
    assert await error_of(make(path, server.url())) is None
    assert path.read_bytes() == BODY
    [(method, target, fields)] = proxy.asked
    assert (method, target) == ("GET", server.url())
    assert fields["Proxy-Authorization"].startswith("Basic ")
    [(_, fields)] = server.asked
    assert "Proxy-Authorization" not in fields


async def test_https_goes_through_a_tunnel_that_reports_the_proxy_nothing(
    proxy, path, tls, trusted, monkeypatch
):
    monkeypatch.setenv("https_proxy", proxy.url(ACCOUNT))
    with ArchiveServer(tls) as server:
        server.serve(BODY)
        resource = make(path, server.url(), username="eve", password="of the server")
        assert await error_of(resource) is None
        assert path.read_bytes() == BODY
        [(method, target, fields)] = proxy.asked
        assert (method, target) == ("CONNECT", server.url().split("/")[2])
        assert "Authorization" not in fields
        [(_, fields)] = server.asked
        assert "Authorization" in fields
        assert "Proxy-Authorization" not in fields


async def test_a_user_who_is_excepted_is_asked_without_the_proxy(server, proxy, path, monkeypatch):
    monkeypatch.setenv("http_proxy", proxy.url(ACCOUNT))
    monkeypatch.setenv("no_proxy", "example.com,127.0.0.1")
    server.serve(BODY)
    assert await error_of(make(path, server.url())) is None
    assert (len(proxy.asked), len(server.asked)) == (0, 1)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_refuses_the_account_is_blamed_without_its_password(
    proxy, path, scheme, monkeypatch
):
    monkeypatch.setenv(f"{scheme}_proxy", proxy.url("ada:hunter2-is-wrong"))
    error = await error_of(make(path, f"{scheme}://127.0.0.1:9/app.tar.gz"))
    assert "407" in error
    assert f"proxy 127.0.0.1:{proxy.server_port}" in error
    assert "hunter2" not in error


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_proxy_that_is_away_is_blamed_without_its_password(path, scheme, monkeypatch):
    with ForwardProxy() as proxy:
        url = proxy.url(ACCOUNT)
    monkeypatch.setenv(f"{scheme}_proxy", url)
    error = await error_of(make(path, f"{scheme}://example.com/app.tar.gz"))
    assert f"proxy 127.0.0.1:{proxy.server_port}" in error
    assert "hunter2" not in error


@pytest.mark.parametrize("url", [f"socks5://{ACCOUNT}@127.0.0.1:9", f"http://{ACCOUNT}@127.0.0.1:x"])
async def test_a_proxy_that_can_not_be_is_reported_without_its_password(server, path, url, monkeypatch):
    monkeypatch.setenv("http_proxy", url)
    error = await error_of(make(path, server.url()))
    assert "the proxy can't be used" in error
    assert "hunter2" not in error
    assert server.asked == []
