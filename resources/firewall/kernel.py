"""Reads one table of nftables from the kernel, as a digest of what it does.

nft is not started for that: its list of a small table takes 5 ms, and the kernel's answers take a tenth of one. The
digest leaves out handles, counters, times and the elements of sets that packets fill: they change by themselves. The
numbers are those of linux/netfilter/nf_tables.h.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple, Self, TypeVar

from reactor import ResourceError
from reactor.hostfs import permission_hint
from reactor.watchers.netlink_socket import (
    NLM_F_DUMP,
    NLM_F_DUMP_INTR,
    NLM_F_REQUEST,
    NLMSG_DONE,
    NLMSG_ERROR,
    READ_SIZE,
    Frame,
    attributes,
    open_here,
    pack,
    pack_attribute,
    unpack,
)
from reactor.watchers.nftables import GENERATION, NETLINK_NETFILTER, SUBSYSTEM

INET: Final = 1
_GET_TABLE, _GET_CHAIN, _GET_RULE, _GET_SET, _GET_ELEMENTS, _GET_GENERATION = 1, 4, 7, 10, 13, 16
_GET_OBJECT, _GET_FLOWTABLE = 19, 23
_NAME: Final = 1
_SET_NAME: Final = 2
_RULE_CHAIN, _RULE_EXPRESSIONS = 2, 4
_SET_FLAGS: Final = 3
_ELEMENTS: Final = 3
_ITEM, _EXPRESSION_NAME, _EXPRESSION_DATA = 1, 1, 2
_COUNTING: Final = {b"counter", b"last", b"quota", b"connlimit"}
"""Expressions whose data packets change."""
_FILLED: Final = 0x8 | 0x10
"""Flags of sets whose elements end by themselves or are added by packets (NFT_SET_TIMEOUT, NFT_SET_EVAL)."""
_KEPT_OF_TABLE: Final = (2,)  # flags, such as dormant
_KEPT_OF_CHAIN: Final = (3, 4, 5, 7, 10)  # name, hook, policy, type, flags
_KEPT_OF_OBJECT: Final = (2, 3)  # name, and the type of an object or the hook of a flowtable
_KEPT_OF_SET: Final = (2, 3, 4, 5, 6, 7, 11)  # name, flags, types and lengths of key and data, timeout
_KEPT_OF_ELEMENT: Final = (1, 2, 3, 4, 10)  # key, data, flags, timeout, end of a range
_ATTEMPTS: Final = 20
_Read = TypeVar("_Read")


class Table(NamedTuple):
    """The digest of a table, None if it does not exist; and the generation of all tables, which each change counts up."""

    form: str | None
    generation: int


def read_table(name: str) -> Table:
    """Read the table ``inet NAME``. Blocking, a fraction of a millisecond for most.

    Raises ResourceError when the kernel does not let us.
    """
    try:
        with _Reader(name) as reader:
            for _ in range(_ATTEMPTS):
                before = reader.generation()
                try:
                    form = reader.form()
                except InterruptedError:
                    continue
                if reader.generation() == before:
                    return Table(form, before)
    except PermissionError as error:
        hint = permission_hint("run as root, or with CAP_NET_ADMIN")
        raise ResourceError("the kernel does not let this process read the firewall", hint) from error
    except OSError as error:
        if error.errno not in (errno.EPROTONOSUPPORT, errno.EOPNOTSUPP, errno.EINVAL):
            raise
        hint = "load the kernel module nf_tables, or use a kernel that has it"
        raise ResourceError("this kernel has no nftables", hint) from error
    hint = "find the program that changes it all the time: nft monitor"
    raise ResourceError("the firewall changes while it is read", hint)


_idle: dict[tuple[int, int, int], socket.socket] = {}
"""Sockets for the next read, by process and network namespace. The kernel closes one only when it has freed all rules that
were replaced, and that takes up to 20 ms."""


def _network_namespace() -> tuple[int, int, int]:
    found = os.stat("/proc/thread-self/ns/net")
    return os.getpid(), found.st_dev, found.st_ino


def _opened() -> socket.socket:
    opened = open_here(NETLINK_NETFILTER)
    opened.setblocking(True)  # the kernel answers as soon as it is asked
    return opened


class _Reader:
    def __init__(self, table: str) -> None:
        self._table = pack_attribute(_NAME, table.encode() + b"\0")
        self._name = table.encode()
        self._space = _network_namespace()
        try:
            self._socket = _idle.pop(self._space)
        except KeyError:
            self._socket = _opened()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None or _idle.setdefault(self._space, self._socket) is not self._socket:
            self._socket.close()  # after an error, answers may be left in it

    def generation(self) -> int:
        """The number of the last change of any table."""
        (frame,) = self._ask(_GET_GENERATION, b"", dump=False)
        return int.from_bytes(dict(attributes(frame.body, GENERATION.size))[1], "big")

    def form(self) -> str | None:
        """The digest. Raises InterruptedError when a change came between two answers."""
        try:
            (table,) = self._ask(_GET_TABLE, self._table, dump=False)
        except FileNotFoundError:
            return None
        digest = blake2b(digest_size=16)
        for part in (
            [_chosen(table, _KEPT_OF_TABLE)],
            sorted(_chosen(frame, _KEPT_OF_CHAIN) for frame in self._dump(_GET_CHAIN)),
            # By chain only: the order of the rules in a chain counts.
            sorted(map(_rule, self._dump(_GET_RULE)), key=lambda rule: rule[0]),
            sorted(self._sets()),
            sorted(_chosen(frame, _KEPT_OF_OBJECT) for frame in self._dump(_GET_OBJECT)),
            sorted(_chosen(frame, _KEPT_OF_OBJECT) for frame in self._dump(_GET_FLOWTABLE)),
        ):
            digest.update(repr(part).encode())
        return digest.hexdigest()

    def _sets(self) -> Iterator[tuple[bytes, list[bytes]]]:
        for frame in self._dump(_GET_SET):
            found = dict(attributes(frame.body, GENERATION.size))
            elements: list[bytes] = []
            if not int.from_bytes(found.get(_SET_FLAGS, b""), "big") & _FILLED:
                asked = self._table + pack_attribute(_SET_NAME, found[_SET_NAME])
                elements = sorted(_elements(self._ask(_GET_ELEMENTS, asked, dump=True)))
            yield _chosen(frame, _KEPT_OF_SET), elements

    def _dump(self, request: int) -> list[Frame]:
        """The messages about our table: the kernel filters only some dumps."""
        return [
            frame
            for frame in self._ask(request, self._table, dump=True)
            if dict(attributes(frame.body, GENERATION.size)).get(_NAME, b"").rstrip(b"\0") == self._name
        ]

    def _ask(self, request: int, body: bytes, *, dump: bool) -> list[Frame]:
        flags = NLM_F_REQUEST | (NLM_F_DUMP if dump else 0)
        fixed = GENERATION.pack(0 if request == _GET_GENERATION else INET, 0, 0)
        self._socket.send(pack(Frame(SUBSYSTEM << 8 | request, flags, 1, fixed + body)))
        found: list[Frame] = []
        is_interrupted = False
        while True:
            for frame in unpack(self._socket.recv(READ_SIZE)):
                is_interrupted |= bool(frame.flags & NLM_F_DUMP_INTR)
                if frame.type == NLMSG_DONE:
                    if is_interrupted:  # only now: what is left of a dump would be taken for the next answer
                        raise InterruptedError(errno.EINTR, "the tables changed")
                    return found
                if frame.type == NLMSG_ERROR:
                    _refuse(frame)
                    return found
                found.append(frame)
            if not dump:
                return found


def _refuse(frame: Frame) -> None:
    (code,) = struct.unpack_from("=i", frame.body)
    if code:
        raise OSError(-code, os.strerror(-code))


def _chosen(frame: Frame, kept: Iterable[int]) -> bytes:
    return repr([each for each in attributes(frame.body, GENERATION.size) if each[0] in kept]).encode()


def _rule(frame: Frame) -> tuple[bytes, bytes]:
    """The chain of a rule, and its expressions without the data that packets change."""
    found = dict(attributes(frame.body, GENERATION.size))
    return found[_RULE_CHAIN], repr(_items(found.get(_RULE_EXPRESSIONS, b""), _expression)).encode()


def _expression(data: bytes) -> object:
    found = dict(attributes(data, 0))
    name = found[_EXPRESSION_NAME].rstrip(b"\0")
    return name, b"" if name in _COUNTING else found.get(_EXPRESSION_DATA, b"")


def _elements(frames: Iterable[Frame]) -> Iterator[bytes]:
    for frame in frames:
        for kind, value in attributes(frame.body, GENERATION.size):
            if kind == _ELEMENTS:
                yield from _items(value, _element)


def _element(data: bytes) -> bytes:
    return repr([each for each in attributes(data, 0) if each[0] in _KEPT_OF_ELEMENT]).encode()


def _items(data: bytes, read: Callable[[bytes], _Read]) -> list[_Read]:
    return [read(value) for kind, value in attributes(data, 0) if kind == _ITEM]
