"""Who the live page answers, and with which headers: over real HTTP."""

import os

import pytest
from page_worlds import KNOWN, TOKEN, paged

from reactor.control.listen_address import Address
from reactor.journal.state_directory import PAUSES_FILE
from reactor.testing.scripted import scripted
from reactor.ui.access import FILE, Access, stored_token
from reactor.ui.request_guard import HEADERS

PAUSE = {"refs": [], "for": "1h", "reason": "x"}


def has_safe_headers(answer):
    return all(answer.headers.get_list(name) == [value] for name, value in HEADERS.items())


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST", 200),
        ("[::1]:{port}", 200),
        ("127.5.5.5", 200),
        ("localhost:9999", 200),  # the other end of ssh -L
        ("evil.example:{port}", 421),
        ("localhost.evil.example:{port}", 421),
        ("127.0.0.1.evil.example", 421),
        ("192.0.2.7:{port}", 421),
        ("0.0.0.0:{port}", 421),
        ("[::", 421),
        ("", 421),
    ],
)
async def test_on_loopback_only_names_of_this_host_are_answered(tmp_path, host, status):
    async with paged(tmp_path, scripted("a")) as world:
        port = str(world.address.port)
        answer = await world.get("/events", headers={**KNOWN, "Host": host.replace("{port}", port)})
    assert answer.status_code == status
    assert has_safe_headers(answer)
    assert (answer.json().keys() == {"events"}) is (status == 200)


OWN = "http://{host}"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": OWN}, 200),
        ({"Origin": OWN, "Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "https://{host}"}, 200),  # a proxy with TLS before it
        ({"Origin": OWN, "Content-Type": "application/json; charset=utf-8"}, 200),
        ({}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:1"}, 403),
        ({"Origin": "{host}"}, 403),
        ({"Origin": OWN + ".evil.example"}, 403),
        ({"Origin": OWN, "Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Origin": OWN, "Content-Type": "text/plain"}, 415),
        ({"Origin": OWN, "Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Origin": OWN, "Content-Type": ""}, 415),
    ],
)
async def test_only_our_own_page_may_ask_for_changes(tmp_path, headers, status):
    async with paged(tmp_path, scripted("a")) as world:
        host = str(world.address)
        given = {"Content-Type": "application/json", **KNOWN}
        given |= {name: value.replace("{host}", host) for name, value in headers.items()}
        async with world.browser() as browser:
            answer = await browser.post(
                "/pause", content='{"refs": [], "for": "1h", "reason": "x"}', headers=given
            )
    assert answer.status_code == status
    assert has_safe_headers(answer)
    assert (tmp_path / PAUSES_FILE).exists() is (status == 200)


PATHS = ("/", "/page/index.html", "/graph", "/stream", "/events", "/resource?ref=scripted%23a", "/nothing")


@pytest.mark.parametrize(
    "offered",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Cookie": "reactor-{port}=wrong"},
        {"Cookie": f"reactor-{{port}}={TOKEN}"},  # as it is sent to other paths by no browser
        {"Cookie": f"reactor={TOKEN}"},
        {"Cookie": "\N{LATIN SMALL LETTER A WITH DIAERESIS}".encode()},
    ],
)
async def test_without_the_token_nothing_is_reported_but_where_to_find_it(tmp_path, offered):
    async with paged(tmp_path, scripted("a")) as world:
        port = str(world.address.port)
        headers = {
            name: value.replace("{port}", port) if isinstance(value, str) else value
            for name, value in offered.items()
        }
        answers = [await world.get(path, headers=headers) for path in PATHS]
    for answer in answers:
        assert answer.status_code == 401
        assert answer.text == "This page needs its token: open the address that 'reactor ui' shows.\n"
        assert answer.headers["Connection"] == "close"
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert has_safe_headers(answer)


async def test_a_wrong_token_in_the_address_is_none(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        refused = [
            await world.get("/", params={"token": wrong}, headers={})
            for wrong in ("", "x", TOKEN + "x", TOKEN[:-1])
        ]
        elsewhere = await world.get("/graph", params={"token": TOKEN}, headers={})
    assert [answer.status_code for answer in (*refused, elsewhere)] == [401] * 5
    assert not any("set-cookie" in answer.headers for answer in refused)


async def test_the_token_in_the_address_becomes_a_cookie(tmp_path):
    async with paged(tmp_path, scripted("a")) as world, world.browser() as browser:
        welcome = await browser.get("/", params={"token": TOKEN})
        home = welcome.headers["location"]
        answers = [await browser.get(home + each) for each in ("", "page/main.js", "graph")]
        answers.append(await browser.post(f"{home}pause", json=PAUSE, headers={"Origin": world.url}))
    assert (welcome.status_code, home) == (303, f"{world.home}/")
    cookie = welcome.headers["set-cookie"]
    assert cookie.startswith(f"reactor-{world.address.port}={TOKEN};")
    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {
        "httponly",
        f"path={home}",
        "samesite=strict",
    }
    assert TOKEN not in welcome.text + home
    assert has_safe_headers(welcome)
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200]


async def test_the_path_of_the_page_is_unusable_without_its_cookie(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        offers = [{}, KNOWN, {"Cookie": f"reactor-{world.address.port}=x"}, {"Cookie": f"reactor={TOKEN}"}]
        answers = [await world.get(f"{world.home}/graph", headers=headers) for headers in offers]
    assert [answer.status_code for answer in answers] == [401] * 4


async def test_a_server_of_another_user_on_the_same_host_gets_no_cookie(tmp_path):
    """As browsers do it: cookies are for all ports of a host, and for the paths below theirs."""
    async with paged(tmp_path, scripted("a")) as world, world.browser(follow_redirects=True) as browser:
        assert (await browser.get("/", params={"token": TOKEN})).status_code == 200
        other = browser.build_request("GET", f"http://{world.address.host}:1/page/")
        own = browser.build_request("GET", f"{world.home}/graph")
    assert "cookie" in own.headers
    assert "cookie" not in other.headers


async def test_programs_send_the_token_as_a_bearer(tmp_path):
    async with paged(tmp_path, scripted("a"), address=Address("192.0.2.1", 8470)) as world:
        headers = {"Authorization": f"bearer {TOKEN}", "Host": "some.name.example"}
        assert (await world.get("/graph", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    ("method", "status"), [("OPTIONS", 403), ("PUT", 403), ("DELETE", 403), ("HEAD", 200)]
)
async def test_other_methods_change_nothing(tmp_path, method, status):
    async with paged(tmp_path, scripted("a")) as world, world.browser() as browser:
        answer = await browser.request(method, "/events", headers=KNOWN)
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


# ---- the token ----


def test_the_token_is_made_once_and_only_for_its_owner(tmp_path):
    token = stored_token(str(tmp_path))
    path = tmp_path / FILE
    assert path.read_text() == f"{token}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert stored_token(str(tmp_path)) == token
    path.unlink()
    assert stored_token(str(tmp_path)) != token
    assert len(token) >= 43


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_token_that_others_could_read_or_write_is_replaced(tmp_path, mode):
    token = stored_token(str(tmp_path))
    (tmp_path / FILE).chmod(mode)
    fresh = stored_token(str(tmp_path))
    assert fresh != token
    assert (tmp_path / FILE).read_text() == f"{fresh}\n"
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_link_in_the_place_of_the_token_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("known to others")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        stored_token(str(tmp_path))


def test_a_pipe_or_a_hard_link_is_no_token(tmp_path):
    os.mkfifo(tmp_path / FILE, 0o600)
    with pytest.raises(OSError, match=r"not a private file of ours|not seekable"):
        stored_token(str(tmp_path))
    (tmp_path / FILE).unlink()
    stored_token(str(tmp_path))
    os.link(tmp_path / FILE, tmp_path / "other")
    with pytest.raises(OSError, match="not a private file of ours"):
        stored_token(str(tmp_path))


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"short", b"x" * 31, b"a b" * 20, TOKEN.encode() + b"\n" + b"x" * 9]
)
def test_what_can_be_no_token_is_an_error(tmp_path, content):
    (tmp_path / FILE).write_bytes(content)
    (tmp_path / FILE).chmod(0o600)
    with pytest.raises(OSError, match="has no token: remove it"):
        stored_token(str(tmp_path))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "0.0.0.0", "::", "192.0.2.1"])
def test_every_address_needs_a_token(tmp_path, host):
    access = Access.to(Address(host, 8470), str(tmp_path))
    assert (tmp_path / FILE).read_text() == f"{access.token}\n"
    assert access.url.endswith(f":8470/?token={access.token}")
    told = access.message(with_token=True)
    assert "0.0.0.0" not in told
    assert "[::]" not in told
    assert access.token not in repr(access) + access.home


def test_without_a_state_directory_each_run_has_a_token_of_its_own():
    first, second = (Access.to(Address("127.0.0.1", 8470), None) for _ in range(2))
    assert first.token != second.token


def test_where_others_read_along_the_token_is_not_reported(tmp_path):
    access = Access.to(Address("192.0.2.1", 8470), str(tmp_path))
    assert (
        access.message(with_token=True) == f"the live page is at http://192.0.2.1:8470/?token={access.token}"
    )
    closed = "the live page is at http://192.0.2.1:8470/; 'reactor ui' shows its address with the token"
    assert access.message(with_token=False) == closed
