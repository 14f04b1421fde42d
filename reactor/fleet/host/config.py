"""``/etc/reactor/fleet.yaml``: the servers of a host, the channels that it follows, and the signers that it trusts.

::

    id: web7
    servers: ["tls://nats1.example.org:4222"]
    credentials: /etc/reactor/fleet.creds
    channels: [web]
    ca: /etc/reactor/fleet-ca.pem        # the rest may be left out
    groups: [canary]
    signers: /etc/reactor/fleet-signers
    require: 2
    windows: "Mon-Thu 09:00-16:00 Europe/Vienna"
    facts: {os: Facts.host.info.os}
    summary_interval: 10
    card: fleet-card.json                # from `reactor fleet join`: in place of channels and groups
    card_key: NB3...                     # the public card key of the fleet

A path that is not absolute is relative to the directory of the file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from reactor.errors import Place, ReactorError
from reactor.fleet.documents import NAMES, is_host_id, parsed
from reactor.fleet.enrolment.card import SignedCard
from reactor.fleet.host.ports import Identity, Pace
from reactor.fleet.link.errors import ContextError
from reactor.fleet.link.identity import require_credentials
from reactor.fleet.link.options import Options, read_small_file
from reactor.fleet.link.servers import Pool
from reactor.fleet.release.signers import parse_signers
from reactor.fleet.rollout.waves import WavesError
from reactor.fleet.rollout.windows import Window, parse_windows
from reactor.trust.inputs import require_input
from reactor.trust.rule import DistrustedError

SIGNERS = "/etc/reactor/fleet-signers"
_NEEDED = ("id", "servers", "credentials")
_KNOWN = (
    *_NEEDED,
    "channels",
    "ca",
    "groups",
    "signers",
    "require",
    "windows",
    "facts",
    "summary_interval",
    "card",
    "card_key",
)
_RESERVED = ("bundles", "releases", "tmp", "downloads", "generations", "secrets")
"""Directories beside those of the channels in the state directory."""
_MOST_FACTS = 16
_SHORTEST_INTERVAL, _LONGEST_INTERVAL = 0.1, 300.0
_INTEGER = "tag:yaml.org,2002:int"


class HostConfigError(ReactorError):
    """The configuration of a host in a fleet is missing or wrong."""

    code = "R1009"


class HostConfig(NamedTuple):
    """The id of the host, and its connection.

    ``card_key``: the fleet's public card key; without it, nothing is renewed.
    ``card``: the file of its card; None without one.
    """

    identity: Identity
    options: Options
    pace: Pace = Pace()
    card_key: str | None = None
    card: str | None = None


def read_config(path: str, version: str = "", parse: Callable[[str], object] = str) -> HostConfig:
    """Read the configuration, and the file of signers that it names. Raises HostConfigError, SignersError.

    Root refuses those that another user could change: who names the signers decides what root runs. ``parse`` raises
    ReactorError for a string that is no expression.
    """
    _require_trusted(path)
    try:
        text = read_small_file(path, "configuration", "")
    except ContextError as error:
        raise HostConfigError(error.message, "write it: docs/fleet.md shows how") from error
    return _Reader(path, text, parse).config(version)


def _require_trusted(path: str) -> None:
    """Raise HostConfigError if another user could change the file. Whether it is there, its reader says."""
    try:
        require_input(path)
    except DistrustedError as error:
        raise HostConfigError(error.message, error.fix) from error
    except OSError:
        return


def require_private_credentials(config: HostConfig) -> None:
    """Raise HostConfigError if every user can read the credentials of the host."""
    path = config.options.credentials
    if path is not None and os.path.exists(path) and os.stat(path).st_mode & 0o007:
        raise HostConfigError(f"every user can use the credentials {path}", f"chmod 600 {path}")


def require_usable_credentials(config: HostConfig) -> None:
    """Raise HostConfigError, ContextError or ExpiredError if the host can't connect with its credentials, or every user can."""
    require_credentials(config.options)
    require_private_credentials(config)


class _Reader:
    def __init__(self, path: str, text: str, parse: Callable[[str], object]) -> None:
        self._path = path
        self._parse = parse
        self._values = self._parsed(text)

    def config(self, version: str) -> HostConfig:
        name = self._name_of(self._values["id"])
        channels, groups = self._channels_and_groups(name)
        credentials = self._file("credentials")
        signers = self._file("signers") if "signers" in self._values else SIGNERS
        options = Options(
            servers=self._servers(),
            name=f"reactor {name}",
            credentials=credentials,
            ca=self._file("ca") if "ca" in self._values else None,
            inbox_prefix=f"_INBOX_{name}",
            origin=self._path,
            renewal="let this host join again with a new token: reactor fleet join",
        )
        for each in (credentials, signers, options.ca):
            if each is not None:
                _require_trusted(each)
        require, windows = self._require(), self._windows()
        facts, pace = self._facts(), self._pace()
        try:
            believed = parse_signers(read_small_file(signers, "file of signers", self._path), signers)
        except ContextError as error:
            raise HostConfigError(error.message, error.hint) from error
        identity = Identity(name, channels, believed, groups, require, windows, version, facts)
        card = self._file("card") if "card" in self._values else None
        return HostConfig(identity, options, pace, self._card_key(), card)

    def _channels_and_groups(self, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The channels and groups of the card if there is one, else of the settings."""
        if "card" not in self._values:
            if "channels" not in self._values:
                start = Place(self._path, 1, 1)
                raise HostConfigError("channels is missing", f"add channels: to {self._path}", place=start)
            return self._channels(), self._names("groups")
        for each in ("channels", "groups"):
            if each in self._values:
                self._fail(
                    self._values[each],
                    f"{each} and card exclude each other: the card has the {each}",
                    f"remove {each}, or card",
                )
        node, key = self._values["card"], self._card_key()
        if key is None:
            self._fail(node, "a card needs card_key: the public key that it is signed with")
        path = self._file("card")
        try:
            document = parsed(read_small_file(path, "card", self._path).encode(), path)
            card = SignedCard.of(document).verified(key)
        except ReactorError as error:
            self._fail(node, error.message, error.hint)
        if card.host != name:
            self._fail(node, f"the card is for {card.host}, and this host is {name}")
        if not card.channels or {*card.channels} & {*_RESERVED} or len({*card.channels}) < len(card.channels):
            self._fail(node, f"the channels of the card can't be followed: {', '.join(card.channels)}")
        return card.channels, card.groups

    def _card_key(self) -> str | None:
        return self._text(self._values["card_key"]) if "card_key" in self._values else None

    def _parsed(self, text: str) -> dict[str, Node]:
        start = Place(self._path, 1, 1)
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(self._path, mark.line + 1, mark.column + 1) if mark else start
            raise HostConfigError(f"the YAML is not valid: {error.problem}", place=place) from error
        except (yaml.YAMLError, RecursionError) as error:
            raise HostConfigError(f"the YAML is not valid: {error}", place=start) from error
        if not isinstance(root, MappingNode):
            raise HostConfigError(
                "a map is expected here", "write id: NAME, servers: [URL], ...", place=start
            )
        found: dict[str, Node] = {}
        for key, value in root.value:
            if key.value not in _KNOWN:
                self._fail(key, f"there is no setting {key.value!r}", f"the settings are {', '.join(_KNOWN)}")
            if key.value in found:
                self._fail(key, f"{key.value} is listed twice")
            found[key.value] = value
        for name in _NEEDED:
            if name not in found:
                raise HostConfigError(f"{name} is missing", f"add {name}: to {self._path}", place=start)
        return found

    def _text(self, node: Node) -> str:
        if not isinstance(node, ScalarNode) or not node.value:
            self._fail(node, "a string is expected here")
        return str(node.value)

    def _list(self, name: str) -> list[Node]:
        node = self._values.get(name)
        if node is None:
            return []
        if not isinstance(node, SequenceNode):
            self._fail(node, f"a list is expected here, as in {name}: [..]")
        return list(node.value)

    def _channels(self) -> tuple[str, ...]:
        """The channels, in the order in which the run applies them."""
        found: list[str] = []
        for node in self._list("channels"):
            name = self._name_of(node)
            if name in _RESERVED:
                self._fail(node, f"a channel can't have the name {name}", "use another name")
            if name in found:
                self._fail(node, f"the channel {name} is listed twice", "remove one of them")
            found.append(name)
        if not found:
            self._fail(self._values["channels"], "at least one channel is needed", "write channels: [NAME]")
        return tuple(found)

    def _facts(self) -> Mapping[str, str]:
        """The facts in the summary: name -> expression."""
        node = self._values.get("facts")
        if node is None:
            return {}
        if not isinstance(node, MappingNode):
            self._fail(node, "a map is expected here, as in facts: {os: Facts.host.info.os}")
        if len(node.value) > _MOST_FACTS:
            self._fail(node, f"at most {_MOST_FACTS} facts are sent")
        return {self._text(name): self._expression(value) for name, value in node.value}

    def _expression(self, node: Node) -> str:
        text = self._text(node)
        try:
            self._parse(text)
        except ReactorError as error:
            self._fail(node, f"this is not an expression: {error.message}", error.hint)
        return text

    def _names(self, name: str) -> tuple[str, ...]:
        return tuple(self._name_of(each) for each in self._list(name))

    def _name_of(self, node: Node) -> str:
        text = self._text(node)
        if not is_host_id(text):
            self._fail(node, f"{text!r} is not a valid name", NAMES)
        return text

    def _servers(self) -> tuple[str, ...]:
        found = []
        for node in self._list("servers"):
            url = self._text(node)
            try:
                Pool((url,))
            except ContextError as error:
                self._fail(node, error.message, error.hint)
            found.append(url)
        if not found:
            self._fail(self._values["servers"], "at least one server is needed")
        return tuple(found)

    def _file(self, name: str) -> str:
        return os.path.join(os.path.dirname(os.path.abspath(self._path)), self._text(self._values[name]))

    def _require(self) -> int:
        node = self._values.get("require")
        if node is None:
            return 1
        if node.tag != _INTEGER or not node.value.isdecimal() or int(node.value) < 1:
            self._fail(node, "a number from 1 is expected here: how many people must sign")
        return int(node.value)

    def _pace(self) -> Pace:
        node = self._values.get("summary_interval")
        if node is None:
            return Pace()
        try:
            seconds = float(self._text(node))
        except ValueError:
            seconds = math.nan
        if not _SHORTEST_INTERVAL <= seconds <= _LONGEST_INTERVAL:
            self._fail(
                node, f"seconds from {_SHORTEST_INTERVAL:g} to {_LONGEST_INTERVAL:g} are expected here"
            )
        return Pace(summary=seconds)

    def _windows(self) -> tuple[Window, ...]:
        node = self._values.get("windows")
        if node is None:
            return ()
        try:
            return parse_windows(self._text(node))
        except WavesError as error:
            self._fail(node, error.message, error.hint)

    def _fail(self, node: Node, message: str, hint: str | None = None) -> NoReturn:
        mark = node.start_mark
        raise HostConfigError(message, hint, place=Place(self._path, mark.line + 1, mark.column + 1))
