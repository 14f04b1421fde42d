"""Who the live page answers, and with which headers: over real HTTP."""

import pytest
from page_worlds import paged

from reactor.control.address import Address
from reactor.journal.state_directory import PAUSES_FILE
from reactor.testing.scripted import scripted
from reactor.ui.access import Access
from reactor.ui.guard import HEADERS
from reactor.ui.token import FILE, kept_token

TOKEN = "a-token-that-nobody-can-guess-0123456789abc"
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
        answer = await world.get("/events", headers={"Host": host.replace("{port}", port)})
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
@pytest.mark.parametrize("token", [None, TOKEN])
async def test_only_our_own_page_may_ask_for_changes(tmp_path, headers, status, token):
    async with paged(tmp_path, scripted("a"), token=token) as world:
        host = str(world.address)
        given = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
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
        {"Cookie": "reactor-{port}=wrong"},
        {"Cookie": f"reactor={TOKEN}"},
        {"Cookie": "\N{LATIN SMALL LETTER A WITH DIAERESIS}".encode()},
    ],
)
async def test_without_the_token_nothing_is_told_but_where_to_find_it(tmp_path, offered):
    async with paged(tmp_path, scripted("a"), token=TOKEN) as world:
        port = str(world.address.port)
        headers = {
            name: value.replace("{port}", port) if isinstance(value, str) else value
            for name, value in offered.items()
        }
        answers = [await world.get(path, headers=headers) for path in PATHS]
    for answer in answers:
        assert answer.status_code == 401
        assert (
            answer.text == "This page needs its token: open /?token=TOKEN once; the token is in a drawer.\n"
        )
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert has_safe_headers(answer)


async def test_a_wrong_token_in_the_address_is_none(tmp_path):
    async with paged(tmp_path, scripted("a"), token=TOKEN) as world:
        refused = [
            await world.get("/", params={"token": wrong}) for wrong in ("", "x", TOKEN + "x", TOKEN[:-1])
        ]
        elsewhere = await world.get("/graph", params={"token": TOKEN})
    assert [answer.status_code for answer in (*refused, elsewhere)] == [401] * 5
    assert not any("set-cookie" in answer.headers for answer in refused)


async def test_the_token_in_the_address_becomes_a_cookie(tmp_path):
    async with paged(tmp_path, scripted("a"), token=TOKEN) as world, world.browser() as browser:
        welcome = await browser.get("/", params={"token": TOKEN})
        shown = await browser.get(welcome.headers["location"])
        graph = await browser.get("/graph")
        origin = {"Origin": world.url}
        paused = await browser.post("/pause", json=PAUSE, headers=origin)
    assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
    cookie = welcome.headers["set-cookie"]
    assert cookie.startswith(f"reactor-{world.address.port}={TOKEN};")
    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {
        "httponly",
        "path=/",
        "samesite=strict",
    }
    assert TOKEN not in welcome.text
    assert has_safe_headers(welcome)
    assert [answer.status_code for answer in (shown, graph, paused)] == [200, 200, 200]


async def test_programs_send_the_token_as_a_bearer(tmp_path):
    async with paged(tmp_path, scripted("a"), token=TOKEN) as world:
        headers = {"Authorization": f"bearer {TOKEN}", "Host": "some.name.example"}
        assert (await world.get("/graph", headers=headers)).status_code == 200


async def test_on_loopback_no_token_is_asked_for_and_none_is_taken(tmp_path):
    async with paged(tmp_path, scripted("a")) as world:
        answer = await world.get("/", params={"token": "anything"})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("method", "status"), [("OPTIONS", 403), ("PUT", 403), ("DELETE", 403), ("HEAD", 200)]
)
async def test_other_methods_change_nothing(tmp_path, method, status):
    async with paged(tmp_path, scripted("a")) as world, world.browser() as browser:
        answer = await browser.request(method, "/events")
    assert answer.status_code == status
    assert "access-control-allow-origin" not in answer.headers


# ---- the token ----


def test_the_token_is_made_once_and_only_for_its_owner(tmp_path):
    token = kept_token(str(tmp_path))
    path = tmp_path / FILE
    assert path.read_text() == f"{token}\n"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    assert kept_token(str(tmp_path)) == token
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    assert kept_token(str(tmp_path)) != token
    assert len(token) >= 43


def test_a_link_in_the_place_of_the_token_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("known to others")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        kept_token(str(tmp_path))


def test_what_can_be_no_token_is_an_error(tmp_path):
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(OSError, match="holds no token: remove it"):
        kept_token(str(tmp_path))


@pytest.mark.parametrize(
    ("host", "needs_token"),
    [
        ("127.0.0.1", False),
        ("127.3.2.1", False),
        ("::1", False),
        ("0.0.0.0", True),
        ("::", True),
        ("192.0.2.1", True),
    ],
)
def test_all_but_loopback_addresses_need_a_token(tmp_path, host, needs_token):
    access = Access.to(Address(host, 8470), str(tmp_path))
    assert (access.token is not None) is needs_token
    assert (tmp_path / FILE).exists() is needs_token
    told = access.told(openly=True)
    assert ("?token=" in told) is needs_token
    assert "0.0.0.0" not in told
    assert "[::]" not in told


def test_where_others_read_along_the_token_is_not_told(tmp_path):
    access = Access.to(Address("192.0.2.1", 8470), str(tmp_path))
    assert access.told(openly=True) == f"the live page is at http://192.0.2.1:8470/?token={access.token}"
    closed = access.told(openly=False)
    assert access.token not in closed
    assert closed.endswith(f"/?token=TOKEN; the token is in {tmp_path / FILE}")
