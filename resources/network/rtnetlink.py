"""Sends requests to the kernel over rtnetlink(7): pyroute2 encodes the messages, trio waits for the answers."""

from __future__ import annotations

import errno
import os
import struct
import time
from collections.abc import Awaitable, Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import trio

from reactor import ResourceError, in_thread
from reactor.hostfs import permission_hint
from reactor.resources.network.frame_table import FrameTable
from reactor.watchers.netlink_socket import (
    NLM_F_ACK,
    NLM_F_DUMP,
    NLM_F_DUMP_INTR,
    NLM_F_REQUEST,
    NLMSG_DONE,
    NLMSG_ERROR,
    READ_SIZE,
    Frame,
    attributes,
    pack,
    socket_pool,
    unpack,
)

_Table = TypeVar("_Table")
_Read = Callable[[], Awaitable[_Table]]
NLM_F_REPLACE, NLM_F_EXCL, NLM_F_CREATE = 0x100, 0x200, 0x400
DUMP_ATTEMPTS = 10
"""The most reads of a table that keeps changing during the read."""
_NLM_F_MULTI, _NLM_F_ACK_TLVS = 0x2, 0x200
_NLMSGERR_ATTR_MSG = 1
_HEADER_SIZE = 16
GATEWAY_HINT = "correct the gateway, or give a link that is up an address in its network"
LINK_DOWN_HINT = "bring the link up, as a link resource does"
_HINTS = {
    errno.EPERM: "run as root, or with CAP_NET_ADMIN",
    errno.ENETUNREACH: GATEWAY_HINT,
    errno.EHOSTUNREACH: GATEWAY_HINT,
    errno.ENETDOWN: LINK_DOWN_HINT,
}


class _PendingRead(Generic[_Table]):
    """A read that has not begun yet.

    ``waiting_tasks`` is the number of other tasks that wait for it. ``answer`` is None if the read failed.
    """

    def __init__(self) -> None:
        self.waiting_tasks = 0
        self.over = trio.Event()
        self.answer: _Table | None = None


class SharedReads(Generic[_Table]):
    """Shares reads of a table: a single request reads at once, many concurrent requests share one read.

    A request waits to be shared if it follows the last answer sooner than that read took. So at most half of the time
    is spent on reading, and a single check never waits.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._to_come: dict[Hashable, _PendingRead[_Table]] = {}
        self._crowded_until = 0.0

    async def read(self, key: Hashable, at_once: _Read[_Table], later: _Read[_Table]) -> _Table:
        """The table ``key`` as of now or later. ``at_once`` reads it, or ``later`` for several requests.

        Raises the errors of both.
        """
        while (reading := self._to_come.get(key)) is not None:
            reading.waiting_tasks += 1
            await reading.over.wait()
            if reading.answer is not None:
                return reading.answer
        if self._clock() >= self._crowded_until:
            return await self._timed(at_once)
        return await self._read_for_all(key, later)

    async def _read_for_all(self, key: Hashable, read: _Read[_Table]) -> _Table:
        reading = self._to_come[key] = _PendingRead()
        try:
            try:
                await _gathered(reading)
            finally:
                del self._to_come[key]  # a later request may need changes that this read misses
            reading.answer = answer = await self._timed(read)
            return answer
        finally:
            reading.over.set()

    async def _timed(self, read: _Read[_Table]) -> _Table:
        began = self._clock()
        answer = await read()
        ended = self._clock()
        self._crowded_until = ended + (ended - began)
        return answer


async def _gathered(reading: _PendingRead[_Table]) -> None:
    """Wait as long as further requests join: a request joins in one turn of the loop, and is counted in the next."""
    counted = -1
    while reading.waiting_tasks > counted:
        counted = reading.waiting_tasks
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()


_tables: SharedReads[FrameTable] = SharedReads()


def message(
    kind: int, attrs: Sequence[tuple[str, Any]] = (), *, header: int = 0, **fields: int | str
) -> Frame:
    """A message of type ``kind``.

    Attributes and fields have pyroute2's names; ``header`` contains flags of this module.
    """
    from pyroute2.netlink.rtnl.marshal import MarshalRtnl  # noqa: PLC0415 - takes 0.13 s

    encoded = MarshalRtnl.msg_map[kind]()
    encoded.update(fields)
    encoded["attrs"] = list(attrs)
    encoded["header"] = {"type": kind, "flags": 0, "sequence_number": 0}
    encoded.encode()
    return Frame(kind, header, 0, bytes(encoded.data[_HEADER_SIZE:]))


def decoded(frame: Frame) -> Any:
    """The message in the form of pyroute2: ``["index"]`` of the fixed part, ``get_attr("IFLA_MTU")``."""
    from pyroute2.netlink.rtnl.marshal import MarshalRtnl  # noqa: PLC0415 - as above

    found = MarshalRtnl.msg_map[frame.type](pack(frame))
    found.decode()
    return found


class RtnetlinkSocket:
    """A socket for one request at a time, to be used with ``with``, for one observation or one change.

    Raises ResourceError when the namespace can't be entered.
    """

    def __init__(self, netns: str | None) -> None:
        self._netns = netns
        try:
            self._spare = socket_pool.take(netns)
        except OSError as error:
            raise _no_socket(netns, error) from error
        self._socket = self._spare.socket

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            socket_pool.give_back(self._spare)
        else:  # the socket may still hold an unread answer
            self._socket.close()

    async def ask(self, question: Frame) -> Frame:
        """The single answer to ``question``. Raises OSError for an error of the kernel."""
        self._socket.send(pack(question._replace(flags=NLM_F_REQUEST)))
        (answer,) = await self._answers()
        return answer

    async def dump(self, question: Frame, holding: bytes = b"") -> list[Frame]:
        """Every answer to ``question`` that contains the bytes ``holding``. Decoding a whole table would take long.

        A table that changes during the read is read again. Raises OSError for an error of the kernel, and
        ResourceError when the namespace is gone.
        """
        table = await _tables.read(
            (self._netns, question),
            partial(self._table, question),
            partial(_table_afresh, self._netns, question),
        )
        return table.holding(holding)

    async def _table(self, question: Frame) -> FrameTable:
        for _ in range(DUMP_ATTEMPTS):
            self._socket.send(pack(question._replace(flags=NLM_F_REQUEST | NLM_F_DUMP)))
            answers = await self._answers()
            if not any(answer.flags & NLM_F_DUMP_INTR for answer in answers):
                return FrameTable([answer for answer in answers if answer.type != NLMSG_DONE])
        raise OSError(errno.EAGAIN, "the kernel's table changes faster than it can be read")

    async def change(self, request: Frame) -> None:
        """Send ``request``, and wait for the acknowledgement. Raises OSError for an error of the kernel."""
        self._socket.send(_with_answer(request))
        await self._answers()

    async def change_together(self, *requests: Frame) -> None:
        """Send ``requests`` in one system call: the kernel executes all of them, even if this process is killed.

        Raises OSError for the first request that fails; the kernel still executes the later ones.
        """
        self._socket.send(b"".join(map(_with_answer, requests)))
        for _ in requests:
            await self._answers()

    async def change_slowly(self, request: Frame) -> None:
        """Send ``request`` from a thread, if the kernel takes long before the system call returns.

        Creating a link takes milliseconds, and a driver that resets its device takes longer.
        """
        await in_thread(self._socket.send, _with_answer(request))
        await self._answers()

    async def _answers(self) -> list[Frame]:
        """All frames of the answer."""
        answers: list[Frame] = []
        while True:
            for frame in unpack(await self._read()):
                if frame.type in (NLMSG_ERROR, NLMSG_DONE):
                    _raise_if_refused(frame)
                answers.append(frame)
                if frame.type == NLMSG_DONE or not frame.flags & _NLM_F_MULTI:
                    return answers

    async def _read(self) -> bytes:
        """The next bytes. Most answers are available as soon as the request is sent."""
        while True:
            try:
                return self._socket.recv(READ_SIZE)
            except BlockingIOError:
                await trio.lowlevel.wait_readable(self._socket)


def _no_socket(netns: str | None, error: OSError) -> ResourceError:
    if isinstance(error, FileNotFoundError):
        return ResourceError(
            f"there is no network namespace {netns}", f"create it first: ip netns add {netns}"
        )
    what = "kernel can't be asked" if netns is None else f"network namespace {netns} can't be entered"
    is_forbidden = isinstance(error, PermissionError)
    hint = permission_hint("run as root, or with CAP_SYS_ADMIN") if is_forbidden else None
    return ResourceError(f"the {what}: {error.strerror}", hint)


async def _table_afresh(netns: str | None, question: Frame) -> FrameTable:
    """The table, read through a new socket: the name of the namespace may lead to another one by now."""
    with RtnetlinkSocket(netns) as kernel:
        return await kernel._table(question)  # noqa: SLF001 - of the same class


def _with_answer(request: Frame) -> bytes:
    return pack(request._replace(flags=request.flags | NLM_F_REQUEST | NLM_F_ACK))


def _raise_if_refused(frame: Frame) -> None:
    code = -struct.unpack_from("=i", frame.body)[0]
    if code == 0:
        return
    text = os.strerror(code)
    if frame.flags & _NLM_F_ACK_TLVS and frame.type == NLMSG_ERROR:
        attributes_ = dict(attributes(frame.body, 4 + _HEADER_SIZE))
        text = attributes_.get(_NLMSGERR_ATTR_MSG, text.encode()).rstrip(b"\0").decode(errors="replace")
    raise OSError(code, text)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an OSError in the block into a ResourceError about ``what`` failed, such as ``add 192.0.2.1/24``."""
    try:
        yield
    except OSError as error:
        hint = _HINTS.get(error.errno or 0)
        if hint is not None and isinstance(error, PermissionError):
            hint = permission_hint(hint)
        raise ResourceError(f"could not {what}: {error.strerror}", hint) from error
