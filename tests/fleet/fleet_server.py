"""A real nats-server with the accounts and streams of a fleet, as `reactor fleet init` makes them."""

from contextlib import asynccontextmanager

from nats_servers import PATIENCE, NatsServer

from reactor.fleet.link.connection import connected
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.operator.accounts import host_token
from reactor.fleet.operator.keyring import save_credentials
from reactor.fleet.operator.server_config import CONFIG, OPERATOR_CREDENTIALS, make_operator_directory
from reactor.fleet.operator.streams import make_streams, wanted_streams
from reactor.fleet.wire.credentials import Credentials
from reactor.fleet.wire.nkeys import Key


class FleetServer:
    """The server, the directory of the operator, and connections by name."""

    def __init__(self, directory):
        self.directory = directory
        self.fleet_server = make_operator_directory(str(directory / "operator"))
        with open(self.fleet_server.path(CONFIG)) as file:
            text = file.read().replace('dir: "accounts"', f'dir: "{directory}/jwt"')
        self.server = NatsServer(directory / "server", text)

    def host_credentials(self, name, expires=None):
        """Admit a host; return the path of its credentials."""
        path = self.directory / f"{name}.creds"
        if not path.exists():
            key = Key.generate("user")
            token = host_token(self.fleet_server.keys.admitting, name, key.public, expires)
            save_credentials(str(path), Credentials(key, token))
        return str(path)

    def options(self, name=None):
        if name is None:
            return Options(
                servers=(self.server.url,), credentials=self.fleet_server.path(OPERATOR_CREDENTIALS)
            )
        return Options(
            servers=(self.server.url,), credentials=self.host_credentials(name), inbox_prefix=f"_INBOX_{name}"
        )

    @asynccontextmanager
    async def connected(self, name=None, **how):
        """JetStream as the host ``name``, or as an operator. A busy machine may be late, unless ``seconds`` are given."""
        wait = how.get("seconds", 5.0) / 5
        how = {"seconds": PATIENCE} | how
        async with connected(self.options(name), **how) as connection:
            yield JetStream(connection, seconds=how["seconds"], first_wait=wait)

    async def make_streams(self):
        async with self.connected() as js:
            return await make_streams(js, wanted_streams())
