"""The certificate of a server ends soon: a host says it in its own status, and to the fleet, which tells operators."""

import datetime as dt
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio
import trustme
from nats_servers import PATIENCE, NatsServer

from reactor.cli.running.fleet_host import _show_link
from reactor.cli.running.network import LinkNews
from reactor.fleet.bucket_names import HOSTS, STATE
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.link.connection import Connection, connected
from reactor.fleet.link.errors import UnreachableError
from reactor.fleet.link.jetstream import JetStream
from reactor.fleet.link.options import Options
from reactor.fleet.link.status import Status
from reactor.fleet.operator.accounts import host_token
from reactor.fleet.operator.keyring import save_credentials
from reactor.fleet.operator.server_config import CONFIG, OPERATOR_CREDENTIALS, make_operator_directory
from reactor.fleet.operator.session import save_servers
from reactor.fleet.operator.streams import make_streams, wanted_streams
from reactor.fleet.summary import Summary, read_summary
from reactor.fleet.testing import SimHost
from reactor.fleet.wire.credentials import Credentials
from reactor.fleet.wire.nkeys import Key

ENDS = "Jan 31 00:00:00 2027 GMT"
DAY = 86_400.0
END = dt.datetime(2027, 1, 31, tzinfo=dt.UTC).timestamp()


@pytest.mark.parametrize(
    ("ends", "left", "words"),
    [
        (None, -DAY, ""),
        (ENDS, 14.1 * DAY, ""),
        (ENDS, 13.9 * DAY, f"the certificate of the NATS server tls://nats2:4222 expires on {ENDS}"),
        (ENDS, -1.0, f"the certificate of the NATS server tls://nats2:4222 expired on {ENDS}"),
    ],
)
def test_a_certificate_is_a_problem_in_its_last_two_weeks(ends, left, words):
    assert Status(True, "tls://nats2:4222", 0.0, None, ends).certificate_problem(END - left) == words


def test_the_status_of_a_run_says_it_once_and_ends_it_with_a_new_certificate():
    emitted = []
    engine, news, server = SimpleNamespace(emit=emitted.append), LinkNews(), "tls://nats2:4222"
    soon, later = (
        time.strftime("%b %d %H:%M:%S %Y GMT", time.gmtime(time.time() + days * DAY)) for days in (3, 90)
    )
    for status in (
        Status(True, server, 0.0, None, soon),
        Status(True, server, 0.0, None, soon),
        Status(False, server, 0.0, UnreachableError("it was restarted")),
        Status(True, server, 0.0, None, later),
    ):
        _show_link(news, engine, status)
    assert [(each.watcher, str(each.state), each.reason) for each in emitted] == [
        ("network", "degraded", f"the certificate of the NATS server {server} expires on {soon}"),
        ("network", "down", "it was restarted"),
        ("network", "armed", f"connected to {server}"),
    ]


async def test_a_host_tells_the_fleet_and_operators_see_it(tmp_path, reactor):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    issued = authority.issue_cert("localhost", not_after=dt.datetime.now(dt.UTC) + dt.timedelta(days=3))
    issued.private_key_pem.write_to_path(tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    made = make_operator_directory(str(tmp_path / "home"))
    accounts = Path(made.path(CONFIG)).read_text().replace('dir: "accounts"', f'dir: "{tmp_path}/jwt"')
    tls = f'tls {{ cert_file: "{tmp_path}/cert.pem", key_file: "{tmp_path}/key.pem" }}'
    key = Key.generate("user")
    token = host_token(made.keys.admitting, "web7", key.public, None)
    save_credentials(str(tmp_path / "web7.creds"), Credentials(key, token))
    with NatsServer(tmp_path / "server", f"{accounts}\n{tls}") as server:
        url, ca = f"tls://localhost:{server.port}", str(tmp_path / "ca.pem")
        save_servers(made.directory, (url,), ca)
        own = Options(servers=(url,), credentials=made.path(OPERATOR_CREDENTIALS), ca=ca)
        host = Connection(
            Options(
                servers=(url,), credentials=str(tmp_path / "web7.creds"), ca=ca, inbox_prefix="_INBOX_web7"
            )
        )
        async with connected(own, seconds=PATIENCE) as connection:
            js = JetStream(connection, seconds=PATIENCE)
            await make_streams(js, wanted_streams())
            async with trio.open_nursery() as nursery, js.key_value(STATE).watch("web7") as entries:
                nursery.start_soon(host.run)
                nursery.start_soon(SimHost("web7", ["web"], []).run, host)
                with trio.fail_after(PATIENCE):
                    while (entry := await anext(entries)) is None:
                        pass
                nursery.cancel_scope.cancel()
            told = read_summary(entry.value, "web7").certificate
            other = told.replace(f"localhost:{server.port}", "nats2:4222")
            for name, certificate in (("web7", told), ("web8", other), ("web9", other)):
                await js.key_value(HOSTS).put(name, HostSpec(name, ("web",)).to_bytes())
                summary = Summary(name, {}, time=time.time(), certificate=certificate)
                await js.key_value(STATE).put(name, summary.to_bytes())
        assert told == connection.status.certificate_problem(time.time()) != ""
        status = await trio.to_thread.run_sync(reactor, "fleet", "status", "--home", made.directory)
        why = await trio.to_thread.run_sync(reactor, "fleet", "why", "web8", "--home", made.directory)
    assert status.err.count("expires on") == 2
    assert f"web8 reports: {other}\nhint: renew it, and reload the server\n" in status.err
    assert f"    {other}\n" in why.out
