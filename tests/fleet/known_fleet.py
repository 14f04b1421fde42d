"""A fleet as the servers know it: hosts with specs and summaries, a channel, batches of events. No host runs."""

import time

from reactor.fleet.bucket_names import CHANNELS, HOSTS, STATE
from reactor.fleet.event_batch import BATCH, BatchId, encode_batch
from reactor.fleet.host_spec import HostSpec
from reactor.fleet.operator.server_config import OPERATOR_CREDENTIALS
from reactor.fleet.operator.session import save_servers
from reactor.fleet.rollout.gate import Gate
from reactor.fleet.rollout.hosts import HostPhase
from reactor.fleet.rollout.state import ChannelState, Phase
from reactor.fleet.summary import ChannelReport, EngineReport, Summary

OLD, NEW = "sha256-" + "a" * 64, "sha256-" + "b" * 64
NOSPACE = ("file#/etc/x", "can't write it: no space left on the device")


def state(**fields):
    """A channel in the middle of a rollout, whose second wave began an hour ago."""
    given = {
        "channel": "web",
        "release": NEW,
        "serial": 42,
        "previous": OLD,
        "wave": 5000,
        "waves": (100, 5000, 10_000),
        "phase": Phase.ROLLING,
        "since": time.time() - 3600,
        "by": "ann",
        "why": "wave 1 % is good",
    }
    return ChannelState(**{**given, "gate": Gate(soak=60), **fields})


def summary(host, phase=HostPhase.CONVERGED, *, serial=42, channels=("web",), why="", worst=(), **fields):
    release = NEW if serial == 42 else OLD
    report = ChannelReport(release, release, serial, 7, phase, time.time() - 10, why)
    counts = EngineReport(12, 12 - len(worst), len(worst), 0, 3, tuple(worst), fields.pop("checks", {}))
    return Summary(host, dict.fromkeys(channels, report), counts, "0.9.1", time.time(), **fields)


async def put_host(js, name, told=None, *, channels=("web",), groups=(), **fields):
    await js.key_value(HOSTS).put(name, HostSpec(name, tuple(channels), tuple(groups), **fields).to_bytes())
    if told is not None:
        await js.key_value(STATE).put(name, told.to_bytes())


async def put_state(js, found):
    await js.key_value(CHANNELS).put(found.channel, found.to_bytes())


def checked(number, seconds_ago, ref="file#/etc/motd", error=None):
    """An event as `reactor events --format json` shows it."""
    return {
        "id": number,
        "generation": 1,
        "event": "checked",
        "time": time.time() - seconds_ago,
        "ref": ref,
        "result": "failed" if error else "changed",
        "causes": ["drift"],
        "duration": 0.01,
        "actions": [] if error else ["wrote the content"],
        "diffs": [],
        "error": error,
        "hint": None,
        "retry_in": None,
    }


async def send_events(js, host, events, journal="5eed"):
    """Send a batch as a host does."""
    batch = BatchId(journal, events[0]["id"], events[-1]["id"])
    await js.publish(f"reactor.event.{host}", encode_batch(events), headers={BATCH: str(batch)})


def remember(fleet_server):
    """Let the commands find the server: the directory of the operator has its URL."""
    home = fleet_server.fleet_server.directory
    save_servers(home, (fleet_server.server.url,), None)
    assert OPERATOR_CREDENTIALS == "operator.creds"
    return home
