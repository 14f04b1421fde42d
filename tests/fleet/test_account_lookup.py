"""What the servers have of an account, when the first to answer is behind, or lies: two servers in one that is no real one."""

import json
import re
import time

import pytest
from test_hostile_server import greet, serving

from reactor.fleet.operator.accounts import hosts_token, revoked_in
from reactor.fleet.operator.expulsion import revoke
from reactor.fleet.operator.server_config import load_operator_directory, make_operator_directory
from reactor.fleet.operator.session import save_servers
from reactor.fleet.wire.nkeys import Key

SUB = re.compile(rb"SUB (\S+) (?:\S+ )?(\d+)\r\n")
PUB = re.compile(rb"PUB (\S+) (\S+) (\d+)\r\n")
INFO = b'INFO {"server_id":"x","max_payload":1048576,"headers":true,"nonce":"abcdefghijk"}\r\n'
SERVERS = ("first", "second")


class TwoServers:
    """Answers as two servers that have these JWTs of an account. ``given``: the one that they are given."""

    def __init__(self, *tokens):
        self.tokens = tokens
        self.given = None

    async def behave(self, stream):
        await greet(stream, INFO)
        numbers, data = {}, b""
        async for received in stream:
            data += received
            await stream.send_all(b"PONG\r\n" * received.count(b"PING\r\n"))
            numbers |= dict(SUB.findall(data))
            while found := PUB.search(data):
                subject, reply, size = found.groups()
                payload = data[found.end() : found.end() + int(size)]
                data = data[found.end() :]
                for text in self.answers(subject.decode(), payload.decode()):
                    head = b"MSG %b %b %d\r\n" % (reply, numbers.get(reply, b"1"), len(text))
                    await stream.send_all(head + text.encode() + b"\r\n")

    def answers(self, subject, payload):
        if subject.endswith("LOOKUP"):
            return self.tokens
        cluster = {"leader": "first", "cluster_size": 2}
        found = {"code": 200, "meta_cluster": cluster}
        self.given = payload or self.given
        return [json.dumps({"server": {"name": name}, "data": found}) for name in SERVERS]


@pytest.fixture
def home(tmp_path):
    make_operator_directory(str(tmp_path / "operator"))
    return str(tmp_path / "operator")


async def revoked_after(home, key, *tokens):
    """What is revoked on the servers after this operator has revoked ``key``."""
    servers = TwoServers(*tokens)
    async with serving(servers.behave) as url:
        save_servers(home, [url], None)
        done = await revoke(load_operator_directory(home), [key])
    assert done.confirmed == SERVERS
    assert done.missing == ()
    return revoked_in(servers.given)


async def test_what_another_operator_has_revoked_stays_so_if_the_first_server_has_not_heard_of_it(home):
    keys = load_operator_directory(home).keys
    theirs, ours = (Key.generate("user").public for _ in range(2))
    until = int(time.time()) + 1000
    revoked = await revoked_after(home, ours, hosts_token(keys, {}), hosts_token(keys, {theirs: until}))
    assert revoked.keys() == {theirs, ours}
    assert revoked[theirs] == until


async def test_what_the_operator_has_not_signed_revokes_nothing(home):
    files = load_operator_directory(home)
    theirs, ours, until = Key.generate("user").public, Key.generate("user").public, int(time.time()) + 1000
    keys = type(files.keys)(**{**vars(files.keys), "operator": Key.generate("operator")})
    forged = hosts_token(keys, {theirs: until})
    assert (await revoked_after(home, ours, forged, hosts_token(files.keys, {}))).keys() == {ours}
