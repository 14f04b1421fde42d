"""Questions to the kernel: tables that change while they are read, refusals in its own words."""

import errno
import subprocess
import sys

import pytest

from reactor import ResourceError
from reactor.resources.network import rtnetlink
from reactor.resources.network.link_table import find_link, index_of
from reactor.resources.network.rtnetlink import RtnetlinkSocket, decoded, explained, message

GET_LINK, GET_ADDRESS, NEW_LINK = 18, 22, 16
V4 = 2


class Meddling:
    """A socket before each of whose reads something else happens, as long as ``times`` is not 0."""

    def __init__(self, real, meddle, times):
        self.real, self.meddle, self.times, self.questions = real, meddle, times, 0

    def send(self, data):
        self.questions += 1
        return self.real.send(data)

    def recv(self, size):
        if self.times:
            self.times -= 1
            self.meddle()
        return self.real.recv(4096)

    def __getattr__(self, name):
        return getattr(self.real, name)


@pytest.fixture
def many(world):
    """A namespace whose table of addresses does not fit into one answer."""
    world.run_at_once(f"address add 10.{n // 250}.{n % 250}.1/24 dev v0" for n in range(1000))
    return world


def meddling(kernel, world, times):
    numbers = iter(range(1, 1000))
    kernel._socket = Meddling(
        kernel._socket, lambda: world.run(f"address add 172.16.{next(numbers)}.1/24 dev v0"), times
    )
    return kernel._socket


async def test_a_table_that_changes_while_it_is_read_is_read_again(many):
    with RtnetlinkSocket(many.name) as kernel:
        socket = meddling(kernel, many, times=3)
        frames = await kernel.dump(message(GET_ADDRESS, family=V4))
        found = [decoded(frame).get_attr("IFA_LOCAL") for frame in frames]
        assert socket.questions > 1
    assert len(found) == len(set(found)) == 1003


async def test_a_table_that_never_holds_still_is_an_error_that_says_so(many):
    with RtnetlinkSocket(many.name) as kernel:
        socket = meddling(kernel, many, times=10_000)
        with pytest.raises(OSError, match="changes faster than it can be read"):
            await kernel.dump(message(GET_ADDRESS, family=V4))
        assert socket.questions == rtnetlink.DUMP_ATTEMPTS


async def test_a_dump_is_only_of_what_was_asked_for(many):
    with RtnetlinkSocket(many.name) as kernel:
        index = await index_of(kernel, "v1")
        assert await kernel.dump(message(GET_ADDRESS, family=V4, index=index)) == []
        index = await index_of(kernel, "v0")
        question = message(GET_ADDRESS, family=V4, index=index)
        (frame,) = await kernel.dump(question, holding=bytes((10, 1, 2, 1)))
        assert decoded(frame).get_attr("IFA_LOCAL") == "10.1.2.1"


async def test_the_kernel_says_in_words_what_is_wrong(world):
    with RtnetlinkSocket(world.name) as kernel:
        v0, v1 = await index_of(kernel, "v0"), await index_of(kernel, "v1")
        with pytest.raises(OSError, match="mtu less than device minimum") as caught:
            await kernel.change(message(NEW_LINK, [("IFLA_MTU", 1)], index=v0))
        assert caught.value.errno == errno.EINVAL
        with (
            pytest.raises(ResourceError, match=r"could not marry them: Operation not supported"),
            explained("marry them"),
        ):
            await kernel.change(message(NEW_LINK, [("IFLA_MASTER", v1)], index=v0))


async def test_a_user_who_may_not_is_reported_what_it_takes():
    with pytest.raises(ResourceError) as caught, explained("add it"):
        raise PermissionError(errno.EPERM, "Operation not permitted")
    assert caught.value.message == "could not add it: Operation not permitted"
    assert caught.value.hint == "run as root, or with CAP_NET_ADMIN"


SCARCE = [
    ("RLIMIT_NPROC", True, "the network namespace {} can't be entered: no thread can be started"),
    ("RLIMIT_NOFILE", False, "the kernel can't be asked: Too many open files"),
]


@pytest.mark.parametrize(("limit", "is_elsewhere", "words"), SCARCE)
def test_a_system_that_has_nothing_left_to_give_is_said_to_be_so(world, limit, is_elsewhere, words):
    """By somebody who is not root: for root there is no limit of processes."""
    code = (
        "import os, resource\n"
        "from reactor import ResourceError\n"
        "from reactor.resources.network.rtnetlink import RtnetlinkSocket\n"
        "os.setuid(65534)\n"
        f"resource.setrlimit(resource.{limit}, (0, 0))\n"
        "try:\n"
        f"    RtnetlinkSocket({world.name if is_elsewhere else None!r})\n"
        "except ResourceError as error:\n"
        "    print(error.message)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(words.format(world.name))


async def test_a_link_that_is_not_there_is_none_or_an_error(world):
    with RtnetlinkSocket(world.name) as kernel:
        assert await find_link(kernel, "nope") is None
        with pytest.raises(ResourceError, match="there is no link nope"):
            await index_of(kernel, "nope")
