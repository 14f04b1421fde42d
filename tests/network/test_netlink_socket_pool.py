"""Sockets for questions are kept where somebody listens, and never for another namespace than is meant."""

import errno
import socket

import pytest
import trio
from netlink_descriptors import netlink_sockets
from network_worlds import ip

from reactor import ResourceError
from reactor.resources.network.link_table import find_index
from reactor.resources.network.rtnetlink import RtnetlinkSocket
from reactor.watchers import netlink_socket
from reactor.watchers.netlink_socket import MOST, SocketPool, open_here, socket_pool


@pytest.fixture
def heard(world):
    """A namespace in which somebody listens."""
    socket_pool.allow(world.name)
    yield world
    socket_pool.forbid(world.name)


def test_the_next_question_takes_the_same_socket(heard):
    with RtnetlinkSocket(heard.name) as first:
        pass
    with RtnetlinkSocket(heard.name) as second:
        assert second._socket is first._socket


def test_none_is_kept_where_no_one_listens(world):
    before = netlink_sockets()
    for netns in (None, world.name):
        with RtnetlinkSocket(netns):
            pass
    assert netlink_sockets() == before


def test_few_are_kept_and_none_when_no_one_listens_any_more(heard):
    before = netlink_sockets()
    talks = [RtnetlinkSocket(heard.name) for _ in range(MOST + 2)]
    for talk in talks:
        talk.__exit__(None, None, None)
    assert netlink_sockets() == before + MOST
    with RtnetlinkSocket(heard.name):
        socket_pool.forbid(heard.name)
    assert netlink_sockets() == before


async def test_a_namespace_that_took_over_the_name_is_asked_itself(heard):
    with RtnetlinkSocket(heard.name) as kernel:
        assert await find_index(kernel, "v0")
    ip("netns", "delete", heard.name)
    with pytest.raises(ResourceError, match="there is no network namespace"):
        RtnetlinkSocket(heard.name)
    ip("netns", "add", heard.name)
    with RtnetlinkSocket(heard.name) as kernel:
        assert await find_index(kernel, "v0") is None


def test_a_socket_with_an_answer_left_is_not_taken_again(heard):
    with pytest.raises(trio.TooSlowError), RtnetlinkSocket(heard.name) as first:
        raise trio.TooSlowError
    with RtnetlinkSocket(heard.name) as second:
        assert second._socket is not first._socket
    assert first._socket.fileno() == -1


@pytest.mark.parametrize("former", [(1, 4), (1, 6), (0, 5)])
def test_a_socket_of_a_former_namespace_is_closed_whatever_its_number_was(monkeypatch, former):
    monkeypatch.setattr(netlink_socket, "_namespace", lambda _: (1, 5))
    monkeypatch.setattr(netlink_socket, "open_socket", lambda _: open_here(socket.NETLINK_ROUTE))
    pool = SocketPool()
    pool.allow("x")
    kept = pool.take("x")
    pool.give_back(kept)
    assert pool.take("x") is kept
    pool.give_back(kept._replace(namespace=former))
    taken = pool.take("x")
    assert taken.socket is not kept.socket
    assert kept.socket.fileno() == -1
    taken.socket.close()


def test_an_answer_says_what_was_wrong_with_a_question():
    """The kernel names the wrong attribute, leaves out the question, and filters by what it asks for."""
    pool = SocketPool()
    taken = pool.take(None)
    options = (
        netlink_socket._NETLINK_CAP_ACK,
        netlink_socket._NETLINK_EXT_ACK,
        netlink_socket._NETLINK_GET_STRICT_CHK,
    )
    assert [taken.socket.getsockopt(netlink_socket.SOL_NETLINK, option) for option in options] == [1, 1, 1]
    pool.give_back(taken)
    assert taken.socket.fileno() == -1, "no one listens in this namespace"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.EINVAL, FileNotFoundError),
        (errno.ENOENT, FileNotFoundError),
        (errno.EPERM, PermissionError),
        (errno.EACCES, PermissionError),
    ],
)
def test_a_file_that_is_no_namespace_is_a_missing_one_and_a_forbidden_one_is_forbidden(code, kind):
    error = netlink_socket._refusal("/run/netns/blue", code)
    assert isinstance(error, kind)
    assert error.filename == "/run/netns/blue"
