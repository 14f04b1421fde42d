"""A server that is cut off from its cluster answers, stores nothing, and tells what is old: hosts leave it."""

import random

import trio
from fleet_server import FleetServer
from nats_servers import PATIENCE, NatsServer

from reactor.fleet.bucket_names import STATE
from reactor.fleet.host import reporting
from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator.server_config import CONFIG, OPERATOR_CREDENTIALS
from reactor.fleet.operator.streams import make_streams, wanted_streams
from reactor.fleet.testing import SimHost


async def test_a_host_whose_summaries_a_server_does_not_store_goes_to_another(tmp_path, monkeypatch):
    monkeypatch.setattr(random, "shuffle", lambda _: None)  # the order of the servers
    monkeypatch.setattr(reporting, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(reporting, "_ISOLATED", 0.1)
    made = FleetServer(tmp_path)
    accounts = await trio.Path(made.fleet_server.path(CONFIG)).read_text()
    accounts = accounts.replace('dir: "accounts"', 'dir: "{directory}/jwt"')
    with (
        NatsServer(tmp_path / "isolated", accounts) as isolated,
        NatsServer(tmp_path / "good", accounts) as good,
    ):
        operator = Options(
            servers=(good.url,), credentials=made.fleet_server.path(OPERATOR_CREDENTIALS), fixed_servers=True
        )
        host = Options(
            servers=(isolated.url, good.url),
            credentials=made.host_credentials("web1"),
            inbox_prefix="_INBOX_web1",
        )
        problems, seen = [], []
        async with connected(operator, seconds=PATIENCE) as link, trio.open_nursery() as nursery:
            js = JetStream(link, seconds=PATIENCE)
            await make_streams(js, wanted_streams())
            connection = Connection(host, on_problem=lambda error: problems.append(error.message))
            nursery.start_soon(connection.run)
            await connection.wait_up()
            seen.append(connection.status.server)
            nursery.start_soon(SimHost("web1", ["web"], ()).run, connection)
            with trio.fail_after(PATIENCE):
                async with js.key_value(STATE).watch("web1") as entries:
                    while await anext(entries) is None:
                        pass
            seen.append(connection.status.server)
            nursery.cancel_scope.cancel()
        assert seen == [isolated.url, good.url]
        assert problems == [f"the NATS server {isolated.url} stores nothing, and another one is tried"]
